"""Parts hold what they should, and make up the whole again."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.multigpu.cut import cut_by_entries, cut_by_lines
from gpu_engine.multigpu.partition import (
    PARTITIONINGS,
    Partitioning,
    Span,
    StoredMatrix,
    find_partitioning,
    localize,
    part_of,
    rewrite,
)
from tests.battery import BATTERY, coo, dense
from tests.gpu_engine.multigpu.whole import join, to_csr

partitionings = pytest.mark.parametrize("partitioning", PARTITIONINGS, ids=lambda p: p.name)

FIGURE_1 = [
    [10, 0, 0, 0, -2, 0],
    [3, 9, 0, 0, 0, 3],
    [0, 7, 8, 7, 0, 0],
    [3, 0, 8, 7, 5, 0],
    [0, 8, 0, 9, 9, 13],
    [0, 4, 0, 0, 2, -1],
]
"""The matrix of the MSREP paper; its Figures 8 to 10 cut it into four parts."""


def counts(stored: StoredMatrix) -> Iterator[int]:
    """Every number of parts up to more than lines and entries of a small matrix; some for a larger one."""
    most = max(stored.n_lines, stored.nnz) + 3
    yield from range(1, most) if most <= 40 else (1, 2, 3, 8, min(stored.n_lines, 400) + 3)


def cuts(stored: StoredMatrix, parts: int) -> Iterator[tuple[Span, ...]]:
    yield cut_by_entries(stored, (parts,))
    yield cut_by_lines(stored, parts)
    if parts > 2:
        yield cut_by_entries(stored, (parts - 2, 2))


def lines_of_entries(stored: StoredMatrix) -> Any:
    """The line of each entry of the whole, by definition."""
    if not stored.partitioning.compressed:
        return stored.major
    return np.repeat(np.arange(stored.n_lines), np.diff(stored.major))


def assert_equal(found: Any, expected: Any) -> None:
    """The same values of the same type; a comparison that is quicker than NumPy's, which words every difference."""
    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected)


def rewritten(stored: StoredMatrix, span: Span) -> Any:
    """`major` of a part as a device makes it from what was sent: in place."""
    major = stored.major_of(span).copy()
    rewrite(stored.partitioning, span, major, major)
    return major


@pytest.mark.parametrize(
    ("name", "spans", "majors"),
    [
        (
            "pCSR",
            [(0, 4, 0, 2, False), (4, 9, 1, 4, True), (9, 14, 3, 5, True), (14, 19, 4, 6, True)],
            [[0, 2, 4], [0, 1, 4, 5], [0, 3, 5], [0, 2, 5]],
        ),
        (
            "pCSC",
            [(0, 4, 0, 2, False), (4, 9, 1, 3, True), (9, 14, 3, 5, False), (14, 19, 4, 6, True)],
            [[0, 3, 4], [0, 3, 5], [0, 3, 5], [0, 2, 5]],
        ),
        (
            "pCOO",
            [(0, 4, 0, 2, False), (4, 9, 1, 4, True), (9, 14, 3, 5, True), (14, 19, 4, 6, True)],
            [[0, 0, 1, 1], [0, 1, 1, 1, 2], [0, 0, 0, 1, 1], [0, 0, 1, 1, 1]],
        ),
        (
            "pCOO-columns",
            [(0, 4, 0, 2, False), (4, 9, 1, 3, True), (9, 14, 3, 5, False), (14, 19, 4, 6, True)],
            [[0, 0, 0, 1], [0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, 1, 1, 1]],
        ),
    ],
)
def test_the_matrix_of_the_paper_in_four_parts(name: str, spans: list[Any], majors: list[list[int]]) -> None:
    stored = find_partitioning(name).store(dense(FIGURE_1))
    found = cut_by_entries(stored, (4,))
    assert [dataclasses.astuple(span) for span in found] == spans
    assert [localize(stored, span).tolist() for span in found] == majors
    assert [rewritten(stored, span).tolist() for span in found] == majors


