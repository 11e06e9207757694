"""Solves a system on a CPU: the recurrence of a method, and around it the true residual."""

import numpy as np

from gpu_engine.solvers import residual
from gpu_engine.solvers.base import (
    PROGRESS,
    REPLACEMENTS_MAX,
    BreakdownError,
    Callback,
    Method,
    Solution,
    Status,
    System,
    Tolerance,
)


class _Progress:
    """Counts the iterations of a solve, keeps their norms, and says when a recurrence ends."""

    def __init__(self, x: np.ndarray, tolerance: Tolerance, callback: Callback | None) -> None:
        self.iterations, self.norms = 0, list[float]()
        self._x, self._tolerance, self._callback = x, tolerance, callback
        self._is_first = True

    @property
    def is_spent(self) -> bool:
        """Whether the maximum number of iterations is reached."""
        return self.iterations >= self._tolerance.iterations_max

    def begin(self) -> None:
        """Note that the next norm is that of an iterate that was counted."""
        self._is_first = True

    def stop(self, square: float) -> bool:
        """Implement `Stop`."""
        norm = float(np.sqrt(square)) if square >= 0.0 else float("nan")
        if not self._is_first:
            self.iterations += 1
            if self._callback:
                self._callback(self._x)
        if not self._is_first or not self.norms:
            self.norms.append(norm)
        self._is_first = False
        return not norm > self._tolerance.bound or self.is_spent


def solve(
    method: Method, system: System, b: np.ndarray, x: np.ndarray, tolerance: Tolerance, callback: Callback | None = None
) -> Solution:
    """Solve A·x = b from the start vector x, which is overwritten with the best iterate."""
    r, best = np.empty_like(b), x.copy()
    progress = _Progress(x, tolerance, callback)
    norm, replacements, status = _true_residual(system, b, x, r), 0, Status.RUNNING
    least = norm
    while True:
        ended = ending(norm, least, tolerance.bound, replacements, progress.is_spent, status)
        if not norm <= least:
            # An iterate that is worse than its predecessor, or not finite, is not returned.
            x[:], norm = best, least
        if ended is not None:
            return Solution(
                x, ended, progress.iterations, norm, tolerance.bound, progress.norms, 1, max(replacements - 1, 0)
            )
        best[:], least = x, norm
        status, replacements = _recurrence(method, system, x, r, progress), replacements + 1
        norm = _true_residual(system, b, x, r)


def ending(
    norm: float, before: float, bound: float, starts: int, is_spent: bool, status: Status, cycles: bool = False
) -> Status | None:
    """Return how a solve ended, by its true residual and that of its best iterate; None if the recurrence goes on.

    starts    times that the recurrence has started
    is_spent  whether the maximum number of iterations is reached
    status    RUNNING unless the recurrence broke down
    cycles    whether the recurrence starts again in any case, while the residual falls
    """
    if norm <= bound:
        return Status.CONVERGED
    if not np.isfinite(norm):
        return Status.NOT_FINITE
    if status not in (Status.RUNNING, Status.BREAKDOWN):
        return status
    if is_spent:
        return Status.ITERATIONS_MAX
    progress = 1.0 - np.finfo(np.float64).eps if cycles else PROGRESS
    if starts and ((starts > REPLACEMENTS_MAX and not cycles) or norm > progress * before):
        return status if status is Status.BREAKDOWN else Status.STAGNATED
    return None


def _recurrence(method: Method, system: System, x: np.ndarray, r: np.ndarray, progress: _Progress) -> Status:
    """Run the recurrence until it ends; return RUNNING unless it broke down."""
    progress.begin()
    try:
        with np.errstate(all="ignore"):
            method.on_host(system, x, r, progress.stop)
    except BreakdownError as breakdown:
        return breakdown.status
    return Status.RUNNING


def _true_residual(system: System, b: np.ndarray, x: np.ndarray, r: np.ndarray) -> float:
    with np.errstate(all="ignore"):
        return float(np.sqrt(residual.on_host(system.rows, b, x, r)))
