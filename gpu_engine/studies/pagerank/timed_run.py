"""TimedRun: a PageRank run on its state, which can be repeated to take its time."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gpu_engine.measure.stopwatch import Stopwatch
from gpu_engine.pagerank.kernels import RankKernel
from gpu_engine.pagerank.run import Run, State

if TYPE_CHECKING:
    from gpu_engine.pagerank.converging import Converging


class TimedRun:
    """A run on the state that it left.

    rewind      reset of the state to e/n
    converging  the same run ending on the device; None if the steps are replayed without reading γ
    """

    def __init__(self, kernel: RankKernel, schedule: Any, ranks: State, run: Run) -> None:
        self._kernel, self._schedule = kernel, schedule
        self.ranks, self.run = ranks, run
        self.rewind: Callable[[], None] = ranks.rewinder(schedule.start_segments)
        self.converging: Converging | None = None

    def play(self) -> None:
        """Launch the run."""
        if self.converging:
            self.converging.launch()
            return
        for _, _, act in self._kernel.procedure.replayed(self.ranks, self._schedule, self.run.steps):
            act()

    def converge(self, converging: "Converging", stopwatch: Stopwatch) -> int:
        """Let the run end on the device from now on; make it once and return its iterations.

        A run that raised its precision too late is repeated with a check of every γ.
        """
        self.converging = converging
        while True:
            stopwatch.time_parts([self.play], self.rewind)
            made = sum(converging.ended())
            self.rewind = self.ranks.rewinder(self._schedule.start_segments)
            if not converging.look_always():
                return made
