"""KERNELS × BATCHES on the CPU, and what their launches on a GPU ask for."""

import re
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest

from gpu_engine.batched import KERNELS, kernels_on
from gpu_engine.batched.base import BatchKernel
from gpu_engine.batched.batch import Batch
from gpu_engine.batched.blocks import LARGEST_BLOCK, MOST_BLOCKS, Blocks, instantiations, staged_columns
from gpu_engine.batched.composition import Composition
from gpu_engine.batched.csr import FEW, SCALAR_BLOCK, SCALAR_FEW, UNIFORM_BLOCK, CsrBatch
from gpu_engine.batched.csri import CsriBatch, warps_for
from gpu_engine.batched.ell import EllBatch
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import KernelError, ParameterError
from gpu_engine.matrices.pellr_counts import WARP
from gpu_engine.verify import POISON, check
from tests.battery import BATTERY, dense, with_row_lengths
from tests.gpu_engine.batched.batteries import BATCHES, MOST_COLUMNS, UNASKED_COLUMNS
from tests.gpu_engine.formats.contract import to_host

kernels = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
batches = pytest.mark.parametrize("name", BATCHES)
operations = pytest.mark.parametrize("adds", [False, True], ids=["writes", "adds"])

H200 = 132, 228 * 1024
"""Multiprocessors, and the shared memory of each in bytes."""


def check_round_trip(kernel: BatchKernel, composition: Composition, xp: Any) -> None:
    """The layout converts back to the very same batch: arrays and dtypes."""
    expected, found = composition.batch(np), kernel.store(composition.batch(xp)).to_batch()
    for name in Batch.__slots__:
        array = to_host(getattr(found, name))
        assert array.dtype == getattr(expected, name).dtype, name
        np.testing.assert_array_equal(array, getattr(expected, name), err_msg=name)


def check_bytes(kernel: BatchKernel, composition: Composition, xp: Any) -> None:
    """What the kernel says it needs is what its layout then holds; a product reads no more."""
    batch = composition.batch(xp)
    layout = kernel.store(batch)
    assert layout.stored_bytes == kernel.bytes_needed(batch)
    assert kernel.layout_bytes(layout) <= layout.stored_bytes


def check_product(kernel: BatchKernel, product: Any, composition: Composition, adds: bool, xp: Any) -> None:
    """The product is right within the rounding of two sums, twice; y is poisoned where it is only written."""
    layout = kernel.store(composition.batch(xp))
    for seed in (0, 1):
        expected = composition.reference(seed, adds)
        y = xp.asarray(composition.start(seed) if adds else np.full(expected.y.size, POISON))
        product(layout, xp.asarray(expected.x), y, adds)
        check(expected, to_host(y))


