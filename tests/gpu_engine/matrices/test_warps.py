"""Figure 5 of the PELLR paper, warps of 8: its two lists as printed, which are not of one matrix."""

import numpy as np
import pytest

from gpu_engine.matrices.pellr_counts import warp_iterations, warp_operations

ELLR = np.array([2, 3, 3, 4, 4, 4, 2, 4, 2, 3, 2, 3, 2, 3, 2, 2, 2, 2, 7, 3, 3, 3, 3, 3, 4, 3])
PELLR = np.array([7, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2])


def test_the_printed_lists() -> None:
    assert (warp_iterations(ELLR, 8), warp_iterations(PELLR, 8)) == (18, 14)
    assert (warp_operations(ELLR, 8), warp_operations(PELLR, 8)) == (124, 122)


def test_sorting_saves_iterations_and_no_computation() -> None:
    longest_first = np.sort(ELLR)[::-1]
    assert warp_iterations(longest_first, 8) == 15
    assert warp_operations(longest_first, 8) == warp_operations(ELLR, 8)


@pytest.mark.parametrize(
    ("rows", "length", "expected"),
    [(0, 0, (0, 0)), (32, 5, (5, 32 * 9)), (33, 5, (10, 33 * 9 - 31)), (64, 0, (0, -64))],
)
def test_warps_of_32(rows: int, length: int, expected: tuple[int, int]) -> None:
    lengths = np.full(rows, length, np.int32)
    assert (warp_iterations(lengths), warp_operations(lengths)) == expected


def test_sums_do_not_overflow_the_lengths() -> None:
    lengths = np.full(4096, 2**31 - 1, np.int32)
    assert warp_iterations(lengths) == 128 * (2**31 - 1)
    assert warp_operations(lengths) == 4096 * (2**32 - 3)
