"""Column-major matrices: copies between the two orders on a GPU, at the rate of its memory."""

from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource

SOURCE = CudaSource(__package__, "order.cu", ("to_rows", "to_columns"))

BLOCK, TILE_ELEMENTS, COLUMNS_MAX = 256, 1024, 32
"""ORDER_BLOCK and TILE_ELEMENTS of order.cu, and the most columns of a tile."""


def to_rows(columns: Any, rows: Any) -> None:
    """Launch rows := columns; float64 [n, k], the first column major, the second row major."""
    _launch("to_rows", columns.shape, columns, columns.strides[1], (), rows, rows.strides[0])


def to_columns(rows: Any, columns: Any, beta: float) -> None:
    """Launch columns := rows + β·columns; float64 [n, k], the first row major, the second column major."""
    _launch("to_columns", rows.shape, rows, rows.strides[0], (np.float64(beta),), columns, columns.strides[1])


def _launch(
    kernel: str, shape: tuple[int, int], source: Any, apart: int, scale: tuple[Any, ...], target: Any, distance: int
) -> None:
    """Launch a kernel of order.cu; the distances between rows or columns are in bytes."""
    n, k = shape
    if not n or not k:
        return
    columns = min(1 << max(k - 1, 0).bit_length(), COLUMNS_MAX)
    rows = TILE_ELEMENTS // columns
    grid = -(-n // rows), -(-k // columns)
    tile = np.int64(n), np.int32(k), np.int32(rows), np.int32(columns)
    pitches = np.int64(apart // 8), np.int64(distance // 8)
    SOURCE.function(kernel)(grid, (BLOCK,), (*tile, source, pitches[0], *scale, target, pitches[1]))