def finds_corruption(kernel: BatchKernel, product: Any, xp: Any) -> bool:
    """Whether the check refuses a product of a batch with one value changed by a millionth."""
    composition = BATCHES["mixed"]()
    batch = composition.batch(np)
    batch.values[batch.nnz // 2] *= 1 + 1e-6
    expected = composition.reference()
    y = xp.full(batch.n_rows, POISON)
    product(kernel.store(batch.on(xp)), xp.asarray(expected.x), y, False)
    try:
        check(expected, to_host(y))
    except KernelError:
        return True
    return False


@kernels
@batches
def test_round_trip(kernel: BatchKernel, name: str) -> None:
    check_round_trip(kernel, BATCHES[name](), np)


@kernels
@batches
def test_bytes(kernel: BatchKernel, name: str) -> None:
    check_bytes(kernel, BATCHES[name](), np)


@operations
@batches
@pytest.mark.parametrize("kernel", kernels_on("cpu"), ids=lambda kernel: kernel.name)
def test_product(kernel: BatchKernel, name: str, adds: bool) -> None:
    check_product(kernel, kernel.cpu, BATCHES[name](), adds, np)


@pytest.mark.parametrize("kernel", kernels_on("cpu"), ids=lambda kernel: kernel.name)
def test_corrupted_value_is_found(kernel: BatchKernel) -> None:
    assert finds_corruption(kernel, kernel.cpu, np)


@kernels
def test_conversion_in_several_blocks(monkeypatch: pytest.MonkeyPatch, kernel: BatchKernel) -> None:
    monkeypatch.setattr("gpu_engine.formats.base.ENTRIES_PER_BLOCK", 97)
    check_round_trip(kernel, BATCHES["everything"](), np)
    check_product(kernel, kernel.cpu, BATCHES["everything"](), False, np)


@pytest.mark.parametrize("kernel", kernels_on("cpu", ("coo/segmented", "ell/thread")), ids=lambda kernel: kernel.name)
def test_a_corrupted_layout_does_not_convert_back(kernel: BatchKernel) -> None:
    """The round trip reads the layout, not a batch kept beside it."""
    layout = kernel.store(BATCHES["mixed"]().batch(np))
    layout.values[np.flatnonzero(layout.values)[5]] += 1.0
    expected = BATCHES["mixed"]().batch(np)
    assert np.count_nonzero(layout.to_batch().values != expected.values) == 1


def test_names_find_their_kernels() -> None:
    paper = ("coo/segmented", "csr/scalar", "csr/vector", "csr/smart", "csri/warp", "ell/thread")
    for backend in ("cpu", "cuda"):
        known = kernels_on(backend)
        assert set(paper) <= {kernel.name for kernel in known}
        assert len({kernel.name for kernel in known}) == len(known)
        assert [k.name for k in kernels_on(backend, ("ell/thread", "coo/segmented"))] == ["coo/segmented", "ell/thread"]
        with pytest.raises(ParameterError, match=f"'csr/unheard-of' on {backend}. Known kernels: .*csr/smart"):
            kernels_on(backend, ("csr/scalar", "csr/unheard-of"))


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What every launch asks for, in place of a GPU."""
    asked: list[dict[str, Any]] = []

    class Function:
        max_dynamic_shared_size_bytes = 48 * 1024

        def __init__(self, name: str) -> None:
            self.name = name

        def __call__(self, grid: Any, block: Any, arguments: Any, shared_mem: int = 0) -> None:
            assert shared_mem <= self.max_dynamic_shared_size_bytes
            assert arguments[0] == shared_mem // 8
            asked.append({"name": self.name, "grid": grid, "threads": block[0], "shared": shared_mem})

    def function(source: CudaSource, name: str) -> Function:
        assert name in source.instantiations
        return Function(name)

    monkeypatch.setattr(CudaSource, "function", function)
    return asked


def launch(kernel: BatchKernel, composition: Composition, adds: bool = False) -> None:
    assert kernel.cuda is not None
    expected = composition.reference()
    kernel.cuda(kernel.store(composition.batch(np)), expected.x, expected.y, adds)


THREADS = {
    "coo/segmented": (160, 1024),  # 150 entries; 5000 and more
    "csr/scalar": (64, 320),  # 40 rows; 300
    "csr/vector": (LARGEST_BLOCK, LARGEST_BLOCK),
    "csr/smart": (160, 1024),  # 40 rows of four lanes; 300 of 32
    "csri/warp": (1024, 1024),
    "ell/thread": (64, 320),
}
"""Threads of a block where the largest problem is 40 × 40 with 150 entries, and where it is one_dense_row."""


@pytest.mark.parametrize("name", THREADS)
def test_a_launch_fits_the_largest_problem(name: str, launches: list[dict[str, Any]]) -> None:
    (kernel,) = kernels_on("cuda", (name,))
    small = with_row_lengths([4] * 30 + [3] * 10, 40, 40)
    for adds in (False, True):
        launch(kernel, Composition.of([BATTERY["small_by_hand"](), small]), adds)
        launch(kernel, Composition.of([small, BATTERY["one_dense_row"](), small]), adds)
        launch(kernel, Composition.of([small, BATTERY["wide"]()]), adds)
        launch(kernel, BATCHES["one_long_x_among_many"](), adds)
    assert [asked["grid"] for asked in launches] == [(2,), (3,), (2,), (3,)] * 2
    assert [asked["threads"] for asked in launches[1::4]] == [THREADS[name][1]] * 2
    assert launches[0]["threads"] == THREADS[name][0]
    # Most of the entries are in the wide problem, few in the long one.
    assert [asked["shared"] for asked in launches] == [8 * 40, 8 * 5000, 8 * 9000, 8 * 1000] * 2
    variants = [re.findall("true|false", asked["name"]) for asked in launches]
    staged = "true", "true", "true", "false"
    assert variants == [[adds, every] for adds in ("false", "true") for every in staged]


def test_where_all_problems_want_as_many_lanes_the_number_is_a_constant(launches: list[dict[str, Any]]) -> None:
    (kernel,) = kernels_on("cuda", ("csr/smart",))
    four, eight, warp = (with_row_lengths([length] * 40, 40, 40) for length in (4, 5, 40))
    for matrices in ([four, four], [eight], [warp, warp], [four, eight, four], []):
        launch(kernel, Composition.of(matrices), False)
    assert [asked["name"] for asked in launches] == [
        "batched_lanes<false, true, 4>",
        "batched_lanes<false, true, 8>",
        "batched_lanes<false, true, 32>",
        "batched_smart<false, true>",
    ]


def test_only_many_matrices_of_equal_lanes_have_small_blocks() -> None:
    """400 rows of four lanes keep more threads busy than a small block has; so do 400 rows of 32."""
    four, warp = (with_row_lengths([length] * 400, 400, length) for length in (4, 40))
    many = FEW // 2 + 1
    for matrices, scalar, largest in (
        ([four, four] * many, SCALAR_BLOCK, UNIFORM_BLOCK),
        ([four, warp] * many, SCALAR_BLOCK, LARGEST_BLOCK),
        ([four] * FEW, SCALAR_BLOCK, LARGEST_BLOCK),
        ([four] * SCALAR_FEW, 416, LARGEST_BLOCK),
        ([warp], 416, LARGEST_BLOCK),
    ):
        blocks = CsrBatch.store(Composition.of(matrices).batch(np)).blocks
        assert {variant: each.threads for variant, each in blocks.items()} == {
            "scalar": scalar,
            "vector": largest,
            "smart": largest,
        }


def test_blocks_end_where_threads_and_shared_memory_end() -> None:
    def blocks(n_cols: int, threads: int) -> Blocks:
        return Blocks.of(Composition.of([with_row_lengths([1], n_cols, 1)]).batch(np), np.array([threads]))

    assert [blocks(9, threads).threads for threads in (0, 1, WARP, WARP + 1, 1024, 9999)] == [
        32,
        32,
        32,
        64,
        1024,
        1024,
    ]
    assert [blocks(n, 1).every for n in (MOST_COLUMNS, MOST_COLUMNS + 1)] == [True, False]
    assert [blocks(n, 1).columns for n in (MOST_COLUMNS, MOST_COLUMNS + 1)] == [MOST_COLUMNS, 0]
    assert (8 * UNASKED_COLUMNS, 8 * MOST_COLUMNS, LARGEST_BLOCK) == (49_152, 232_448, 1024)


@pytest.mark.parametrize(
    ("problems", "columns"),
    [
        ([(10, UNASKED_COLUMNS, 3)], UNASKED_COLUMNS),
        ([(10, 7000, 3)], 7000),
        ([(10, 7000, 3), (10, 100, 3)], 7000),  # half of the entries
        ([(10, 7000, 3), (11, 100, 3), (1, 200, 1)], 200),  # less
        ([(10, 7000, 3), (10, MOST_COLUMNS, 3), (1, 200, 1)], MOST_COLUMNS),
        ([(10, MOST_COLUMNS + 1, 9), (1, 200, 1)], 200),  # what fits no block is no reason to ask
        ([(10, MOST_COLUMNS + 1, 9), (10, 7000, 9), (1, 200, 1)], 200),
        ([(5, 9, 0)], 9),
        ([], 0),
    ],
)
def test_more_shared_memory_is_asked_for_where_half_of_the_entries_need_it(
    problems: list[tuple[int, int, int]], columns: int
) -> None:
    """Problems as rows, columns and entries a row."""
    matrices = [with_row_lengths([length] * n_rows, n_cols, 1) for n_rows, n_cols, length in problems]
    batch = Composition.of(matrices).batch(np)
    assert staged_columns(batch) == columns
    widest = max((n_cols for _, n_cols, _ in problems), default=0)
    assert Blocks.of(batch, np.ones(batch.count, np.int64)).every == (widest == columns)


def test_nothing_is_launched_for_no_problems(launches: list[dict[str, Any]]) -> None:
    for name in THREADS:
        launch(kernels_on("cuda", (name,))[0], Composition.of([]))
    assert not launches


def test_more_problems_than_blocks_are_refused() -> None:
    source = CudaSource("gpu_engine.batched", "csr.cu", instantiations("batched_scalar"))
    with pytest.raises(KernelError, match="2147483648 matrices"):
        Blocks(MOST_BLOCKS + 1, 1, True, 32).launch(source, "batched_scalar", False, ())


def test_lanes_of_smart_follow_the_mean_row_of_each_problem() -> None:
    """8 rows of these lengths: as many threads as rows times the power of two from the length up, at most 32."""
    for length, lanes in ((1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (16, 16), (17, 32), (90, 32)):
        layout = CsrBatch.store(Composition.of([with_row_lengths([length] * 8, 100, length)]).batch(np))
        assert (layout.lanes, layout.blocks["smart"].threads) == (lanes, -(-8 * lanes // 32) * 32), length


@pytest.mark.parametrize(
    ("name", "empty_rows", "sums"),
    [("scalar", 0, 1), ("vector", 0, 8), ("smart", 7, 1), ("smart", 3, 2), ("smart", 2, 4), ("smart", 0, 4)],
)
def test_rows_on_a_cpu_have_so_many_partial_sums(name: str, empty_rows: int, sums: int) -> None:
    """To the last bit, in rows of eight entries: the mean row that `smart` goes by is one, two or more."""
    (kernel,) = kernels_on("cpu", (f"csr/{name}",))
    composition = Composition.of([with_row_lengths([8, *[0] * empty_rows], 8, seed) for seed in range(20)])
    x, y = composition.reference().x, composition.start()
    assert kernel.cpu is not None
    kernel.cpu(kernel.store(composition.batch(np)), x, y, False)
    for p, matrix in enumerate(composition.matrices):
        # From Python 3.12 on sum() corrects what it rounds.
        parts = [reduce(add, part) for part in np.reshape(matrix.values * x[8 * p : 8 * p + 8], (-1, sums)).T.tolist()]
        while len(parts) > 1:
            half = len(parts) // 2
            parts = [parts[i] + parts[i + half] for i in range(half)]
        assert y[p * (1 + empty_rows)] == parts[0]


def test_a_slot_of_ell_is_where_its_problem_is_column_major() -> None:
    layout = EllBatch.store(Composition.of([dense([[1, 0, 2], [0, 0, 3]]), dense([[4], [5], [6]])]).batch(np))
    assert layout.offsets.tolist() == [0, 4, 7]
    assert layout.columns.tolist() == [0, 2, 2, -1, 0, 0, 0]
    assert layout.values.tolist() == [1, 3, 2, 0, 4, 5, 6]
    (kernel,) = kernels_on("cpu", ("ell/thread",))
    assert (layout.stored_bytes, kernel.layout_bytes(layout)) == (7 * 12 + 9 * 8, 7 * 4 + 6 * 8 + 9 * 8)


@pytest.mark.parametrize(
    ("problems", "columns", "warps"),
    [
        (10_000, 1024, 3),  # 25 blocks of 9,216 bytes to a multiprocessor
        (10_000, 100, 2),  # 32 blocks, for there are never more
        (10_000, UNASKED_COLUMNS, 16),  # four
        (10_000, MOST_COLUMNS, 32),  # one
        (10_000, 0, 2),  # x is not in shared memory
        (1000, 100, 8),  # 8,448 warps shared by 1,000
        (1, 100, 32),
        (0, 0, 32),
    ],
)
def test_warps_of_csri(problems: int, columns: int, warps: int) -> None:
    assert warps_for(problems, columns, *H200) == warps


def test_parts_of_csri_begin_in_the_rows_of_their_first_entries() -> None:
    composition = BATCHES["everything"]()
    layout = CsriBatch.store(composition.batch(np))
    parts = layout.first_rows.shape[1]
    for matrix, found in zip(composition.matrices, layout.first_rows, strict=True):
        if matrix.nnz:
            begins = [matrix.nnz * part // parts for part in range(parts)]
            assert found.tolist() == [int(np.searchsorted(matrix.indptr, k, side="right")) - 1 for k in begins]
        else:
            assert np.all((found >= 0) & (found < max(matrix.n_rows, 1)))
