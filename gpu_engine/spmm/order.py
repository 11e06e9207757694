"""Column-major matrices: copies between the two orders, on a GPU at the rate of its memory."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import array_module, power_of_two
from gpu_engine.spmm.operands import is_column_major, is_row_major

SOURCE = CudaSource(__package__, "order.cu", ("to_rows", "to_columns"))

BLOCK, TILE_ELEMENTS, COLUMNS_MAX = 256, 1024, 32
"""ORDER_BLOCK and TILE_ELEMENTS of order.cu, and the most columns of a tile."""


Launch = Callable[[Any, Any, float, float], None]
"""SpMM `(X, Y, α, β)`, an SpmmLaunch."""


def by_copies(launch: Launch, xp: Any, shape: tuple[int, int], k: int) -> Launch:
    """Return the column-major SpMM of a row-major one, through copies of X and Y, which are allocated here.

    shape  (n_rows, n_cols) of the matrix; k: columns of X and Y
    """
    if k == 1:
        return launch
    n_rows, n_cols = shape
    rows, product = xp.empty((n_cols, k)), xp.empty((n_rows, k))

    def multiply(x: Any, y: Any, alpha: float, beta: float) -> None:
        # With α = 0 no kernel reads X.
        if alpha != 0.0:
            to_rows(x, rows)
        launch(rows, product, alpha, 0.0)
        to_columns(product, y, beta)

    return multiply


def row_major(array: Any) -> Any:
    """Return a matrix as row-major float64; copy it only if it is not."""
    if array.dtype == np.float64 and is_row_major(array):
        return array
    xp = array_module(array)
    if array.dtype != np.float64 or not is_column_major(array):
        return xp.ascontiguousarray(array, np.float64)
    rows = xp.empty(array.shape)
    to_rows(array, rows)
    return rows


def to_rows(columns: Any, rows: Any) -> None:
    """Set rows := columns; float64 [n, k], the first column major, the second row major; a GPU launches a kernel."""
    if isinstance(rows, np.ndarray):
        rows[...] = columns
    else:
        _launch("to_rows", columns.shape, columns, columns.strides[1], (), rows, rows.strides[0])


def to_columns(rows: Any, columns: Any, beta: float) -> None:
    """Set columns := rows + β·columns; float64 [n, k], the first row major; β = 0 does not read the second.

    A GPU launches one kernel if the second is column major, and CuPy's otherwise.
    """
    if not isinstance(columns, np.ndarray) and is_column_major(columns):
        _launch("to_columns", rows.shape, rows, rows.strides[0], (np.float64(beta),), columns, columns.strides[1])
    elif beta == 0.0:
        columns[...] = rows
    else:
        columns *= beta
        columns += rows


def _launch(
    kernel: str, shape: tuple[int, int], source: Any, apart: int, scale: tuple[Any, ...], target: Any, distance: int
) -> None:
    """Launch a kernel of order.cu; the distances between rows or columns are in bytes."""
    n, k = shape
    if not n or not k:
        return
    columns = min(power_of_two(k), COLUMNS_MAX)
    rows = TILE_ELEMENTS // columns
    grid = -(-n // rows), -(-k // columns)
    tile = np.int64(n), np.int32(k), np.int32(rows), np.int32(columns)
    pitches = np.int64(apart // 8), np.int64(distance // 8)
    SOURCE.function(kernel)(grid, (BLOCK,), (*tile, source, pitches[0], *scale, target, pitches[1]))
