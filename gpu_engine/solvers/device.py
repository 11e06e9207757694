"""Solves a system on a GPU: the kernels of the loop around the recurrence of a method."""

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import POINTERS, lanes_for
from gpu_engine.solvers.base import Callback, Method, Solution, Status, System, Tolerance
from gpu_engine.solvers.device_loop import DeviceLoop
from gpu_engine.solvers.outer import LANES, SOURCE
from gpu_engine.solvers.workspace import SUMS, Workspace

CHECKS_MAX = 2**16
"""Most checks whose norm is kept."""


class DeviceSolver(DeviceLoop):
    """A method for one system on the current GPU, ready to be launched with any right-hand side.

    check_every  iterations between two checks; rounded up to a multiple of the method's period
    """

    def __init__(self, method: Method, system: System, check_every: int) -> None:
        super().__init__(system, -(-check_every // method.period) * method.period, method.cycles)
        self._work = Workspace(system.n, self._xp, CHECKS_MAX, max(SUMS, method.sums))
        self._recurrence = method.on_device(system, self._work)
        self._residual = self._bind_residual()
        self._warm_up()

    def solve(self, b: Any, x: Any, tolerance: Tolerance, callback: Callback | None = None) -> Solution:
        """Solve A·x = b from the start vector x, which is overwritten; waits for the current stream.

        callback  called with the iterate after every check; the host then launches each part itself
        """
        work = self._work
        work.b[...], work.x[...] = b, x
        work.begin(tolerance.bound, tolerance.iterations_max)
        self._run(callback)
        solution = self.solution(x)
        x[...] = work.x
        return solution

    def enqueue(self, b: Any, x: Any, tolerance: tuple[float, float], iterations_max: int) -> None:
        """Launch a solve on the current stream, which may be in capture, and do not wait; `solution` reports it.

        x          start vector, which the solution overwrites
        tolerance  rtol and atol; the GPU computes the bound
        Raises ParameterError for a preconditioner that the host calls, and for a driver without conditional nodes.
        """
        if not (self._in_graph and self._conditional.supported()):
            raise ParameterError(
                "This solve cannot be part of a CUDA graph. Use a preconditioner of Sparsight, a sparse matrix, or an "
                "operator as M, and a driver for CUDA 12.4 or newer."
            )
        work = self._work
        work.b[...], work.x[...] = b, x
        work.over_rows(SOURCE, "square_right", work.b, work.partials)
        numbers = map(np.float64, tolerance), map(np.int64, (iterations_max, CHECKS_MAX))
        work.over_blocks(SOURCE, "begin_solve", np.int32(work.blocks), work.partials, work.state, *chain(*numbers))
        if self._conditional.is_capturing():
            self.launch()
        else:
            self._whole().launch()
        x[...] = work.x

    def solution(self, x: Any) -> Solution:
        """Wait for the current stream, and return the report of the last solve, whose solution is in x."""
        work = self._work
        state = work.read()
        checks = min(int(state["checks"]), CHECKS_MAX)
        return Solution(
            x,
            Status.of(int(state["status"])),
            int(state["iterations"]),
            float(state["least"]),
            float(state["bound"]),
            work.norms[:checks].get().tolist(),
            self.check_every,
            max(int(state["replacements"]) - 1, 0),
        )

    def _judge(self, outer: int, inner: int) -> None:
        work = self._work
        self._residual()
        handles = np.uint64(outer), np.uint64(inner)
        kernel = f"judge<{str(self._cycles).lower()}>"
        work.over_blocks(SOURCE, kernel, np.int32(work.blocks), work.partials, work.state, *handles)
        work.over_rows(SOURCE, "keep_best", work.x, work.best, work.state)

    def _check(self, inner: int) -> None:
        work = self._work
        count = np.int32(work.blocks)
        work.over_blocks(SOURCE, "check", count, work.partials, work.state, work.norms, np.uint64(inner))

    def _read(self) -> Any:
        return self._work.read()

    def _report(self, callback: Callback) -> None:
        callback(self._work.x)

    def _bind_residual(self) -> Callable[[], None]:
        """Return the launch of r := b − A·x."""
        work, rows = self._work, self._system.rows
        mean = lanes_for(rows.nnz, rows.n_rows)
        lanes = next(lanes for lanes in reversed(LANES) if lanes <= mean or lanes == LANES[0])
        kernel = f"true_residual<{POINTERS[rows.indptr.itemsize == 8]}, {lanes}>"
        arrays = rows.indptr, rows.indices, rows.values, work.x, work.b, work.r, work.partials
        return lambda: work.over_rows(SOURCE, kernel, *arrays)

    def _warm_up(self) -> None:
        """Launch every kernel once without effect, because a module cannot be loaded during a capture."""
        work = self._work
        work.over_rows(SOURCE, "square_right", work.b, work.partials)
        zeros = np.float64(0), np.float64(0), np.int64(0), np.int64(0)
        work.over_blocks(SOURCE, "begin_solve", np.int32(work.blocks), work.partials, work.state, *zeros)
        work.begin(np.inf, 0)
        self._judge(0, 0)
        self._recurrence.start()
        self._repeat()
