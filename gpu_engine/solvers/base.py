"""Contract of the solvers: a system, a method, and what comes back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import numpy as np

from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import ParameterError, quote


class Status(Enum):
    """How a solve ended: its number on a device, and what it means.

    Only `converged` is a solution. The numbers are those of cuda/solve.cuh.
    """

    RUNNING = 0, "is still running"
    CONVERGED = 1, "converged: the true residual meets the tolerance"
    ITERATIONS_MAX = 2, "reached the maximum number of iterations"
    INDEFINITE = 3, "broke down: the matrix is not positive definite (pᵀAp ≤ 0)"
    BREAKDOWN = 4, "broke down: a scalar of the recurrence is 0"
    NOT_FINITE = 5, "broke down: the residual is not finite"
    STAGNATED = 6, "stagnated: the recurrence converged, the true residual did not"
    INDEFINITE_PRECONDITIONER = 7, "broke down: the preconditioner is not positive definite (rᵀMr ≤ 0)"

    def __init__(self, number: int, meaning: str) -> None:
        self.number, self.meaning = number, meaning

    @staticmethod
    def of(number: int) -> "Status":
        """Return the status of a number that a device wrote."""
        return next(status for status in Status if status.number == number)


REPLACEMENTS_MAX = 3
"""Times that a solve continues from the true residual after its recurrence had converged too early."""

CHECK_EVERY = 10
"""Iterations between two tests of convergence on a GPU, unless the caller says otherwise."""

PROGRESS = 0.5
"""Factor by which the true residual must fall from one such time to the next; otherwise the solve has stagnated."""


class Info(int):
    """`info` of SciPy's solvers, with a report: 0 if converged, iterations if more are needed, < 0 after a breakdown.

    solution  the report of the solve
    """

    solution: "Solution"

    def __new__(cls, solution: "Solution") -> "Info":
        """Return the number of a solution."""
        number = {Status.CONVERGED: 0, Status.ITERATIONS_MAX: max(solution.iterations, 1)}
        info = super().__new__(cls, number.get(solution.status, -solution.status.number))
        info.solution = solution
        return info


@dataclass(frozen=True, slots=True)
class Solution:
    """Report of one solve.

    x           float64 [n], on the device of the system
    iterations  iterations made; a BiCGSTAB iteration has two SpMVs
    residual    ‖b − A·x‖₂ of the returned x, computed in twice the precision; nan if it was not computed
    bound       the norm that it had to meet: max(rtol·‖b‖₂, atol)
    residuals   norms of the recurrence, one per check; check_every: iterations between two checks
    replacements  times that the recurrence continued from the true residual
    """

    x: Any
    status: Status
    iterations: int
    residual: float
    bound: float
    residuals: Sequence[float] = ()
    check_every: int = 1
    replacements: int = 0

    @property
    def converged(self) -> bool:
        """Whether x is a solution within the tolerance."""
        return self.status is Status.CONVERGED

    def __str__(self) -> str:
        return (
            f"{self.status.meaning} after {self.iterations} iterations; ‖b − A·x‖ = {self.residual:.3g}, "
            f"tolerance {self.bound:.3g}"
        )


Apply = Callable[[Any, Any], None]
"""`(v, out)`: out := A·v or M·v on the device of the system; launches on the current stream.

float64 [n]; with several right-hand sides, a row-major block [n, k].
"""


Callback = Callable[[Any], None]
"""`(x)`: called with the current iterate; it must copy what it keeps."""


class Preconditioner(Protocol):
    """An approximate inverse M of A.

    diagonal  float64 [n] if M is diagonal, so that methods apply it in their own kernels; else None
    in_graph  whether its launches can be captured in a CUDA graph
    """

    diagonal: Any
    in_graph: bool

    def __call__(self, v: Any, out: Any) -> None:
        """Compute out := M·v."""
        ...


@dataclass(frozen=True, slots=True)
class System:
    """A square matrix, as a solver uses it.

    n              rows
    multiply       SpMV of the kernel that was chosen; with several right-hand sides, SpMM
    rows           the matrix by rows (CsrMatrix) on the same device, for the true residual
    precondition   M, or None
    """

    n: int
    multiply: Apply
    rows: Any
    precondition: Preconditioner | None = None


@dataclass(frozen=True, slots=True)
class Tolerance:
    """When a solve ends.

    bound           ‖b − A·x‖₂ ≤ bound has converged
    iterations_max  most iterations
    """

    bound: float
    iterations_max: int


def most_iterations(n: int, rtol: float, atol: float, maxiter: int | None) -> int:
    """Return the most iterations for n rows; maxiter None: 10·n.

    Raises ParameterError for tolerances and a maximum that a solve cannot have.
    """
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not 0.0 <= value < np.inf:
            raise ParameterError(f"{name} is {quote(value)}; expected a number that is at least 0.")
    most = 10 * n if maxiter is None else maxiter
    if most < 0:
        raise ParameterError(f"maxiter is {most}; expected at least 0.")
    return most


class BreakdownError(Exception):
    """Ends a recurrence on a CPU with a status; never leaves gpu_engine.solvers."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.meaning)
        self.status = status


Stop = Callable[[float], bool]
"""`(‖r‖²)`: counts an iteration and returns whether the recurrence ends before the next one."""


class HostRecurrence(Protocol):
    """A method on a CPU."""

    def __call__(self, system: System, x: np.ndarray, r: np.ndarray, stop: Stop) -> None:
        """Improve x, whose residual is r, until `stop` returns True; r is free to be overwritten.

        Raises BreakdownError; x is then the last iterate before it.
        """
        ...


class DeviceRecurrence:
    """A method on a GPU: launches on the current stream, which may be in capture."""

    def start(self) -> None:
        """Start the recurrence from x and its residual r."""
        raise NotImplementedError

    def iterate(self, parity: int) -> None:
        """Make iteration k, with parity = k mod 2."""
        raise NotImplementedError

    def cycle(self) -> None:
        """Make a cycle of iterations, if the method has cycles."""
        raise NotImplementedError

    def finish(self) -> None:
        """Update x after the iterations, if they do not."""

    def captured(self) -> None:
        """Prepare the launch of the graph that was captured last."""


@dataclass(frozen=True)
class Method:
    """A Krylov method.

    name       of the function of an operator: `A.cg`
    needs      what the matrix must be, as a phrase
    on_host    its recurrence on a CPU; on_device: (System, Workspace) → its recurrence on a GPU, in `source`
    symmetric  whether it needs A = Aᵀ
    period     iterations after which its vectors are in their places again
    cycles     whether it starts again from the true residual after each cycle: `cycle` replaces `iterate`
    restart    iterations of a cycle; 0 without cycles
    sums       sums that it has at a time
    spmvs      SpMVs per iteration
    passes     vectors that an iteration reads or writes once, with everything fused that has no barrier
    """

    name: str
    title: str
    needs: str
    on_host: HostRecurrence
    on_device: Callable[..., DeviceRecurrence]
    source: CudaSource
    symmetric: bool = False
    period: int = 1
    cycles: bool = False
    restart: int = 0
    sums: int = 1
    spmvs: int = 1
    passes: float = 0.0
