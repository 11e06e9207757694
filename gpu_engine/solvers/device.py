"""Solves a system on a GPU: one CUDA graph of the recurrence of a method and of the true residual around it.

The graph is a loop whose body computes the true residual, ends the solve or starts the recurrence, and runs it in
another loop of `check_every` iterations and one check. Iterations after the last one change nothing, so that x does not
depend on check_every. Nothing is allocated, and the host reads the state once, at the end.
"""

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import POINTERS, lanes_for
from gpu_engine.solvers.base import Callback, Method, Solution, Status, System, Tolerance
from gpu_engine.solvers.outer import LANES, SOURCE
from gpu_engine.solvers.workspace import SUMS, Workspace

CHECKS_MAX = 2**16
"""Most checks whose norm is kept."""


class DeviceSolver:
    """A method for one system on the current GPU, ready to be launched with any right-hand side.

    check_every  iterations between two checks; rounded up to a multiple of the method's period
    """

    def __init__(self, method: Method, system: System, check_every: int) -> None:
        import cupy

        # This module imports CuPy.
        from gpu_engine.cuda import conditional

        self._method, self._system, self._xp, self._conditional = method, system, cupy, conditional
        self.check_every = -(-check_every // method.period) * method.period
        self._work = Workspace(system.n, cupy, CHECKS_MAX, max(SUMS, method.sums))
        self._recurrence = method.on_device(system, self._work)
        self._residual = self._bind_residual()
        self._graph = self._part = None
        self._in_graph = system.precondition is None or system.precondition.in_graph
        self._warm_up()

    def solve(self, b: Any, x: Any, tolerance: Tolerance, callback: Callback | None = None) -> Solution:
        """Solve A·x = b from the start vector x, which is overwritten; waits for the current stream.

        callback  called with the iterate after every check; the host then launches each part itself
        """
        work = self._work
        work.b[...], work.x[...] = b, x
        work.begin(tolerance.bound, tolerance.iterations_max)
        if callback is None and self._in_graph and self._conditional.supported():
            self._whole().launch()
        else:
            self._launch_by_parts(callback)
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

    def launch(self) -> None:
        """Launch the solve of `b` from `x` on the current stream, which must be in capture."""
        outer = self._conditional.new_handle(1)
        with self._conditional.while_true(outer):
            inner = 0 if self._method.cycles else self._conditional.new_handle(0)
            self._judge(outer, inner)
            self._recurrence.start()
            if self._method.cycles:
                self._recurrence.cycle()
                return
            with self._conditional.while_true(inner):
                self._iterations(inner)

    def _iterations(self, inner: int) -> None:
        for iteration in range(self.check_every):
            self._recurrence.iterate(iteration % 2)
        self._check(inner)

    def _launch_by_parts(self, callback: Callback | None) -> None:
        """Run the solve with the decisions of the host, which are those of the GPU."""
        work = self._work
        while True:
            self._judge(0, 0)
            if not work.read()["active"]:
                return
            self._recurrence.start()
            continues = True
            while continues:
                if self._in_graph:
                    self._repeated().launch()
                else:
                    self._repeat()
                continues = bool(work.read()["continues"]) and not self._method.cycles
                if callback is not None:
                    callback(work.x)

    def _judge(self, outer: int, inner: int) -> None:
        work = self._work
        self._residual()
        handles = np.uint64(outer), np.uint64(inner)
        kernel = f"judge<{str(self._method.cycles).lower()}>"
        work.over_blocks(SOURCE, kernel, np.int32(work.blocks), work.partials, work.state, *handles)
        work.over_rows(SOURCE, "keep_best", work.x, work.best, work.state)

    def _check(self, inner: int) -> None:
        work = self._work
        count = np.int32(work.blocks)
        work.over_blocks(SOURCE, "check", count, work.partials, work.state, work.norms, np.uint64(inner))

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

    def _repeat(self) -> None:
        """Launch what the host repeats: a cycle, or iterations and a check."""
        if self._method.cycles:
            self._recurrence.cycle()
        else:
            self._iterations(0)

    def _whole(self) -> Any:
        """Return the CUDA graph of a solve."""
        if self._graph is None:
            self._graph = self._captured(self.launch)
        return self._graph

    def _repeated(self) -> Any:
        """Return the CUDA graph of what the host repeats."""
        if self._part is None:
            self._part = self._captured(self._repeat)
        return self._part

    def _captured(self, launches: Callable[[], None]) -> Any:
        """Return the CUDA graph of launches, captured on a stream of its own."""
        outer = self._xp.cuda.get_current_stream()
        stream = self._xp.cuda.Stream(non_blocking=True)
        # `with stream` would not restore an outer stream that was made current by `use`.
        stream.use()
        try:
            stream.begin_capture()
            launches()
            graph = stream.end_capture()
        finally:
            outer.use()
        self._recurrence.captured()
        return graph
