"""Verification: compares y = A·x with SciPy, row by row, for a random x, before anything is timed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import KernelError
from gpu_engine.formats.base import array_module

EPSILON = float(np.finfo(np.float64).eps)
POISON = np.nan
"""Initial value of y, so that an element that a kernel does not write is detected."""


@dataclass(frozen=True, slots=True)
class Reference:
    """An SpMV computed by SciPy on the host; its arrays lie there or, to check many results, on a device.

    x, y   float64 [n_cols], [n_rows]
    scale  (|A|·|x|)ᵢ: float64 [n_rows]
    limit  largest allowed error of a row in units of ε·scale: two sums of n terms in any order differ by at most 2·n
    """

    x: Any
    y: Any
    scale: Any
    limit: Any

    def on(self, xp: Any) -> "Reference":
        """Return a copy whose arrays belong to `xp` (NumPy or CuPy)."""
        return Reference(*(xp.asarray(array) for array in (self.x, self.y, self.scale, self.limit)))


Products = Callable[[Any, Any], tuple[Any, Any]]
"""Function (x, scale of x) → (A·x, |A|·scale), on the host."""


def products_of(matrix: CsrMatrix) -> Products:
    """Return the products A·x and |A|·scale of a host matrix, computed by SciPy."""
    csr = matrix.to_scipy()
    return lambda x, scale: (csr @ x, abs(csr) @ scale)


def reference(matrix: CsrMatrix, seed: int = 0) -> Reference:
    """Return the reference SpMV of a host matrix with x uniform in (−1, 1)."""
    return reference_of(products_of(matrix), np.diff(matrix.indptr), matrix.n_cols, seed)


def reference_of(products: Products, lengths: Any, n_cols: int, seed: int = 0) -> Reference:
    """Return the reference SpMV of a matrix that is given by its products and its row lengths."""
    x = np.random.default_rng(seed).uniform(-1.0, 1.0, n_cols)
    y, scale = products(x, np.abs(x))
    return Reference(x, y, scale, 2.0 * (lengths.astype(np.float64) + 1.0))


def check(expected: Reference, y: Any) -> float:
    """Return the largest error of y in units of ε·(|A|·|x|)ᵢ, computed where y and the reference lie.

    Raises KernelError naming the worst row when y is wrong.
    """
    if not y.size:
        return 0.0
    xp = array_module(y)
    difference = xp.abs(y - expected.y)
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = xp.where(difference == 0.0, 0.0, difference / (EPSILON * expected.scale))
    wrong = ~(errors <= expected.limit)
    if bool(wrong.any()):
        row = int(xp.argmax(xp.where(wrong, xp.where(xp.isnan(errors), np.inf, errors), -1.0)))
        raise KernelError(
            f"Wrong result: row {row} is {float(y[row])!r}, SciPy gives {float(expected.y[row])!r}; "
            f"{int(wrong.sum())} of {errors.size} rows are off."
        )
    return float(errors.max())
