"""Groups: every lane has a place in a warp, every column and row a group, as measured for k from 2 to 128."""

import pytest

from gpu_engine.spmm.groups import BLOCK, LANES, ROWS, SLICES, VECTORS, WARP, Splits, groups_for


@pytest.mark.parametrize("splits", [ROWS, SLICES], ids=["rows", "slices"])
@pytest.mark.parametrize("vector", VECTORS)
@pytest.mark.parametrize("mean", [0.0, 0.4, 5.0, 27.0, 81.0, 1000.0])
def test_groups_fit_a_warp_and_cover_all(vector: int, mean: float, splits: Splits) -> None:
    for k in range(vector, 300, vector):
        for rows in (1, 7, 1000, 1_000_000):
            groups = groups_for(k, rows, mean, vector, splits)
            size = groups.width * groups.split
            assert size <= WARP
            assert all(number & (number - 1) == 0 for number in (groups.vector, groups.width, groups.split))
            assert groups.split <= max(round(mean), 1)
            along_rows, along_columns = groups.grid(rows, k)
            assert along_rows * (BLOCK // size) >= rows > (along_rows - 1) * (BLOCK // size)
            assert along_columns * groups.width * groups.vector >= k


@pytest.mark.parametrize("k", [33, 64, 200])
def test_columns_of_a_group_are_limited(k: int) -> None:
    groups = groups_for(k, 1000, 9.0, 1 + (k % 2 == 0), columns=32)
    assert groups.width * groups.vector == 32


@pytest.mark.parametrize(
    ("k", "mean", "expected"),
    [(2, 27, (2, 1, 8)), (4, 27, (4, 1, 8)), (8, 27, (4, 2, 4)), (16, 27, (4, 4, 4)), (32, 27, (4, 8, 2)),
     (4, 13.6, (4, 1, 4)), (16, 13.6, (4, 4, 2)), (8, 7, (4, 2, 2)), (32, 7, (4, 8, 1)), (2, 5, (2, 1, 2)),
     (32, 5, (4, 8, 1)), (128, 27, (4, 32, 1))],
)  # fmt: skip
def test_division_of_a_warp(k: int, mean: float, expected: tuple[int, int, int]) -> None:
    groups = groups_for(k, LANES, mean, min(4, k))
    assert (groups.vector, groups.width, groups.split) == expected


@pytest.mark.parametrize(("k", "expected"), [(2, 4), (4, 4), (8, 2), (16, 1), (128, 1)])
def test_slices_are_split_less(k: int, expected: int) -> None:
    assert groups_for(k, LANES, 27, min(4, k), SLICES).split == expected


def test_few_rows_are_split_further() -> None:
    assert [groups_for(32, rows, 27, 4).split for rows in (LANES // 16, LANES // 16 - 1)] == [2, 4]
