"""Solves a system with several right-hand sides on a GPU: the kernels of the loop around a recurrence."""

from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import POINTERS
from gpu_engine.solvers.base import Status, System
from gpu_engine.solvers.columns.base import ColumnMethod, ColumnSolution, ColumnTolerance, NormsCallback
from gpu_engine.solvers.columns.workspace import ColumnWorkspace
from gpu_engine.solvers.device_loop import DeviceLoop
from gpu_engine.solvers.workspace import SUMS

SOURCE = CudaSource(
    __package__,
    "outer.cu",
    (
        *(f"column_residuals<{pointer}>" for pointer in POINTERS),
        *("column_norms", "judge_columns<false>", "judge_columns<true>", "keep_best_columns", "check_columns"),
    ),
)


class ColumnSolver(DeviceLoop):
    """A method for one system and k right-hand sides on the current GPU, ready to be launched with any of them.

    check_every  most iterations between two checks
    """

    def __init__(self, method: ColumnMethod, system: System, k: int, check_every: int) -> None:
        super().__init__(system, method.even_checks(check_every), cycles=False)
        self._restarts = method.cycles
        self._work = ColumnWorkspace(system.n, k, self._xp, max(SUMS, method.sums))
        self._recurrence = method.on_device(system, self._work)
        # A module cannot be loaded during a capture, so every kernel is launched once without effect.
        self._work.begin(np.full(k, np.inf), 0)
        self._judge(0, 0)
        self._recurrence.start()
        self._repeat()
        self._recurrence.finish()

    def solve(
        self, b: Any, x: Any, tolerance: ColumnTolerance, callback: NormsCallback | None = None
    ) -> ColumnSolution:
        """Solve A·X = B from the start X, which is overwritten; waits for the current stream.

        callback  called with the norms of the recurrences after every check; the host then launches each part itself
        """
        work = self._work
        work.b[...], work.x[...] = b, x
        work.begin(tolerance.bounds, tolerance.iterations_max)
        self._run(callback)
        state, checks = work.read(), min(int(self._read()["checks"]), work.norms.shape[0])
        x[...] = work.x
        return ColumnSolution(
            x,
            tuple(Status.of(int(number)) for number in state["status"]),
            state["iterations"].copy(),
            state["least"].copy(),
            state["bound"].copy(),
            work.norms[:checks].get(),
            self.check_every,
            np.maximum(state["starts"].astype(np.int64) - 1, 0),
        )

    def _judge(self, outer: int, inner: int) -> None:
        work, rows = self._work, self._system.rows
        kernel = f"column_residuals<{POINTERS[rows.indptr.itemsize == 8]}>"
        judge = f"judge_columns<{str(self._restarts).lower()}>"
        arrays = rows.indptr, rows.indices, rows.values, work.x, work.b, work.r, work.partials
        work.over_rows(SOURCE, kernel, *arrays, work.state)
        work.over_columns(SOURCE, "column_norms", work.state)
        work.over_blocks(SOURCE, judge, work.state, work.columns, np.uint64(outer), np.uint64(inner))
        work.over_rows(SOURCE, "keep_best_columns", work.x, work.best, work.state)

    def _check(self, inner: int) -> None:
        work = self._work
        work.over_blocks(SOURCE, "check_columns", work.state, work.columns, work.norms, np.uint64(inner))

    def _read(self) -> Any:
        return self._work.read_all()

    def _report(self, callback: NormsCallback) -> None:
        callback(self._work.read()["norm"].copy())
