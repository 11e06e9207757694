"""Solves a system with several right-hand sides on a CPU: a recurrence, and around it the true residuals."""

import numpy as np

from gpu_engine.solvers import residual
from gpu_engine.solvers.base import Status, System
from gpu_engine.solvers.columns.base import ColumnMethod, ColumnSolution, ColumnTolerance, NormsCallback
from gpu_engine.solvers.host import ending


class _Columns:
    """The state of all columns; implements `ColumnProgress`."""

    def __init__(self, k: int, tolerance: ColumnTolerance, callback: NormsCallback | None, cycles: bool) -> None:
        self._tolerance, self._callback, self._cycles = tolerance, callback, cycles
        self.active, self.ended = np.zeros(k, bool), np.zeros(k, bool)
        self.iterations, self.starts = np.zeros(k, np.int64), np.zeros(k, np.int64)
        self.status = [Status.RUNNING] * k
        self.norm, self.least = np.zeros(k), np.full(k, np.inf)
        self.history = list[np.ndarray]()

    def judge(self, norms: np.ndarray, x: np.ndarray, best: np.ndarray) -> bool:
        """Decide how columns ended, by their true residuals, and keep the best iterates; return whether any goes on."""
        for j in np.flatnonzero(~self.ended):
            norm, before, is_spent = float(norms[j]), float(self.least[j]), bool(self._is_spent[j])
            bound, starts = float(self._tolerance.bounds[j]), int(self.starts[j])
            status = ending(norm, before, bound, starts, is_spent, self.status[j], self._cycles)
            if starts == 0 or norm <= before:
                best[:, j], self.least[j] = x[:, j], norm
            else:
                # An iterate that is worse than its predecessor, or not finite, is not returned.
                x[:, j] = best[:, j]
            self.status[j] = status or Status.RUNNING
            self.ended[j] = status is not None
            self.starts[j] += status is None
        self.active = ~self.ended
        return bool(self.active.any())

    def begin(self, squares: np.ndarray) -> None:
        """Implement `ColumnProgress`."""
        self.norm = np.where(self.active, np.sqrt(squares), self.norm)
        if not self.history:
            self.history.append(self.norm)
        self._go_on()

    def end(self, which: np.ndarray, status: Status) -> None:
        """Implement `ColumnProgress`."""
        for j in np.flatnonzero(which & self.active):
            self.status[j] = status
            self.active[j] = False

    def stop(self, which: np.ndarray) -> None:
        """Implement `ColumnProgress`."""
        self.active &= ~which

    def count(self, squares: np.ndarray) -> None:
        """Implement `ColumnProgress`."""
        self.iterations[self.active] += 1
        self.norm = np.where(self.active, np.sqrt(squares), self.norm)
        self.history.append(self.norm)
        self._go_on()
        if self._callback is not None:
            self._callback(self.norm.copy())

    @property
    def _is_spent(self) -> np.ndarray:
        """Whether each column has reached the maximum number of iterations: bool [k]."""
        return self.iterations >= self._tolerance.iterations_max

    def _go_on(self) -> None:
        """Keep the columns active that have not converged; NaN has, as far as the recurrence is concerned."""
        self.active &= (self.norm > self._tolerance.bounds) & ~self._is_spent


def solve(
    method: ColumnMethod,
    system: System,
    b: np.ndarray,
    x: np.ndarray,
    tolerance: ColumnTolerance,
    callback: NormsCallback | None = None,
) -> ColumnSolution:
    """Solve A·X = B from the start X, which is overwritten with the best iterate of each column.

    b, x  float64 [n, k], row major
    """
    k = b.shape[1]
    r, best = np.empty_like(b), x.copy()
    columns = _Columns(k, tolerance, callback, method.cycles)
    with np.errstate(all="ignore"):
        while columns.judge(residual.norms_on_host(system.rows, b, x, r), x, best):
            method.on_host(system, x, r, columns)
    history = np.array(columns.history).reshape(-1, k)
    return ColumnSolution(
        x,
        tuple(columns.status),
        columns.iterations,
        columns.least,
        tolerance.bounds,
        history,
        1,
        np.maximum(columns.starts - 1, 0),
    )
