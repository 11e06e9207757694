"""ELL, ELLR and PELLR: the same slots, with and without what they know of the row lengths."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from gpu_engine.formats import ell, ellr, pellr
from gpu_engine.formats.base import Format, max_row_length
from gpu_engine.matrices.pellr_counts import warp_iterations
from gpu_engine.verify import POISON, check, reference
from tests.battery import BATTERY, dense, with_row_lengths

SMALL = dense([[1, 0, 2, 0, 0], [0, 0, 0, 0, 0], [3, 4, 5, 6, 7], [0, -8, 0, 0, 9]])


def test_ell_stores_columns_of_slots() -> None:
    layout = ell.FORMAT.from_csr(SMALL)
    assert layout.columns.tolist() == [[0, -1, 0, 1], [2, -1, 1, 4], [-1, -1, 2, -1], [-1, -1, 3, -1], [-1, -1, 4, -1]]
    assert layout.values[1].tolist() == [2, 0, 4, 9]


def test_ellr_knows_the_lengths() -> None:
    layout = ellr.FORMAT.from_csr(SMALL)
    assert layout.lengths.tolist() == [2, 0, 5, 2]
    assert layout.columns[1].tolist() == [2, -1, 1, 4]
    assert ellr.FORMAT.kernels[0].layout_bytes(layout) == 12 * 9 + 4 * 4


@pytest.mark.parametrize(("f", "lengths"), [(pellr.THREAD, [5, 2, 2, 0]), (pellr.BY_WARP, [5])])
def test_pellr_sorts_the_rows(f: Format, lengths: list[int]) -> None:
    layout = f.from_csr(SMALL)
    assert layout.permutation.tolist() == [2, 0, 3, 1]
    assert layout.lengths.tolist() == lengths
    assert layout.columns.tolist() == [[0, 0, 1, -1], [1, 2, 4, -1], [2, -1, -1, -1], [3, -1, -1, -1], [4, -1, -1, -1]]
    assert layout.values.tolist() == [[3, 1, -8, 0], [4, 2, 9, 0], [5, 0, 0, 0], [6, 0, 0, 0], [7, 0, 0, 0]]


def test_slices_are_as_wide_as_their_longest_row() -> None:
    """32 rows of 3, then one of 3 and seven of 1: three lines each, the second of eight rows."""
    layout = pellr.SLICED.from_csr(with_row_lengths([1, *[3] * 33, *[1] * 6], 9, 1))
    assert layout.lines.tolist() == [0, 3, 6]
    assert layout.permutation[[0, 32, 33, 34]].tolist() == [1, 33, 0, 34]
    lines = layout.columns.reshape(6, 32)
    assert (lines != -1).sum(axis=1).tolist() == [32, 32, 32, 8, 1, 1]
    assert (lines[4, 0] != -1, (lines[3:, 8:] == -1).all()) == (True, True)


def test_what_pellr_stores_and_loads() -> None:
    """33 rows of 3 and 7 of 1: a warp of 32 lanes and one of 8, three slots each; `rl` is N or N_w long."""
    matrix = with_row_lengths([1, *[3] * 33, *[1] * 6], 9, 1)
    permutation, slots = 4 * 40, 12 * 3 * 40
    for f, stored, loaded in (
        (pellr.THREAD, slots + 4 * 40, 12 * 106 + 4 * 40),
        (pellr.BY_WARP, slots + 4 * 2, 12 * 120 + 4 * 2),
        (pellr.SLICED, 12 * 3 * 64 + 4 * 3, 12 * 120 + 4 * 3),
    ):
        layout = f.from_csr(matrix)
        assert layout.stored_bytes == stored + permutation, f.title
        assert f.kernels[0].layout_bytes(layout) == loaded + permutation, f.title


def test_warps_walk_what_the_arithmetic_says() -> None:
    matrix = BATTERY["power_law"]()
    assert matrix.n_rows % 32 == 0
    longest_first = np.sort(np.diff(matrix.indptr))[::-1]
    assert pellr.BY_WARP.from_csr(matrix).walked == 32 * warp_iterations(longest_first)
    assert pellr.SLICED.from_csr(matrix).columns.size == 32 * warp_iterations(longest_first)


@pytest.mark.parametrize("name", BATTERY)
def test_slices_of_sorted_rows_pad_no_more_than_the_longest_row_of_each_lane(name: str) -> None:
    """Each slice but the first is no wider than any row of the one before."""
    matrix = BATTERY[name]()
    assert pellr.SLICED.from_csr(matrix).columns.size <= matrix.nnz + 32 * max_row_length(matrix)


def poisoned_padding(layout: Any) -> Any:
    """The layout with NaN in every slot that has no entry."""
    used = np.arange(layout.columns.shape[0])[:, None] < layout.lengths
    return dataclasses.replace(layout, values=np.where(used, layout.values, np.nan))


@pytest.mark.parametrize("f", [ellr.FORMAT, pellr.THREAD], ids=lambda f: f.name)
def test_threads_stop_at_the_end_of_their_rows(f: Format) -> None:
    matrix = BATTERY["around_a_warp"]()
    expected = reference(matrix)
    y = np.full(matrix.n_rows, POISON)
    product = f.kernels[0].cpu
    assert product is not None
    product(poisoned_padding(f.from_csr(matrix)), expected.x, y)
    check(expected, y)
