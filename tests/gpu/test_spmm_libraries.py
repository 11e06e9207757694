"""SpMM of libraries on a GPU: every algorithm in both orders, as the studies call it."""

from collections.abc import Iterator
from typing import Any

import cupy
import numpy as np
import pytest

from gpu_engine.competitors.cusparse_spmm import ALGORITHMS, BSR, KERNELS, Algorithm
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import KernelError
from gpu_engine.generators import generate
from gpu_engine.measure import Bench, open_bench
from gpu_engine.records import DeviceInfo
from gpu_engine.spmm import ORDERS, Order, SpmmKernel
from tests.battery import BATTERY
from tests.gpu_engine.spmm import contract

K = (1, 2, 5, 32)
MATRICES = (
    *("all_rows_empty", "single_entry", "small_by_hand", "one_row", "one_column", "band", "empty_rows_and_columns"),
    *("one_dense_row", "one_dense_column", "tall", "wide", "explicit_zeros", "around_a_block", "power_law"),
)
PAIRS = list(zip(ALGORITHMS, KERNELS, strict=True))
every = pytest.mark.parametrize(("algorithm", "kernel"), PAIRS, ids=[kernel.name for kernel in KERNELS])
in_order = pytest.mark.parametrize("order", ORDERS)
of_rows = pytest.mark.parametrize(
    ("algorithm", "kernel"), [pair for pair in PAIRS if pair[0].structure is not BSR], ids=lambda each: each.name
)
"""Algorithms for matrices of any pattern."""


@pytest.fixture(scope="module")
def bench(gpu: DeviceInfo) -> Iterator[Bench]:
    with open_bench(gpu) as opened:
        yield opened


def blocked() -> CsrMatrix:
    """A matrix for every algorithm: its nonzeros form blocks of 3 × 3."""
    return generate("fem", {"block": 3, "nx": 9, "ny": 7, "nz": 5})


def check(
    bench: Bench, algorithm: Algorithm, kernel: SpmmKernel, order: Order, host: CsrMatrix, rooms: Any, scales: Any,
    columns: tuple[int, ...] = K,
) -> None:  # fmt: skip
    """The products are right; their bits repeat where NVIDIA promises it."""
    layout, repeats = kernel.store(bench.stopwatch.upload(host)), algorithm.is_reproducible
    assert 8 * host.nnz <= layout.stored_bytes <= kernel.bytes_needed(host)
    for k in columns:
        launch, x = kernel.bound("cuda", layout, k, order), contract.dense_matrix(host.n_cols, k, seed=k)
        for before, after in rooms:
            for scale in scales:
                contract.check_product(launch, host, x, scale, bench.xp, before, after, order, repeats)


@of_rows
@in_order
@pytest.mark.parametrize("name", MATRICES)
def test_products(bench: Bench, algorithm: Algorithm, kernel: SpmmKernel, order: Order, name: str) -> None:
    check(bench, algorithm, kernel, order, BATTERY[name](), [(0, 0)], contract.SCALES)


@every
@in_order
def test_products_of_dense_blocks(bench: Bench, algorithm: Algorithm, kernel: SpmmKernel, order: Order) -> None:
    check(bench, algorithm, kernel, order, blocked(), [(0, 0)], contract.SCALES)


@every
@in_order
def test_leading_dimensions(bench: Bench, algorithm: Algorithm, kernel: SpmmKernel, order: Order) -> None:
    """Slices of aligned pairs, in one launch after the other; the rows of FEM are pairs too."""
    host = generate("fem", {"block": 2, "nx": 9, "ny": 7, "nz": 5})
    rooms, scales = [(0, 0), (0, 2), (2, 2), (0, 0)], [(1.0, 0.0), (0.5, -0.75)]
    check(bench, algorithm, kernel, order, host, rooms, scales, columns=(2, 32))


