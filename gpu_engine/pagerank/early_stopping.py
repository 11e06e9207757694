"""Early stopping: a run that is far behind another one of its graph is not made to its end."""

import math
import statistics
from collections.abc import Callable
from itertools import pairwise

from gpu_engine.errors import ParameterError
from gpu_engine.findings import units
from gpu_engine.measure.stopwatch import now
from gpu_engine.pagerank.run import Lap, Run
from gpu_engine.settling import COSTLY, costly_s

ITERATIONS_LEAST = 3
"""Of fewer the median may be one in which something was compiled."""


class Laps:
    """The iterations of a run on the clock of the host, called after each; ends the run where it is far behind.

    A run in which something was compiled would seem slow: its typical iteration counts, as often as there were any.
    """

    def __init__(self, most_s: float) -> None:
        self._most_s, self._ends_s = most_s, [now()]

    @property
    def typical_s(self) -> float:
        """Seconds of all iterations so far, each as long as the median."""
        return statistics.median(end - begin for begin, end in pairwise(self._ends_s)) * self._count

    @property
    def _count(self) -> int:
        return len(self._ends_s) - 1

    def __call__(self) -> None:
        """An iteration has ended; raises ParameterError where the run so far is longer than it may be."""
        self._ends_s.append(now())
        # The median is asked for only where it may matter: there are runs of many thousand iterations.
        if self._count < ITERATIONS_LEAST or self._ends_s[-1] - self._ends_s[0] <= self._most_s:
            return
        if self.typical_s > self._most_s:
            raise ParameterError(
                f"far behind: {self._count} of its iterations took {units.seconds(self.typical_s)}, {COSTLY:g} times "
                "as long as a whole run of another kernel here. Choose sampling = full to measure it to its end."
            )


class EarlyStopping:
    """Ends the runs of a graph that are costly beside the shortest so far, where it stops any."""

    def __init__(self, stops: bool) -> None:
        self._stops, self._shortest_s = stops, math.inf

    def run(self, iterate: Callable[[Lap], Run]) -> Run:
        """What iterates, called with what it calls after each iteration; raises ParameterError where that is ended."""
        laps = Laps(costly_s(self._shortest_s) if self._stops else math.inf)
        run = iterate(laps)
        self._shortest_s = min(self._shortest_s, laps.typical_s)
        return run
