"""What auto chooses for which problems, and that each choice multiplies right."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from gpu_engine.batched import auto, sliced
from gpu_engine.batched.auto import FLEXIBLE, MOST, MOST_OF_FEW, ONCE, Features, classify, launch_configs_of
from gpu_engine.batched.base import BatchKernel
from gpu_engine.batched.batch import Batch
from gpu_engine.batched.composition import Composition
from gpu_engine.batched.groups import ROW_WORK, SHARED_ELEMENTS, LaunchConfig
from gpu_engine.batched.shared import SharedLayout
from gpu_engine.batched.sliced import SlicedLayout
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.verify import POISON, check
from tests.battery import BATTERY, with_row_lengths


def alike(count: int, rows: int, columns: int, entries: int) -> Features:
    return Features(*(np.full(count, size) for size in (rows, columns, entries)))


def different(count: int) -> Composition:
    """Problems that share nothing but some sizes."""
    rng = np.random.default_rng(5)
    return Composition.of([with_row_lengths(rng.integers(0, 9, 70), 60, seed) for seed in range(count)])


def assert_product(kernel: BatchKernel, composition: Composition) -> Any:
    """Round trip, bytes and both products on the CPU; returns the layout."""
    batch = composition.batch(np)
    layout = kernel.store(batch)
    back = layout.to_batch()
    for name in (field.name for field in dataclasses.fields(Batch)):
        assert getattr(back, name).tolist() == getattr(batch, name).tolist(), name
    assert layout.stored_bytes == kernel.bytes_needed(batch)
    assert kernel.cpu is not None
    for adds in (False, True):
        expected = composition.reference(1, adds)
        y = composition.start(1) if adds else np.full(batch.n_rows, POISON)
        kernel.cpu(layout, expected.x, y, adds)
        check(expected, y)
    return layout


@pytest.mark.parametrize(
    ("count", "entries", "work", "threads"),
    [
        (10_000, 4000, MOST_OF_FEW, 128),
        (1000, 4000, 20_000 * 1000 // (4 * 132), 128),
        (100, 4000, 3787, 256),
        (1, 4000, 2048, 256),
        (10_000, 40_000, MOST, 256),
        (100, 40_000, 10_606, 256),
    ],
)
def test_a_small_batch_is_cut_finer(count: int, entries: int, work: int, threads: int) -> None:
    """1000 rows of 4 entries are 20,000 of work; each of 132 multiprocessors should get 4 blocks."""
    classes, kinds = classify(alike(count, 1000, 1000, entries), 132)
    assert classes[0].config == LaunchConfig(work=work, columns=1024, threads=threads)
    assert not kinds.any()


def test_the_problem_of_an_entry_is_heavy_though_most_problems_are_light() -> None:
    sizes = np.array([10] * 900 + [1000] * 100)
    classes, _ = classify(Features(sizes, sizes, 40 * sizes), 132)
    assert classes[0].config.threads == 256
    assert classify(Features(sizes[:900], sizes[:900], 40 * sizes[:900]), 132)[0][0].config.threads == 128


@pytest.mark.parametrize(("largest", "threads"), [(1250, 128), (1300, 256)])
def test_of_unlike_problems_the_largest_counts(largest: int, threads: int) -> None:
    """Of 10,000 problems one is larger; none is heavy."""
    rows = np.array([1000] * 9999 + [largest])
    assert classify(Features(rows, rows, 3 * rows), 132)[0][0].config.threads == threads


def test_of_a_small_batch_the_largest_group_starts_first() -> None:
    small, large = with_row_lengths([1] * 70, 60, 1), with_row_lengths([30] * 70, 1000, 2)
    layout = assert_product(FLEXIBLE, Composition((small, large), np.array([0, 1, 0, 1])))
    slots = layout.slices.headers[layout.slices.groups[:, 3], 0] - layout.slices.headers[layout.slices.groups[:, 2], 0]
    assert slots.tolist() == sorted(slots.tolist(), reverse=True)
    assert layout.slices.groups[:, 0].tolist() != sorted(layout.slices.groups[:, 0].tolist())


def test_a_large_batch_stays_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "MOST", 64)
    monkeypatch.setattr(auto, "_multiprocessors", lambda xp: 1)
    small, large = with_row_lengths([1] * 3, 60, 1), with_row_lengths([30] * 3, 1000, 2)
    assert not launch_configs_of(Composition((small, large), np.array([0, 1] * 9)).batch(np)).largest_first
    assert launch_configs_of(Composition((small,), np.array([0])).batch(np)).largest_first


def test_classes_by_columns() -> None:
    columns = np.array([0, 3, 2048, 2049, SHARED_ELEMENTS, SHARED_ELEMENTS + 1, 10**6])
    classes, kinds = classify(Features(np.ones_like(columns), columns, columns), 132)
    assert [classes[kind].name for kind in kinds] == ["narrow"] * 3 + ["wide"] * 2 + ["far"] * 2
    assert classes[1].config == LaunchConfig(work=MOST, columns=1024, threads=512)
    assert len({problem_class.reason for problem_class in classes}) == 3


def test_a_group_has_problems_of_one_class() -> None:
    narrow, wide, far = (with_row_lengths([3, 0, 5], columns, 1) for columns in (10, 3000, 7000))
    composition = Composition((narrow, wide, far), np.array([0, 0, 2, 0, 1, 1, 0, 0, 2]))
    layout = assert_product(FLEXIBLE, composition)
    assert layout.slices.kinds.tolist() == [0, 3, 5, 7]
    assert layout.slices.groups[:, 0].tolist() == [0, 9, 18, 12, 15, 6, 24]
    assert layout.slices.groups[:, 1].tolist() == [6, 3, 6, 3, 3, 3, 3]
    assert layout.slices.groups[:, 4].tolist() == [0, 7020, 13030, 7030, 10030, 20, 13050]
    assert layout.slices.groups[:, 5].tolist() == [20, 10, 20, 3000, 3000, 7000, 7000]
    assert layout.shared_elements == (6 + 20, 3 + 3000, 3)


def test_a_hundred_problems_fill_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "_multiprocessors", lambda xp: 132)
    composition = Composition.copies(with_row_lengths([8] * 500, 500, 2), 100)
    layout = assert_product(FLEXIBLE, composition)
    assert launch_configs_of(composition.batch(np)).configs[0].work == 2272
    assert layout.slices.groups.shape[0] == 100 * -(-500 * (8 + ROW_WORK) // 2272)


@pytest.mark.parametrize("kernel", auto.KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize(
    "composition",
    [
        Composition.mixed([make() for make in BATTERY.values()], 60),
        Composition.copies(BATTERY["band"](), 9),
        Composition.copies(BATTERY["small_by_hand"](), 2000),
        Composition.copies(BATTERY["zero_by_zero"](), 3),
        different(30),
    ],
    ids=["battery", "uniform", "tiny copies", "no rows", "different"],
)
def test_products(kernel: BatchKernel, composition: Composition) -> None:
    assert_product(kernel, composition)


def test_what_is_shared_is_stored_once_where_that_saves() -> None:
    assert isinstance(ONCE.store(Composition.copies(BATTERY["band"](), 4).batch(np)), SharedLayout)
    unlike = ONCE.store(different(8).batch(np))
    assert isinstance(unlike, SlicedLayout)
    assert ONCE.layout_bytes(unlike) == sliced.moved_bytes(unlike)
    assert unlike.configs.configs == launch_configs_of(different(8).batch(np)).configs


@pytest.mark.parametrize(("of_four", "kind"), [(3, SharedLayout), (4, SlicedLayout)])
def test_a_quarter_of_the_bytes_must_be_saved(of_four: int, kind: type) -> None:
    """Four problems of one pattern and three or four different values: 26 and 34 of 40 bytes are stored."""
    base = with_row_lengths([9] * 70, 60, 1)
    rng = np.random.default_rng(6)
    others = [CsrMatrix(70, 60, base.indptr, base.indices, rng.uniform(1, 2, base.nnz)) for _ in range(of_four)]
    layout = ONCE.store(Composition(tuple(others), np.arange(4) % of_four).batch(np))
    assert isinstance(layout, kind)


def test_a_record_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "_multiprocessors", lambda xp: 132)
    narrow, far = with_row_lengths([3, 0, 5], 10, 1), with_row_lengths([3, 1], 7000, 2)
    assert FLEXIBLE.remark is not None
    said = FLEXIBLE.remark(FLEXIBLE.store(Composition.of([narrow, far]).batch(np)))
    assert said == (
        "narrow: At most 2,048 columns. At most 2,048 work units per group: 4 blocks per multiprocessor (132). "
        "128 threads per block: matrices are small, similar, and uncut. "
        "far: More than 6,144 columns: x stays in global memory. At most 2,048 work units per group: 4 blocks per "
        "multiprocessor (132). 128 threads per block: matrices are small, similar, and uncut. "
        "Largest groups start first."
    )


def test_a_record_says_what_is_stored_once() -> None:
    assert ONCE.remark is not None
    matrix = with_row_lengths([4] * 80, 90, 1)
    scaled = CsrMatrix(80, 90, matrix.indptr, matrix.indices, 2.0 * matrix.values)
    other = CsrMatrix(80, 90, matrix.indptr, matrix.indices, matrix.values[::-1].copy())
    composition = Composition((matrix, scaled, other), np.array([0, 1, 2, 0]))
    assert (
        ONCE.remark(ONCE.store(composition.batch(np)))
        == "Deduplication stores 320 columns and 640 values for 1280 nonzeros."
    )