@every
@in_order
def test_launches_of_several_layouts_do_not_disturb_each_other(
    bench: Bench, algorithm: Algorithm, kernel: SpmmKernel, order: Order
) -> None:
    """Two matrices, and two numbers of columns of each, bound before any is multiplied."""
    bounds = []
    # No layout has another reference than its launches.
    for host in (blocked(), generate("fem", {"block": 2, "nx": 8, "ny": 6, "nz": 4})):
        layout = kernel.store(bench.stopwatch.upload(host))
        bounds += [(host, k, kernel.bound("cuda", layout, k, order)) for k in (4, 9)]
    for host, k, launch in (*bounds, *reversed(bounds)):
        x = contract.dense_matrix(host.n_cols, k, seed=k)
        contract.check_product(launch, host, x, (1.0, 0.0), bench.xp, order=order, repeats=algorithm.is_reproducible)


def operands(host: CsrMatrix, k: int, order: Order) -> tuple[Any, Any, Any]:
    """X on the device, Y of NaN, and A·X on the host."""
    x = contract.dense_matrix(host.n_cols, k, seed=k)
    y = contract.within(cupy, np.full((host.n_rows, k), np.nan), 0, 0, order)
    return contract.within(cupy, x, 0, 0, order), y, host.to_scipy() @ x


@every
@in_order
def test_it_launches_on_the_current_stream_and_into_a_graph(
    bench: Bench, algorithm: Algorithm, kernel: SpmmKernel, order: Order
) -> None:
    host = blocked()
    launch = kernel.bound("cuda", kernel.store(bench.stopwatch.upload(host)), 8, order)
    x, y, expected = operands(host, 8, order)
    cupy.cuda.Device().synchronize()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        launch(x, y, 1.0, 0.0)
        stream.synchronize()
        np.testing.assert_allclose(y.get(), expected, rtol=1e-10, atol=1e-10, err_msg=algorithm.name)
        stream.begin_capture()
        try:
            launch(x, y, 2.0, 0.0)
        finally:
            graph = stream.end_capture()
        y.fill(np.nan)
        x *= 0.5
        graph.launch(stream)
        stream.synchronize()
        np.testing.assert_allclose(y.get(), expected, rtol=1e-10, atol=1e-10, err_msg=algorithm.name)


class Allocations(cupy.cuda.MemoryHook):  # type: ignore[misc]
    """Counts what is taken from CuPy's memory pool."""

    name = "allocations"
    count = 0

    def malloc_preprocess(self, **sizes: Any) -> None:
        self.count += 1


@every
@in_order
def test_a_launch_allocates_nothing(bench: Bench, algorithm: Algorithm, kernel: SpmmKernel, order: Order) -> None:
    host = blocked()
    launch = kernel.bound("cuda", kernel.store(bench.stopwatch.upload(host)), 8, order)
    x, y, _ = operands(host, 8, order)
    with Allocations() as allocations:
        for _ in range(3):
            launch(x, y, 1.0, 0.0)
    assert allocations.count == 0, algorithm.name


@of_rows
@in_order
def test_row_pointers_of_64_bits(bench: Bench, algorithm: Algorithm, kernel: SpmmKernel, order: Order) -> None:
    """Matrices with 2³¹ nonzeros or more have them; what the library refuses is skipped."""
    host = BATTERY["power_law"]()
    matrix = bench.stopwatch.upload(host)
    object.__setattr__(matrix, "indptr", matrix.indptr.astype(np.int64))
    try:
        launch = kernel.bound("cuda", kernel.store(matrix), 4, order)
    except KernelError as error:
        pytest.skip(error.message)
    x = contract.dense_matrix(host.n_cols, 4, seed=4)
    contract.check_product(launch, host, x, (1.0, 0.0), bench.xp, order=order, repeats=algorithm.is_reproducible)


@of_rows
def test_corrupted_value_is_found(bench: Bench, algorithm: Algorithm, kernel: SpmmKernel) -> None:
    host = BATTERY["band"]()
    assert contract.finds_corruption(kernel, "cuda", host, bench.xp, bench.stopwatch.upload), algorithm.name


@every
def test_versions_are_recorded(bench: Bench, algorithm: Algorithm, kernel: SpmmKernel) -> None:
    major = int(kernel.libraries()["cuSPARSE"].split(".")[0])
    assert major >= 12, (bench.device.name, algorithm.name)
