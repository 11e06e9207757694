"""True residual r = b − A·x, computed in twice the precision: it decides whether a solve has converged.

A recurrence updates its residual and drifts from the true one. In fp64, b − A·x itself has an error of about
ε·|A|·|x|, which near convergence is as large as the residual.

Dot2: T. Ogita, S. M. Rump, S. Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26(6), 2005, algorithm 5.3.
"""

from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix

ROWS_PER_BLOCK = 2**18
"""Rows that the CPU handles at a time, so that temporaries stay small."""


def on_host(rows: CsrMatrix, b: np.ndarray, x: np.ndarray, r: np.ndarray) -> float:
    """Write r := b − A·x and return ‖r‖₂².

    Products and sums of a row are pairs of fp64 numbers: value and error.
    """
    total = 0.0
    for first in range(0, rows.n_rows, ROWS_PER_BLOCK):
        part = slice(first, min(first + ROWS_PER_BLOCK, rows.n_rows))
        r[part] = _rows(rows, part, b, x)
        total += float(r[part] @ r[part])
    return total


def _rows(rows: CsrMatrix, part: slice, b: np.ndarray, x: np.ndarray) -> Any:
    """Return b − A·x of a block of rows."""
    pointers = rows.indptr[part.start : part.stop + 1].astype(np.int64)
    entries = slice(int(pointers[0]), int(pointers[-1]))
    high, low = _product(rows.values[entries], x[rows.indices[entries]])
    lengths, begins = np.diff(pointers), pointers[:-1] - pointers[0]
    total, error = b[part].astype(np.float64), np.zeros(lengths.size)
    # Slot k of all rows at a time: as many steps as the longest row has nonzeros.
    alive = np.argsort(-lengths, kind="stable")
    counts = lengths[alive]
    for slot in range(int(counts[0]) if counts.size else 0):
        chosen = alive[: np.searchsorted(-counts, -slot, side="left")]
        at = begins[chosen] + slot
        total[chosen], more = _sum(total[chosen], -high[at])
        error[chosen] += more - low[at]
    return total + error


def _sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Return a + b and its error (TwoSum)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _product(a: Any, b: Any) -> tuple[Any, Any]:
    """Return a·b and its error (TwoProduct with Dekker's splitting, because NumPy has no fma)."""
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return product, np.where(np.isfinite(error), error, 0.0)


def _split(a: Any) -> tuple[Any, Any]:
    """Return the upper and the lower 26 bits of a number."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = 134217729.0 * a
        high = scaled - (scaled - a)
    return high, a - high
