"""Chebyshev iteration for symmetric positive definite matrices: no dot products, but bounds of the spectrum.

G. H. Golub, R. S. Varga, Chebyshev semi-iterative methods, Numer. Math. 3, 1961; Y. Saad, Iterative Methods for Sparse
Linear Systems, 2nd ed., 2003, algorithm 12.1.
"""

from functools import partial
from typing import Any

import numpy as np
import scipy.linalg

from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import ParameterError
from gpu_engine.solvers import base
from gpu_engine.solvers.base import Method, Stop, System
from gpu_engine.solvers.preconditioning import APART, KINDS, apply, kind_of, operand
from gpu_engine.solvers.vectors import dot, preconditioned
from gpu_engine.solvers.workspace import Workspace

SOURCE = CudaSource(
    __package__,
    "chebyshev.cu",
    (*(f"chebyshev_{kernel}<{kind}>" for kernel in ("begin", "step") for kind in KINDS), "chebyshev_direction"),
)

Bounds = tuple[float, float]
"""Least and largest eigenvalue of M·A. The closer they are, the faster; above the largest the residual grows."""


STEPS, MARGIN = 20, 1.1
"""Iterations of CG from which the bounds are estimated, and the factor for what they have not seen."""


def estimate(system: System, xp: Any) -> Bounds:
    """Return estimates of the least and the largest eigenvalue of M·A, from the coefficients of CG.

    Eigenvalues of the tridiagonal Lanczos matrix lie within the spectrum (Saad, section 6.7.3), so both are widened.
    Raises ParameterError if the matrix turns out not to be positive definite.
    """
    r = xp.random.default_rng(0).standard_normal(system.n)
    z, q = xp.empty_like(r), xp.empty_like(r)
    z = preconditioned(system, r, z)
    p, gamma, diagonal, off = z.copy(), float(r @ z), list[float](), list[float]()
    alpha = beta = 0.0
    for _ in range(min(STEPS, system.n)):
        system.multiply(p, q)
        curvature = float(p @ q)
        if not curvature > 0.0:
            raise ParameterError("The matrix is not positive definite (pᵀAp ≤ 0). Use minres, bicgstab, or gmres.")
        before, alpha = alpha, gamma / curvature
        diagonal.append(1.0 / alpha + (beta / before if before else 0.0))
        r -= alpha * q
        z = preconditioned(system, r, z)
        after = float(r @ z)
        beta, gamma = after / gamma, after
        if not gamma > 0.0:
            break
        off.append(np.sqrt(beta) / alpha)
        p = z + beta * p
    eigenvalues = scipy.linalg.eigvalsh_tridiagonal(np.array(diagonal), np.array(off[: len(diagonal) - 1]))
    return float(eigenvalues[0]) / MARGIN, float(eigenvalues[-1]) * MARGIN


def recurrence(bounds: Bounds, system: System, x: np.ndarray, r: np.ndarray, stop: Stop) -> None:
    """Improve x by the Chebyshev iteration."""
    center, half, sigma = _ellipse(bounds)
    rho = 1.0 / sigma
    z, q = np.empty_like(r), np.empty_like(r)
    d = preconditioned(system, r, z) / center
    while not stop(dot(r, r)):
        x += d
        system.multiply(d, q)
        r -= q
        after = 1.0 / (2.0 * sigma - rho)
        d *= after * rho
        # Without a spread, d = r / center.
        d += (2.0 * after / half if half else 1.0 / center) * preconditioned(system, r, z)
        rho = after


class DeviceRecurrence(base.DeviceRecurrence):
    """The Chebyshev iteration as launches: one SpMV and one kernel per iteration."""

    def __init__(self, bounds: Bounds, system: System, work: Workspace) -> None:
        self._system, self._work, self._kind = system, work, kind_of(system)
        self._center, self._half, self._sigma = map(np.float64, _ellipse(bounds))
        self._d, self._q = work.vector(), work.vector()
        self._z = work.vector() if self._kind == APART else work.r
        self._m = operand(system, self._z, work.r)

    def start(self) -> None:
        """Implement `DeviceRecurrence`."""
        work = self._work
        apply(self._system, work.r, self._z)
        arguments = self._center, self._sigma, work.r, self._m, self._d, work.partials, work.state
        work.over_rows(SOURCE, f"chebyshev_begin<{self._kind}>", *arguments)

    def iterate(self, parity: int) -> None:
        """Implement `DeviceRecurrence`."""
        work, spectrum = self._work, (np.int32(parity), self._center, self._half, self._sigma)
        self._system.multiply(self._d, self._q)
        arrays = self._q, self._m, self._d, work.r, work.x, work.partials, work.state
        work.over_rows(SOURCE, f"chebyshev_step<{self._kind}>", *spectrum, *arrays)
        if self._kind == APART:
            apply(self._system, work.r, self._z)
            work.over_rows(SOURCE, "chebyshev_direction", *spectrum, self._z, self._d, work.state)


def _ellipse(bounds: Bounds) -> tuple[float, float, float]:
    """Return the center of the spectrum, half its width, and their ratio."""
    center, half = (bounds[1] + bounds[0]) / 2, (bounds[1] - bounds[0]) / 2
    return center, half, center / half if half else float("inf")


def chebyshev(bounds: Bounds) -> Method:
    """Return the Chebyshev iteration for a spectrum within these bounds."""
    return Method(
        name="chebyshev",
        title=f"Chebyshev iteration on [{bounds[0]}, {bounds[1]}]",
        needs="symmetric positive definite",
        on_host=partial(recurrence, bounds),
        on_device=partial(DeviceRecurrence, bounds),
        source=SOURCE,
        symmetric=True,
        period=2,
        passes=6,
    )