@partitionings
@pytest.mark.parametrize("name", BATTERY)
def test_parts_hold_every_entry_once_and_make_up_the_whole_again(name: str, partitioning: Partitioning) -> None:
    matrix = BATTERY[name]()
    stored = partitioning.store(matrix)
    lines = lines_of_entries(stored)
    for parts in counts(stored):
        for spans in cuts(stored, parts):
            majors = [localize(stored, span) for span in spans]
            assert len(spans) == parts
            assert [line for span in spans for line in range(span.owned.start, span.owned.stop)] == [
                *range(stored.n_lines)
            ]
            for span, major in zip(spans, majors, strict=True):
                check_part(stored, lines, span, major)
                assert_equal(rewritten(stored, span), major)
            pieces = [part_of(stored, span, major) for span, major in zip(spans, majors, strict=True)]
            whole = join(partitioning, matrix.shape, pieces)
            assert (whole.n_rows, whole.n_cols) == matrix.shape
            for array in ("major", "minor", "values"):
                assert_equal(getattr(whole, array), getattr(stored, array))
    back = to_csr(whole)
    assert back.shape == matrix.shape
    for array in ("indptr", "indices", "values"):
        assert_equal(getattr(back, array), getattr(matrix, array))


def check_part(stored: StoredMatrix, lines: Any, span: Span, major: Any) -> None:
    """Every entry keeps its line, and a part says whether its first line began earlier."""
    size = span.stop - span.first
    compressed = stored.partitioning.compressed
    assert major.size == (size + 1 if compressed else span.entries)
    local = np.repeat(np.arange(size), np.diff(major)) if compressed else major
    assert np.array_equal(local + span.first, lines[span.start : span.end]), span
    began_earlier = 0 < span.start < span.end and lines[span.start - 1] == lines[span.start]
    assert span.start_flag == began_earlier


@partitionings
@pytest.mark.parametrize("parts", [1, 3, 9])
def test_all_entries_in_one_row_or_column(partitioning: Partitioning, parts: int) -> None:
    row, column = coo(9, 7, np.full(7, 4), np.arange(7), np.arange(7)), coo(7, 9, np.arange(7), np.full(7, 4), [1] * 7)
    stored = partitioning.store(row if partitioning.axis == "rows" else column)
    spans = cut_by_entries(stored, (parts,))
    assert [span.start_flag for span in spans if span.entries] == [False] + [True] * (min(parts, 7) - 1)
    # Leading empty lines are part 0's, be it empty or not; trailing ones the last part's.
    assert (spans[0].first, spans[-1].stop) == (0, 9)
    assert {span.stop for span in spans[:-1]} <= {4, 5}


@partitionings
def test_a_part_is_a_view_of_the_whole(partitioning: Partitioning) -> None:
    stored = partitioning.store(BATTERY["power_law"]())
    span = cut_by_entries(stored, (4,))[2]
    part = part_of(stored, span, localize(stored, span))
    for array in ("minor", "values"):
        view = getattr(part, array)
        assert view.base is not None
        assert view.ctypes.data - getattr(stored, array).ctypes.data == span.start * view.itemsize
    assert not np.shares_memory(part.major, stored.major)


@pytest.mark.parametrize("name", ["pCSR", "pCSC"])
def test_wide_pointers_stay_wide(name: str) -> None:
    partitioning, matrix = find_partitioning(name), BATTERY["band"]()
    wide = CsrMatrix(*matrix.shape, matrix.indptr.astype(np.int64), matrix.indices, matrix.values)
    stored = partitioning.store(wide)
    spans = cut_by_entries(stored, (3,))
    parts = [part_of(stored, span, localize(stored, span)) for span in spans]
    assert {part.major.dtype for part in parts} == {np.dtype(np.int64)}
    assert_equal(join(partitioning, wide.shape, parts).major, stored.major)


def test_names_find_their_partitionings() -> None:
    assert [find_partitioning(p.name) for p in PARTITIONINGS] == list(PARTITIONINGS)
    with pytest.raises(ParameterError, match="'pELL'; known partitionings: pCSR, pCSC, pCOO"):
        find_partitioning("pELL")
