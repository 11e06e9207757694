"""Tiles of at most 16 entries by hand: rows of 1 and 2 are never cut, borders fall at multiples of 14."""

import numpy as np
import pytest

from gpu_engine.formats import tiles
from gpu_engine.formats.tiles import CUT
from tests.battery import BATTERY, coo, with_row_lengths


def cut(lengths: list[int]) -> tiles.Tiles:
    return tiles.cut(with_row_lengths(lengths, 50, 1), 16)


@pytest.mark.parametrize(
    ("lengths", "borders", "first_rows"),
    [
        pytest.param([1, *[2] * 8], [0, 13, 17], [0, 7, 9], id="a border moves to the start of its short row"),
        pytest.param([14, 14], [0, 14, 28], [0, 1, 2], id="a border at the start of a long row cuts nothing"),
        pytest.param([7, 7, 0, 0, 14], [0, 14, 28], [0, 2, 5], id="empty rows at a border go with the next tile"),
        pytest.param([0, 0, 3], [0, 3], [0, 3], id="empty rows come before the first entry"),
        pytest.param([1, *[0] * 40, 1], [0, 1, 1, 2], [0, 16, 32, 42], id="many empty rows need tiles of their own"),
        pytest.param([3, *[0] * 20], [0, 3, 3], [0, 16, 21], id="the last rows are empty"),
    ],
)
def test_short_rows_begin_with_their_tile(lengths: list[int], borders: list[int], first_rows: list[int]) -> None:
    found = cut(lengths)
    assert found.borders.tolist() == borders
    assert found.first_rows.tolist() == first_rows
    assert found.cut_rows.size == 0


@pytest.mark.parametrize(
    ("lengths", "borders", "first_rows", "parts"),
    [
        pytest.param(
            [3, 40, 5], [0, 14, 28, 42, 48], [0, CUT + 1, CUT + 1, CUT + 1, 3], [(1, 0, 3)], id="a row in four tiles"
        ),
        pytest.param(
            [20, 20], [0, 14, 28, 40], [0, CUT, CUT + 1, 2], [(0, 0, 1), (1, 1, 2)], id="a tile with two cut rows"
        ),
        pytest.param(
            [20, *[0] * 40],
            [0, 14, 20, 20, 20],
            [0, CUT, 16, 32, 41],
            [(0, 0, 1)],
            id="empty rows behind a cut row",
        ),
    ],
)
def test_long_rows_are_cut(
    lengths: list[int], borders: list[int], first_rows: list[int], parts: list[tuple[int, int, int]]
) -> None:
    """`parts` are (row, first tile, last tile) of the cut rows."""
    found = cut(lengths)
    assert found.borders.tolist() == borders
    assert found.first_rows.tolist() == first_rows
    assert list(zip(found.cut_rows, found.first_tiles, found.last_tiles, strict=True)) == parts
    assert found.nbytes == found.borders.nbytes + 4 * len(first_rows) + 12 * len(parts) + 16 * found.count


def test_a_matrix_without_entries_has_no_tile() -> None:
    found = tiles.cut(coo(5, 4, [], [], []), 16)
    assert (found.count, found.borders.tolist(), found.first_rows.tolist()) == (0, [0], [5])


@pytest.mark.parametrize("name", BATTERY)
def test_tiles_hold_at_most_their_size(name: str) -> None:
    """In entries; and in rows, where the rest of a cut row comes on top."""
    found = tiles.cut(BATTERY[name](), 16)
    begins, cuts = found.first_rows.astype(np.int64) % CUT, found.first_rows >= CUT
    assert (np.diff(found.borders) <= 16).all()
    assert (begins[1:] + cuts[1:] - begins[:-1] <= 16 + cuts[1:]).all()


def test_cut_rows_are_joined() -> None:
    """The last sum of the first tile and the first sums of those after it; the other elements are nobody's."""
    found = cut([3, 40, 5])
    found.last_sums[:] = [0.5, np.nan, np.nan, np.nan]
    found.first_sums[:] = [np.nan, 1.0, 2.0, 4.0]
    y = np.array([5.0, np.nan, 6.0])
    tiles.join_on_cpu(found, y)
    assert y.tolist() == [5.0, 7.5, 6.0]


@pytest.mark.parametrize(("count", "parts", "expected"), [(7, 3, [0, 2, 4, 7]), (2, 4, [0, 0, 1, 1, 2])])
def test_threads_share_the_tiles(count: int, parts: int, expected: list[int]) -> None:
    assert tiles.ranges(count, parts).tolist() == expected
