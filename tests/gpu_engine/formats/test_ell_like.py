"""ELL, ELLR and PELLR: the same slots, with and without what they know of the row lengths."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from gpu_engine.formats import ell, ellr, pellr
from gpu_engine.formats.base import Format
from gpu_engine.verify import POISON, check, reference
from gpu_engine.warps import iterations
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


def test_pellr_sorts_the_rows() -> None:
    layout = pellr.FORMAT.from_csr(SMALL)
    assert layout.permutation.tolist() == [2, 0, 3, 1]
    assert layout.lengths.tolist() == [5, 2, 2, 0]
    assert layout.columns.tolist() == [[0, 0, 1, 0], [1, 2, 4, 0], [2, 0, 0, 0], [3, 0, 0, 0], [4, 0, 0, 0]]
    assert layout.values.tolist() == [[3, 1, -8, 0], [4, 2, 9, 0], [5, 0, 0, 0], [6, 0, 0, 0], [7, 0, 0, 0]]


def test_warps_walk_to_their_longest_row() -> None:
    """33 rows of 3 and 7 of 1: a warp of 32 lanes and one of 8, three slots each."""
    layout = pellr.FORMAT.from_csr(with_row_lengths([1, *[3] * 33, *[1] * 6], 9, 1))
    assert layout.walked_by_warps == 3 * 32 + 3 * 8
    thread, warp = pellr.FORMAT.kernels
    assert warp.layout_bytes(layout) == 12 * 120 + 4 * 2 + 4 * 40
    assert thread.layout_bytes(layout) == 12 * 106 + 4 * 40 + 4 * 40


def test_warps_walk_what_the_arithmetic_says() -> None:
    matrix = BATTERY["power_law"]()
    assert matrix.n_rows % 32 == 0
    longest_first = np.sort(np.diff(matrix.indptr))[::-1]
    assert pellr.FORMAT.from_csr(matrix).walked_by_warps == 32 * iterations(longest_first)


def poisoned_padding(layout: Any) -> Any:
    """The layout with NaN in every slot that has no entry."""
    used = np.arange(layout.columns.shape[0])[:, None] < layout.lengths
    return dataclasses.replace(layout, values=np.where(used, layout.values, np.nan))


@pytest.mark.parametrize("f", [ellr.FORMAT, pellr.FORMAT], ids=lambda f: f.name)
def test_threads_stop_at_the_end_of_their_rows(f: Format) -> None:
    matrix = BATTERY["around_a_warp"]()
    expected = reference(matrix)
    y = np.full(matrix.n_rows, POISON)
    product = f.kernels[0].cpu
    assert product is not None
    product(poisoned_padding(f.from_csr(matrix)), expected.x, y)
    check(expected, y)
