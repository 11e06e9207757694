"""SolveRun: CG on several devices until the true residual is small enough; subclasses define the communication.

An iteration has one exchange, that of r, and one sum over all devices: γ = r·r and δ = r·A·r, from which each device
computes α and β itself. The SpMV w := A·r and one more recurrence, s = A·p, take the place of the second sum.
Source: A. T. Chronopoulos, C. W. Gear, s-step iterative methods for symmetric linear systems, J. Comput. Appl. Math.
25, 1989. Residual replacement as in solvers/.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import InputError, ParameterError
from gpu_engine.solvers import residual
from gpu_engine.solvers.base import Solution, Status

CHECK_EVERY = 10
"""Iterations that are captured together, between two looks of the host; even, because two states take turns."""

REPLACEMENTS_MAX, PROGRESS = 20, 0.5
"""Most restarts from the true residual, and the factor by which each must have reduced it."""


class Stretch(NamedTuple):
    """Iterations of a recurrence until it has converged or ended.

    norms      ‖r‖₂ of the recurrence before the first and after every CHECK_EVERY iterations
    is_broken  whether it has met a direction without positive curvature
    """

    norms: list[float]
    is_broken: bool

    @property
    def iterations(self) -> int:
        """Return the number of iterations."""
        return CHECK_EVERY * (len(self.norms) - 1)


def stretch_until(
    look: Callable[[], tuple[float, bool]], advance: Callable[[], None], bound: float, most: int
) -> Stretch:
    """Advance by CHECK_EVERY iterations at a time until ‖r‖ ≤ bound, a breakdown, or `most` iterations.

    look  waits, and returns ‖r‖₂ of the recurrence and whether it has broken down
    """
    norms = list[float]()
    while True:
        norm, is_broken = look()
        norms.append(norm)
        stretch = Stretch(norms, is_broken)
        # NaN ends it too.
        if is_broken or not norm > bound or stretch.iterations >= most:
            return stretch
        advance()


class SolveRun(ABC):
    """A system A·x = b on several devices."""

    def __init__(self, matrix: CsrMatrix) -> None:
        """Keep the matrix, which is on the host and assumed to be symmetric; raise ParameterError if not square."""
        if matrix.n_rows != matrix.n_cols:
            raise ParameterError(f"CG needs a square matrix, not {matrix.n_rows} × {matrix.n_cols}. Choose another.")
        self._matrix, self._n = matrix, matrix.n_rows

    @abstractmethod
    def begin(self, b: Any) -> None:
        """Start with x = 0; b: float64 [n] on the host."""

    @abstractmethod
    def restart(self, r: Any) -> None:
        """Continue from the iterate with a new residual of the host."""

    @abstractmethod
    def converge(self, bound: float, most: int) -> Stretch:
        """Iterate until ‖r‖ ≤ bound, a breakdown, or `most` iterations, and wait."""

    @abstractmethod
    def read(self, x: Any) -> None:
        """Copy the iterate to x, float64 [n] on the host, and wait for it."""

    def solve(self, b: Any, rtol: float = 1e-8, maxiter: int = 10_000) -> Solution:
        """Solve A·x = b from x = 0.

        b        float64 [n] on the host
        rtol     bound of ‖b − A·x‖₂ / ‖b‖₂; the residual is computed on the host, in twice the precision
        maxiter  most iterations; CHECK_EVERY at a time

        Returns a solution with x on the host. Raises InputError for another b.
        """
        if b.dtype != np.float64 or b.shape != (self._n,):
            raise InputError(f"b is {b.dtype} {b.shape}, but the matrix needs float64 ({self._n},).")
        bound, x, r = rtol * float(np.linalg.norm(b)), np.zeros(self._n), np.empty(self._n)
        self.begin(b)
        norms, iterations, replacements, before = list[float](), 0, 0, math.inf
        while True:
            stretch = self.converge(bound, maxiter - iterations)
            norms += stretch.norms
            iterations += stretch.iterations
            self.read(x)
            true_norm = math.sqrt(residual.on_host(self._matrix, b, x, r))
            may_restart = replacements < REPLACEMENTS_MAX and true_norm < PROGRESS * before
            status = _status(stretch, true_norm, bound, may_restart)
            if status is not None:
                return Solution(x, status, iterations, true_norm, bound, norms, CHECK_EVERY, replacements)
            before, replacements = true_norm, replacements + 1
            self.restart(r)


def _status(stretch: Stretch, true_norm: float, bound: float, may_restart: bool) -> Status | None:
    """Return how the solve ended; None if the recurrence starts again from the true residual."""
    norm = stretch.norms[-1]
    if true_norm <= bound:
        return Status.CONVERGED
    if not math.isfinite(norm):
        return Status.NOT_FINITE
    if stretch.is_broken:
        return Status.INDEFINITE
    if norm > bound:
        return Status.ITERATIONS_MAX
    return None if may_restart else Status.STAGNATED
