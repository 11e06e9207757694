"""Order, leading dimension and alignment of dense matrices."""

import numpy as np
import pytest

from gpu_engine.spmm.operands import is_column_major, is_row_major, leading

BASE = np.zeros((6, 8))


@pytest.mark.parametrize(
    ("array", "rows", "columns"),
    [
        (BASE, True, False),
        (BASE[:, 2:5], True, False),
        (BASE[::2], True, False),
        (BASE.T, False, True),
        (BASE.T[:, 1:4], False, True),
        (BASE[:, ::2], False, False),
        (BASE[::-1], False, False),
        (np.broadcast_to(BASE[0], (3, 8)), False, False),
        (np.broadcast_to(BASE[:, :1], (6, 4)), False, False),
        (BASE[:1], True, True),
        (BASE[:, :1], True, False),
        (np.zeros((0, 4)), True, True),
    ],
)
def test_order(array: np.ndarray, rows: bool, columns: bool) -> None:
    assert (is_row_major(array), is_column_major(array)) == (rows, columns)


def test_leading_dimension() -> None:
    assert [leading(array) for array in (BASE, BASE[:, 2:5], BASE[::2], BASE[:1, :3])] == [8, 8, 16, 3]
