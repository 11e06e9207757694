"""Matrices of several stretches, for what packs in them and what does not."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.generators import generate
from gpu_engine.multigpu.chunk_packing import STRETCH

UNSEEN = 2
"""A stretch of twelve that is not sampled."""


def rows_of(columns: Any, values: Any, n_cols: int, length: int = 16) -> CsrMatrix:
    """Rows of so many entries each, with these columns, which ascend in each row."""
    indptr = np.arange(0, columns.size + 1, length, dtype=np.int32)
    return CsrMatrix(indptr.size - 1, n_cols, indptr, columns.astype(np.int32), values)


def spread(entries: int, n_cols: int, length: int = 16) -> Any:
    """Columns all over the matrix, ascending in each row."""
    rng = np.random.default_rng(3)
    step = n_cols // length
    steps = np.tile(np.arange(length) * step, entries // length)
    return steps + rng.integers(0, step, entries)


def drawn(number: int, entries: int = 4 * STRETCH) -> CsrMatrix:
    """So many different values, narrow columns."""
    values = np.random.default_rng(4).permutation(np.arange(entries) % number) + 0.5
    return rows_of(spread(entries, 60_000), values, 60_000)


def rare() -> CsrMatrix:
    """Twelve stretches; in one that is not sampled is a value, in another a column, that fits with no other."""
    columns, values = spread(12 * STRETCH, 60_000), np.tile([1.0, -1.0], 6 * STRETCH)
    values[UNSEEN * STRETCH + 7] = 77.0
    columns[(5 + 1) * STRETCH - 1] = 199_999
    return rows_of(columns, values, 200_000)


def not_finite() -> CsrMatrix:
    """Zeros of both signs, infinities, and two NaNs of different bits."""
    kinds = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, 2.5])
    values = kinds[np.random.default_rng(5).choice(7, 4 * STRETCH, p=[0.2, 0.2, 0.01, 0.01, 0.01, 0.3, 0.27])]
    values.view(np.uint64)[100] = 0x7FF8000000000123
    return rows_of(spread(4 * STRETCH, 60_000), values, 60_000)


PACKABLE: Mapping[str, Callable[[], CsrMatrix]] = {
    "two values": lambda: generate("stencil", {"points": 9, "nx": 150, "ny": 100}),
    "one value, wide columns": lambda: rows_of(spread(4 * STRETCH, 300_000), np.full(4 * STRETCH, 3.0), 300_000),
    "two hundred values": lambda: drawn(200),
    "a thousand values": lambda: drawn(1000),
    "more different values than codes": lambda: drawn(70_000),
    "a rare value and a far column": rare,
    "values that are not finite": not_finite,
}
