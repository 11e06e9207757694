"""Shared slices: what is stored once for which problems, exact round trips with factors, products by value."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from gpu_engine.batched.batch import Batch
from gpu_engine.batched.composition import Composition
from gpu_engine.batched.shared import SHARED_KERNEL, TASK, SharedLayout
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.verify import POISON, check
from tests.battery import BATTERY, coo, dense, with_row_lengths

BASE = with_row_lengths([2, 0, 3, 1] * 20, 90, 1)
"""80 rows of up to three entries: a unit of its own, with slices of 32, 32 and 16 rows."""

SLOTS = 3 + 2 + 0


def with_values(matrix: CsrMatrix, values: Any) -> CsrMatrix:
    return CsrMatrix(matrix.n_rows, matrix.n_cols, matrix.indptr, matrix.indices, np.asarray(values))


def verify(composition: Composition) -> SharedLayout:
    """Round trip and both products."""
    batch = composition.batch(np)
    layout = SharedLayout.from_batch(batch)
    back = layout.to_batch()
    for name in (field.name for field in dataclasses.fields(Batch)):
        mine, theirs = getattr(back, name), getattr(batch, name)
        assert (mine.dtype, mine.tolist()) == (theirs.dtype, theirs.tolist()), name
    assert layout.stored_bytes == SHARED_KERNEL.bytes_needed(batch)
    assert SHARED_KERNEL.cpu is not None
    for adds in (False, True):
        expected = composition.reference(2, adds)
        y = composition.start(2) if adds else np.full(batch.n_rows, POISON)
        SHARED_KERNEL.cpu(layout, expected.x, y, adds)
        check(expected, y)
    return layout


def tasks(layout: SharedLayout, together: int, field: str) -> list[int]:
    """A field of the tasks of 1 or 4 units at once."""
    found = layout.tasks[(1, 4).index(together)][:, TASK.index(field)]
    return [int(value) for value in found]


RNG = np.random.default_rng(2)
OTHER = with_values(BASE, RNG.uniform(1, 2, BASE.nnz))
"""BASE's pattern with other values."""

MOVED = CsrMatrix(80, 91, BASE.indptr, BASE.indices + 1, BASE.values)
"""BASE's row lengths and values in other columns."""

TRIPLED = with_values(BASE, 0.3 * BASE.values)
UNLIKE = with_row_lengths([1, 2] * 40, 90, 3)


@pytest.mark.parametrize(
    ("second", "slices", "columns", "values", "factor"),
    [
        (BASE, 3, 1, 1, 1.0),
        (TRIPLED, 3, 1, 1, 0.3),
        (OTHER, 3, 1, 2, 1.0),
        (MOVED, 3, 2, 1, 1.0),
        (with_values(MOVED, OTHER.values), 3, 2, 2, 1.0),
        (UNLIKE, 6, 2, 2, 1.0),
    ],
    ids=["the same", "a multiple", "pattern", "row lengths and values", "row lengths", "nothing"],
)
def test_what_two_problems_share_is_stored_once(
    second: CsrMatrix, slices: int, columns: int, values: int, factor: float
) -> None:
    layout = verify(Composition.of([BASE, second]))
    assert layout.slices.headers.shape[0] - 1 == slices
    assert layout.entries == (BASE.nnz * columns, BASE.nnz * values)
    assert layout.super_problems.factors.tolist() == [1.0, factor]
    if slices == 3:
        assert (layout.columns.size, layout.values.size) == (32 * SLOTS * columns, 32 * SLOTS * values)
        assert tasks(layout, 1, "columns_on") == [0, SLOTS * (columns - 1)]
        assert tasks(layout, 1, "values_on") == [0, SLOTS * (values - 1)]


def test_values_of_other_row_lengths_are_stored_again() -> None:
    """The slots of equal values differ where rows do."""
    values = with_values(with_row_lengths([1, 1, 2, 2] * 20, 90, 4), BASE.values)
    assert verify(Composition.of([BASE, values])).entries == (2 * BASE.nnz, 2 * BASE.nnz)


def test_a_multiple_of_what_equals_an_earlier_problem_in_other_columns() -> None:
    """The fourth is a multiple of the second, whose values lie with the first."""
    layout = verify(Composition.of([BASE, MOVED, UNLIKE, with_values(MOVED, 7.0 * MOVED.values)]))
    assert layout.super_problems.factors.tolist() == [1.0, 1.0, 1.0, 7.0]
    assert tasks(layout, 1, "values_on")[0] == tasks(layout, 1, "values_on")[3] == 0
    assert layout.entries == (3 * BASE.nnz, 2 * BASE.nnz)


