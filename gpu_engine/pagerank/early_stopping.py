"""EarlyStopping: stops runs that are much slower than another run of their graph, unless finishing them is cheap."""

import math
import statistics
from collections.abc import Callable
from itertools import pairwise

from gpu_engine.errors import ParameterError
from gpu_engine.measure.stopwatch import now
from gpu_engine.pagerank.run import Lap, Run
from gpu_engine.sampling.stopping import slow_threshold_s
from gpu_engine.text import units

MIN_ITERATIONS = 4
"""Least iterations for a median; with fewer it may be the first iteration on its device."""

TOGETHER_S = 15.0
"""Seconds for all much slower cases of a graph together; each gets an equal share."""


class Laps:
    """Iteration counter of a run, called after each iteration; it stops the run if finishing it would take too long.

    behind_s    seconds from which on a complete run is much slower than the fastest one
    most_s      seconds that finishing its case may take
    iterations  expected iterations of the run
    runs        runs of its case, including this one
    """

    def __init__(self, behind_s: float, most_s: float, iterations: int, runs: int) -> None:
        self._behind_s, self._most_s, self._iterations, self._runs = behind_s, most_s, iterations, runs
        self._ends_s = [now()]

    @property
    def count(self) -> int:
        """Number of iterations so far."""
        return len(self._ends_s) - 1

    def whole_s(self, iterations: int) -> float:
        """Return the expected seconds of a run with `iterations` iterations, from the median of those so far."""
        return iterations * statistics.median_low(end - begin for begin, end in pairwise(self._ends_s))

    def __call__(self) -> None:
        """Count an iteration; raise ParameterError if the run is much slower and its case would take too long."""
        self._ends_s.append(now())
        # Not after every iteration, because runs can have many thousands of them.
        if self.count < MIN_ITERATIONS or self.count & (self.count - 1):
            return
        whole_s = self.whole_s(max(self._iterations, self.count))
        cost_s = self._runs * whole_s
        if whole_s > self._behind_s and cost_s > self._most_s:
            raise ParameterError(
                f"stopped early after {self.count} iterations: a complete run would take {units.seconds(whole_s)}, and "
                f"the case {units.seconds(cost_s)} (limit {units.seconds(self._most_s)}). Set sampling=fixed to run it "
                "to the end."
            )


class EarlyStopping:
    """Rule that stops runs of a graph that are slow compared with the shortest so far and exceed their time.

    stops       whether it stops any run
    iterations  expected iterations of a run
    runs        runs of a case, including the first one
    """

    def __init__(self, stops: bool, iterations: int = 0, runs: int = 1) -> None:
        self._stops, self._iterations, self._runs = stops, iterations, runs
        self._shortest_s, self._left_s = math.inf, TOGETHER_S

    def run(self, iterate: Callable[[Lap], Run], most_s: float = 0.0) -> Run:
        """Return the run of `iterate`, which calls its argument after each iteration; raise ParameterError if stopped.

        most_s  seconds that finishing the case may take, if earlier cases have left as many; infinite: no limit
        """
        behind_s = slow_threshold_s(self._shortest_s) if self._stops else math.inf
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
