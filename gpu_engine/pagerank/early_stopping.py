"""Early stopping: a run that is far behind another one of its graph is made to its end only where that costs little."""

import math
import statistics
from collections.abc import Callable
from itertools import pairwise

from gpu_engine.errors import ParameterError
from gpu_engine.measure.stopwatch import now
from gpu_engine.pagerank.run import Lap, Run
from gpu_engine.sampling.settling import costly_s
from gpu_engine.text import units

ITERATIONS_LEAST = 4
"""Of fewer the lower median may be one that was the first on its device."""

TOGETHER_S = 15.0
"""Seconds that all cases of a graph that are far behind may cost; each has an equal share of them."""


class Laps:
    """The iterations of a run on the clock of the host, called after each; ends the run where it is not worth its end.

    behind_s    seconds from which on a whole run is far behind
    most_s      seconds that finishing its case may cost
    iterations  that the run is expected to have
    runs        that its case takes, this one included
    """

    def __init__(self, behind_s: float, most_s: float, iterations: int, runs: int) -> None:
        self._behind_s, self._most_s, self._iterations, self._runs = behind_s, most_s, iterations, runs
        self._ends_s = [now()]

    @property
    def count(self) -> int:
        """Iterations so far."""
        return len(self._ends_s) - 1

    def whole_s(self, iterations: int) -> float:
        """Seconds of a run of so many iterations, each as long as the median of those so far."""
        return iterations * statistics.median_low(end - begin for begin, end in pairwise(self._ends_s))

    def __call__(self) -> None:
        """An iteration has ended; raises ParameterError where the run is far behind and its case costs too much."""
        self._ends_s.append(now())
        # Seldom is enough, and there are runs of many thousand iterations.
        if self.count < ITERATIONS_LEAST or self.count & (self.count - 1):
            return
        whole_s = self.whole_s(max(self._iterations, self.count))
        cost_s = self._runs * whole_s
        if whole_s > self._behind_s and cost_s > self._most_s:
            raise ParameterError(
                f"far behind: after {self.count} iterations a whole run would take {units.seconds(whole_s)}, and the "
                f"case {units.seconds(cost_s)}, more than the {units.seconds(self._most_s)} that it may cost. Choose "
                "sampling = full to measure it."
            )


class EarlyStopping:
    """Ends the runs of a graph that are costly beside the shortest so far and cost more than they may.

    stops       whether it ends any
    iterations  that a run is expected to have
    runs        that a case takes, the first one included
    """

    def __init__(self, stops: bool, iterations: int = 0, runs: int = 1) -> None:
        self._stops, self._iterations, self._runs = stops, iterations, runs
        self._shortest_s, self._left_s = math.inf, TOGETHER_S

    def run(self, iterate: Callable[[Lap], Run], most_s: float = 0.0) -> Run:
        """What iterates, called with what it calls after each iteration; raises ParameterError where that is ended.

        most_s  seconds that finishing the case may cost, as far as others have left so many; infinite: any
        """
        behind_s = costly_s(self._shortest_s) if self._stops else math.inf
        allowed_s = most_s if math.isinf(most_s) else min(most_s, max(self._left_s, 0.0))
        laps = Laps(behind_s, allowed_s, self._iterations, self._runs)
        run = iterate(laps)
        if not laps.count:
            return run
        whole_s = laps.whole_s(laps.count)
        self._shortest_s = min(self._shortest_s, whole_s)
        if whole_s > behind_s:
            self._left_s -= self._runs * whole_s
        return run
