"""Groups: every lane has a place in a warp, every column and row a group, as measured for k from 2 to 32."""

import pytest

from gpu_engine.spmm.groups import BLOCK, WARP, groups_for


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("mean", [0.0, 0.4, 5.0, 27.0, 81.0, 1000.0])
def test_groups_fit_a_warp_and_cover_all(paired: bool, mean: float) -> None:
    for k in range(2 if paired else 1, 200, 2 if paired else 1):
        groups = groups_for(k, mean, paired)
        size = groups.width * groups.split
        assert size <= WARP
        assert all(number & (number - 1) == 0 for number in (groups.vector, groups.width, groups.split))
        assert groups.split <= max(round(mean), 1)
        for rows in (1, 7, 1000):
            along_rows, along_columns = groups.grid(rows, k)
            assert along_rows * (BLOCK // size) >= rows > (along_rows - 1) * (BLOCK // size)
            assert along_columns * groups.width * groups.vector >= k


@pytest.mark.parametrize(
    ("k", "mean", "expected"),
    [(2, 27, (2, 1, 8)), (4, 27, (2, 2, 8)), (8, 27, (2, 4, 4)), (16, 27, (2, 8, 2)), (32, 27, (2, 16, 1)),
     (32, 81, (2, 16, 2)), (2, 5, (2, 1, 2)), (128, 27, (2, 16, 1))],
)  # fmt: skip
def test_division_of_a_warp(k: int, mean: float, expected: tuple[int, int, int]) -> None:
    groups = groups_for(k, mean, True)
    assert (groups.vector, groups.width, groups.split) == expected