def test_a_last_bit_is_not_shared() -> None:
    nudged = BASE.values.copy()
    nudged[-1] = np.nextafter(nudged[-1], 9.0)
    assert verify(Composition.of([BASE, with_values(BASE, nudged)])).entries == (BASE.nnz, 2 * BASE.nnz)


def test_four_multiples_in_a_row_are_multiplied_at_once() -> None:
    """Runs of 9 and 3 multiples, with a stranger between: two fours, and five alone."""
    scaled = tuple(with_values(BASE, factor * BASE.values) for factor in (1.0, -2.0, 0.1))
    composition = Composition((*scaled, UNLIKE), np.array([0, 1, 2, 2, 1, 0, 0, 2, 1, 3, 0, 1, 2]))
    layout = verify(composition)
    assert tasks(layout, 4, "super_problem") == [0, 4]
    assert tasks(layout, 4, "row") == [0, 320]
    assert tasks(layout, 4, "column") == [0, 360]
    assert tasks(layout, 1, "super_problem") == [8, 9, 10, 11, 12]
    assert layout.super_problems.factors.tolist() == [1, -2, 0.1, 0.1, -2, 1, 1, 0.1, -2, 1, 1, -2, 0.1]
    assert layout.shared_elements == (80 + 90, 4 * (80 + 90))
    assert layout.entries == (2 * BASE.nnz, 2 * BASE.nnz)


def test_neighbours_of_one_pattern_are_not_multiplied_at_once() -> None:
    layout = verify(Composition.of([BASE, OTHER, BASE, OTHER]))
    assert (tasks(layout, 1, "super_problem"), tasks(layout, 4, "super_problem")) == ([0, 1, 2, 3], [])


def test_tiny_problems_of_one_size_make_super_problems() -> None:
    """3 rows each: 85 make a unit of 255; of 510 copies there are six, of which four are multiplied at once."""
    layout = verify(Composition.copies(dense([[1, 0, 2], [0, 0, 3], [4, 5, 6]]), 510))
    assert layout.super_problems.starts.tolist() == list(range(0, 511, 85))
    assert (tasks(layout, 4, "super_problem"), tasks(layout, 1, "super_problem")) == ([0], [4, 5])
    assert layout.entries == (85 * 6, 85 * 6)


def test_units_end_where_the_size_changes() -> None:
    small, wide, tall = dense([[1, 2]]), dense([[1, 0, 2]]), dense([[1, 2], [3, 0]])
    composition = Composition((small, wide, tall, BASE), np.array([0, 0, 1, 1, 1, 2, 3, 3, 0]))
    assert verify(composition).super_problems.starts.tolist() == [0, 2, 5, 6, 7, 8, 9]


def test_a_large_problem_is_cut_alike_in_every_copy() -> None:
    large = with_row_lengths([40] * 1300, 1500, 5)
    layout = verify(Composition.copies(large, 5))
    parts = -(-1300 * (40 + 64) // 32_000)
    assert tasks(layout, 1, "super_problem") == [4] * parts
    assert tasks(layout, 4, "super_problem") == [0] * parts
    assert sum(tasks(layout, 4, "rows")) == 1300
    assert layout.shared_elements == (max(tasks(layout, 1, "rows")) + 1500, 4 * max(tasks(layout, 1, "rows")))


@pytest.mark.parametrize("name", BATTERY)
def test_each_matrix_of_the_battery_five_times(name: str) -> None:
    verify(Composition.copies(BATTERY[name](), 5))


def test_the_battery_in_one_batch() -> None:
    verify(Composition.mixed([make() for make in BATTERY.values()], 70))


def test_wide_problems() -> None:
    wide = coo(70, 65_537, [0, 0, 69], [0, 65_536, 3], [1.0, 2.0, 3.0])
    assert verify(Composition.copies(wide, 5)).columns.dtype == np.int32


def test_x_that_no_entry_reads_may_be_anything() -> None:
    shifted = CsrMatrix(80, 92, BASE.indptr, BASE.indices + 1, BASE.values)
    composition = Composition.copies(shifted, 6)
    expected = composition.reference()
    x = expected.x.copy()
    x[::92], x[91::92] = np.inf, np.nan
    y = np.full(480, POISON)
    assert SHARED_KERNEL.cpu is not None
    SHARED_KERNEL.cpu(SharedLayout.from_batch(composition.batch(np)), x, y, False)
    check(expected, y)
