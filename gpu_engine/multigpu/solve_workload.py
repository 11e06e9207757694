"""Workload solve: iterations of CG on a symmetric positive definite matrix."""

from collections.abc import Sequence
from typing import Any

from gpu_engine.errors import KernelError, ParameterError
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.sampler import Sampler
from gpu_engine.multigpu.solve import SharedSolve
from gpu_engine.multigpu.solve_run import CHECK_EVERY, SolveRun
from gpu_engine.multigpu.workload import Clock, Setting, WorkloadData
from gpu_engine.solvers import symmetry
from gpu_engine.solvers.base import Status

RTOL, ITERATIONS_MAX = 1e-8, 10_000
"""Relative tolerance, and most iterations, of the solve that is verified."""

PASSES = 13
"""Vectors that an iteration reads or writes: 9 in the update, 2 in the SpMV, 2 in the sum."""


class SolveIterations:
    """Workload solve: a complete solve is verified, then its iterations are timed from x = 0 on."""

    def __init__(self, data: WorkloadData, setting: Setting, devices: Sequence[Device], clock: Clock) -> None:
        """Raise ParameterError if the matrix is not square and symmetric."""
        self._solve = SharedSolve(data.matrix, devices, setting.exchange, setting.overlap)
        symmetry.check(data.matrix)
        self._data = data
        self._sampler = Sampler(
            self._solve.synchronize, clock, CHECK_EVERY, before=lambda: self._solve.begin(data.reference.y)
        )
        self._fields: dict[str, Any] = {
            "nonzeros_by_device": tuple(span.entries for span in self._solve.spans),
            "stored_bytes": self._solve.stored_bytes,
            "exchanged_bytes": self._solve.exchanged_bytes,
        }
        self.moved_bytes: float = moved_bytes(self._solve.stored_bytes, data.matrix.n_rows)

    def check(self) -> None:
        """Solve, and record iterations and residual; raise ParameterError if CG cannot solve the system."""
        self._fields |= verified(self._solve, self._data)
        self._sampler.calibrate(self._solve.advance)

    def turn(self) -> float:
        """Return the seconds of an iteration."""
        return self._sampler.turn(self._solve.advance)

    def fields(self) -> dict[str, Any]:
        """Return the fields of the record; there are no phases."""
        return self._fields


def moved_bytes(stored_bytes: int, n_rows: int) -> float:
    """Return the least bytes of an iteration on all devices."""
    return stored_bytes + 8.0 * PASSES * n_rows


def verified(solve: SolveRun, data: WorkloadData) -> dict[str, Any]:
    """Solve for the y of the reference, and return iterations and residual.

    Raises ParameterError if CG cannot solve the system, and KernelError without a solution for another reason.
    """
    solution = solve.solve(data.reference.y, RTOL, ITERATIONS_MAX)
    if solution.status in (Status.INDEFINITE, Status.ITERATIONS_MAX):
        raise ParameterError(f"CG does not solve this system: {solution}. Choose a symmetric positive definite matrix.")
    if not solution.converged:
        raise KernelError(f"CG ended without a solution: {solution}.")
    norm = solution.bound / RTOL
    return {"iterations": solution.iterations, "residual": solution.residual / norm if norm else 0.0}
