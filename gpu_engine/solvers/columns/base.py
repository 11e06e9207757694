"""Contract of the solvers for several right-hand sides: a method, and what comes back per column.

A `System` is that of one right-hand side, but its `multiply` and its preconditioner take row-major blocks [n, k].
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gpu_engine.cuda.load import CudaSource
from gpu_engine.solvers.base import DeviceRecurrence, Info, Solution, Status, System

COLUMNS_MAX = 256
"""Most right-hand sides at once: the threads of a block of every kernel of a solver."""

NormsCallback = Callable[[np.ndarray], None]
"""`(norms)`: called with the norms of the residuals by their recurrences, float64 [k] on the host."""


@dataclass(frozen=True, slots=True)
class ColumnTolerance:
    """When a solve ends.

    bounds          float64 [k] on the host: a column with ‖b − A·x‖₂ ≤ bound has converged
    iterations_max  most iterations of a column
    """

    bounds: np.ndarray
    iterations_max: int


@dataclass(frozen=True, slots=True)
class ColumnSolution:
    """Report of a solve with several right-hand sides; all arrays but x lie on the host.

    x             float64 [n, k], on the device of the system
    status        how each column ended
    iterations    int64 [k]; the solve had as many SpMMs as its slowest column
    residual      float64 [k], ‖b − A·x‖₂ of the returned columns, computed in twice the precision
    bound         float64 [k], the norms that they had to meet: max(rtol·‖b‖₂, atol)
    residuals     float64 [checks, k], norms of the recurrences; a column that has ended keeps its last one
    check_every   iterations between two checks
    replacements  int64 [k], times that a recurrence continued from the true residual
    """

    x: Any
    status: Sequence[Status]
    iterations: np.ndarray
    residual: np.ndarray
    bound: np.ndarray
    residuals: np.ndarray
    check_every: int
    replacements: np.ndarray

    @property
    def converged(self) -> np.ndarray:
        """Whether each column is a solution within its tolerance: bool [k]."""
        return np.array([status is Status.CONVERGED for status in self.status], bool)

    def of(self, column: int) -> Solution:
        """Return the report of one column, as that of a solve of its own."""
        return Solution(
            self.x[:, column],
            self.status[column],
            int(self.iterations[column]),
            float(self.residual[column]),
            float(self.bound[column]),
            self.residuals[:, column].tolist(),
            self.check_every,
            int(self.replacements[column]),
        )

    def __str__(self) -> str:
        k = len(self.status)
        most = int(self.iterations.max()) if k else 0
        lines = [f"{int(self.converged.sum())} of {k} columns converged after at most {most} iterations"]
        lines += [f"column {j}: {self.of(j)}" for j in range(k) if not self.converged[j]]
        return "\n".join(lines)


class ColumnInfo(np.ndarray):
    """`info` of SciPy's solvers per column, int64 [k], with a report; see `Info`.

    solution  the report of the solve
    """

    solution: ColumnSolution

    def __new__(cls, solution: ColumnSolution) -> "ColumnInfo":
        """Return the numbers of a solution."""
        numbers = [int(Info(solution.of(column))) for column in range(len(solution.status))]
        info = np.array(numbers, np.int64).view(cls)
        info.solution = solution
        return info

    def __array_finalize__(self, other: Any) -> None:
        if hasattr(other, "solution"):
            self.solution = other.solution


class ColumnProgress(Protocol):
    """The columns of a solve on a CPU, as a recurrence sees them."""

    active: np.ndarray
    """Whether each column takes part in the next iteration: bool [k]."""

    def begin(self, squares: np.ndarray) -> None:
        """Start the recurrences of the active columns, whose residuals have these squares of norms: [k]."""
        ...

    def end(self, which: np.ndarray, status: Status) -> None:
        """End the recurrences of some columns, bool [k], because they broke down."""
        ...

    def stop(self, which: np.ndarray) -> None:
        """Stop the recurrences of some columns, bool [k], until they start again."""
        ...

    def count(self, squares: np.ndarray) -> None:
        """Count an iteration of the active columns, which now have these squares of norms: [k]."""
        ...


ColumnRecurrence = Callable[[System, np.ndarray, np.ndarray, ColumnProgress], None]
"""`(system, X, R, progress)`: improves the active columns of X, whose residuals are R, until none is active."""


@dataclass(frozen=True)
class ColumnMethod:
    """A Krylov method for several right-hand sides.

    name       of the function of an operator: `A.cg`
    on_host    its recurrence on a CPU; on_device: (System, ColumnWorkspace) → its recurrence on a GPU, in `source`
    symmetric  whether it needs A = Aᵀ
    restart    iterations after which it starts again from the true residual; 0: it has no cycles
    sums       sums per column that it has at a time
    """

    name: str
    title: str
    on_host: ColumnRecurrence
    on_device: Callable[..., DeviceRecurrence]
    source: CudaSource
    symmetric: bool = False
    restart: int = 0
    sums: int = 1

    @property
    def cycles(self) -> bool:
        """Whether it has cycles."""
        return self.restart > 0

    def even_checks(self, check_every: int) -> int:
        """Return the iterations between checks that cut a cycle into equal parts of at most `check_every`."""
        parts = -(-self.restart // check_every)
        return -(-self.restart // parts) if parts else check_every
