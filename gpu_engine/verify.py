"""Verification: compares y = A·x, or Y = A·X, with SciPy for a random x, element by element, before it is timed."""

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
    """An SpMV or SpMM computed by SciPy on the host; its arrays lie there or, to check many results, on a device.

    x, y   float64 [n_cols], [n_rows]; of an SpMM row major [n_cols, k], [n_rows, k]
    scale  |A|·|x|, of the shape of y
    limit  largest allowed error of a row in units of ε·scale: two sums of n terms in any order differ by at most 2·n;
           float64 [n_rows], of an SpMM [n_rows, 1]
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


def reference(matrix: CsrMatrix, seed: int = 0, k: int | None = None) -> Reference:
    """Return the reference SpMV of a host matrix with x uniform in (−1, 1), or the SpMM with k columns."""
    return reference_of(products_of(matrix), np.diff(matrix.indptr), matrix.n_cols, seed, k)


def reference_of(products: Products, lengths: Any, n_cols: int, seed: int = 0, k: int | None = None) -> Reference:
    """Return the reference of a matrix that is given by its products and its row lengths."""
    x = np.random.default_rng(seed).uniform(-1.0, 1.0, n_cols if k is None else (n_cols, k))
    y, scale = products(x, np.abs(x))
    limit = 2.0 * (lengths.astype(np.float64) + 1.0)
    return Reference(x, y, scale, limit if k is None else limit[:, np.newaxis])


def check(expected: Reference, y: Any) -> float:
    """Return the largest error of y in units of ε·(|A|·|x|), computed where y and the reference lie.

    Raises KernelError naming the worst element when y is wrong.
    """
    if not y.size:
        return 0.0
    xp = array_module(y)
    difference = xp.abs(y - expected.y)
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = xp.where(difference == 0.0, 0.0, difference / (EPSILON * expected.scale))
    wrong = ~(errors <= expected.limit)
    if bool(wrong.any()):
        worst = int(xp.argmax(xp.where(wrong, xp.where(xp.isnan(errors), np.inf, errors), -1.0)))
        place = tuple(map(int, np.unravel_index(worst, errors.shape)))
        where = ", ".join(f"{name} {number}" for name, number in zip(("row", "column"), place, strict=False))
        raise KernelError(
            f"Wrong result: {where} is {float(y[place])!r}, SciPy gives {float(expected.y[place])!r}; "
            f"{int(wrong.sum())} of {errors.size} {'rows' if errors.ndim == 1 else 'elements'} are off."
        )
    return float(errors.max())
