"""True residual r = b − A·x, computed in twice the precision: it decides whether a solve has converged.

A recurrence updates its residual and drifts from the true one. In fp64, b − A·x itself has an error of about
ε·|A|·|x|, which near convergence is as large as the residual.

Dot2: T. Ogita, S. M. Rump, S. Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26(6), 2005, algorithm 5.3.
"""

from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.host.jit import numba

SPLITTER = 134217729.0
"""Factor 2²⁷ + 1 that splits a number of 53 bits into two halves (Dekker)."""


def on_host(rows: CsrMatrix, b: np.ndarray, x: np.ndarray, r: np.ndarray) -> float:
    """Write r := b − A·x and return ‖r‖₂².

    Products and sums of a row are pairs of fp64 numbers: value and error.
    """
    _rows(rows.indptr, rows.indices, rows.values, b, x, r)
    return float(r @ r)


def norms_on_host(rows: CsrMatrix, b: np.ndarray, x: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Write R := B − A·X for blocks [n, k] and return ‖r‖₂ of each column: float64 [k]."""
    _columns(rows.indptr, rows.indices, rows.values, b, x, r)
    norms: np.ndarray = np.sqrt((r * r).sum(axis=0))
    return norms


@numba.njit(parallel=True, cache=True)
def _columns(indptr: Any, indices: Any, values: Any, b: Any, x: Any, r: Any) -> None:
    n, k = r.shape
    for row in numba.prange(n):
        for j in range(k):
            total, error = float(b[row, j]), 0.0
            for entry in range(indptr[row], indptr[row + 1]):
                high, low = _product(-values[entry], x[indices[entry], j])
                total, more = _sum(total, high)
                error += low + more
            r[row, j] = total + error


@numba.njit(parallel=True, cache=True)
def _rows(indptr: Any, indices: Any, values: Any, b: Any, x: Any, r: Any) -> None:
    for row in numba.prange(r.size):
        total, error = float(b[row]), 0.0
        for entry in range(indptr[row], indptr[row + 1]):
            high, low = _product(-values[entry], x[indices[entry]])
            total, more = _sum(total, high)
            error += low + more
        r[row] = total + error


@numba.njit(cache=True)
def _sum(a: Any, b: Any) -> Any:
    """Return a + b and its error (TwoSum)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@numba.njit(cache=True)
def _product(a: Any, b: Any) -> Any:
    """Return a·b and its error (TwoProduct with Dekker's splitting, because Numba has no fma)."""
    product = a * b
    scaled_a, scaled_b = SPLITTER * a, SPLITTER * b
    a_high, b_high = scaled_a - (scaled_a - a), scaled_b - (scaled_b - b)
    a_low, b_low = a - a_high, b - b_high
    error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return product, error if np.isfinite(error) else 0.0
