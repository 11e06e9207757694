"""Dot products and updates of row-major blocks [n, k] on a CPU; dot products have the same bits for any threads."""

from typing import Any

import numpy as np

from gpu_engine.host.jit import numba

CHUNK_ELEMENTS, CHUNKS_MAX = 16_384, 256
"""Elements of a partial sum, and most partial sums."""


def dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the dot product of each column of two blocks: float64 [k]."""
    chunks = max(1, min(-(-a.size // CHUNK_ELEMENTS), CHUNKS_MAX))
    partials = np.zeros((chunks, a.shape[1]))
    _dots(a, b, partials)
    total: np.ndarray = partials.sum(axis=0)
    return total


@numba.njit(parallel=True, cache=True)
def _dots(a: Any, b: Any, partials: Any) -> None:
    n, k = a.shape
    chunks = partials.shape[0]
    for chunk in numba.prange(chunks):
        for row in range(n * chunk // chunks, n * (chunk + 1) // chunks):
            for j in range(k):
                partials[chunk, j] += a[row, j] * b[row, j]


@numba.njit(parallel=True, cache=True)
def add_scaled(active: Any, factors: Any, a: Any, y: Any) -> None:
    """Set y := y + factors·a in the active columns; active: bool [k], factors: float64 [k]."""
    n, k = y.shape
    for row in numba.prange(n):
        for j in range(k):
            if active[j]:
                y[row, j] += factors[j] * a[row, j]


@numba.njit(parallel=True, cache=True)
def scale_and_add(active: Any, factors: Any, a: Any, y: Any) -> None:
    """Set y := a + factors·y in the active columns."""
    n, k = y.shape
    for row in numba.prange(n):
        for j in range(k):
            if active[j]:
                y[row, j] = a[row, j] + factors[j] * y[row, j]
