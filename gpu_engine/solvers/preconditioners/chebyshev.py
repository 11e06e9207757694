"""Chebyshev polynomial in A: a fixed symmetric preconditioner without dot products.

Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., 2003, section 12.3.2.
"""

from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import array_module
from gpu_engine.solvers.base import System
from gpu_engine.solvers.chebyshev import Bounds, estimate

SOURCE = CudaSource(__package__, "chebyshev.cu", ("polynomial_begin", "polynomial_step"))
BLOCK = 256

DEGREE, DEGREES = 4, (1, 32)
"""SpMVs per application plus one, unless the caller says otherwise; the least and the most."""

LOWER = 1 / 30
"""Lower bound as a share of the largest eigenvalue: CG itself deals with the smallest ones."""


class Polynomial:
    """M = p(A), where p approximates 1/λ on the bounds."""

    diagonal, in_graph = None, True

    def __init__(self, system: System, bounds: Bounds, degree: int) -> None:
        self._multiply, self._n = system.multiply, system.n
        xp = array_module(system.rows.values)
        self._r, self._d, self._q = (xp.empty(system.n, np.float64) for _ in range(3))
        center, half = (bounds[1] + bounds[0]) / 2, (bounds[1] - bounds[0]) / 2
        sigma, rho = center / half, half / center
        self._center, self._factors = center, list[tuple[float, float]]()
        for _ in range(degree - 1):
            after = 1.0 / (2.0 * sigma - rho)
            self._factors.append((after * rho, 2.0 * after / half))
            rho = after

    def __call__(self, v: Any, out: Any) -> None:
        """Compute out := M·v."""
        step = _on_host if isinstance(v, np.ndarray) else self._on_gpu
        step(None, v, self._r, self._d, out, 0.0, 1.0 / self._center)
        for of_direction, of_residual in self._factors:
            self._multiply(self._d, self._q)
            step(self._q, v, self._r, self._d, out, of_direction, of_residual)

    def _on_gpu(self, q: Any, v: Any, r: Any, d: Any, out: Any, *factors: float) -> None:
        name, first = ("polynomial_begin", v) if q is None else ("polynomial_step", q)
        arguments = np.int32(self._n), first, r, d, out, *map(np.float64, factors)
        SOURCE.function(name)((-(-self._n // BLOCK),), (BLOCK,), arguments)


def _on_host(q: Any, v: Any, r: Any, d: Any, out: Any, of_direction: float, of_residual: float) -> None:
    """Compute r, the next direction d, and out := out + d; without q, begin with r := v and out := d."""
    if q is None:
        r[...] = v
        np.multiply(r, of_residual, out=d)
        out[...] = d
        return
    r -= q
    d *= of_direction
    d += of_residual * r
    out += d


def chebyshev(system: System, degree: int = DEGREE) -> Polynomial:
    """Return the polynomial of this degree; the largest eigenvalue is estimated by some iterations of CG.

    Raises ParameterError for another degree, and if the matrix is not positive definite.
    """
    least, most = DEGREES
    if not least <= degree <= most:
        raise ParameterError(f"The degree of chebyshev is {degree}; expected {least} to {most}.")
    largest = estimate(system, array_module(system.rows.values))[1]
    return Polynomial(system, (LOWER * largest, largest), degree)
