"""Sampler: times iterations that stay on the devices, repeated so that the cost of the host's clock does not count."""

import statistics
from collections.abc import Callable

from gpu_engine.multigpu.workload import Clock

SAMPLE_S = 0.02
"""Seconds for which a sample repeats an SpMV or iteration on the devices."""

REPEATS_MAX = 100
"""Maximum iterations per sample, few enough that x, which is reset before each sample, rarely overflows or vanishes."""

SAMPLES = 3
"""Samples per turn, whose median counts."""

Launch = Callable[[int], None]
"""Function that launches an act the given number of times."""


def repeats(seconds: float, batch: int) -> int:
    """Return the repetitions of a sample from the seconds of one: 1 or complete batches.

    Less than a batch would be launched one by one, so that the time of the host would count.
    """
    fit = SAMPLE_S / max(seconds, 1e-7)
    return max(min(round(fit / batch), REPEATS_MAX // batch), 1) * batch if fit > 1 else 1


class Sampler:
    """Timer for acts of a matrix that stays on the devices."""

    def __init__(
        self, synchronize: Callable[[], None], clock: Clock, batch: int, before: Callable[[], None] | None = None
    ) -> None:
        """Register what waits for all launched work, and what resets the vectors before each sample.

        batch  iterations that are captured together; the remainder would be launched iteration by iteration
        """
        self._synchronize, self._clock, self._before, self._batch, self._repeats = synchronize, clock, before, batch, 1

    def calibrate(self, *launches: Launch) -> None:
        """Set the repetitions per sample from the first launch, then sample every launch once to capture it."""
        # The first of all launches may compile.
        self.sample(launches[0])
        self._repeats = repeats(self.sample(launches[0]), self._batch)
        for launch in launches:
            self.sample(launch)

    def turn(self, launch: Launch) -> float:
        """Return the median of a few samples in seconds."""
        return statistics.median(self.sample(launch) for _ in range(SAMPLES))

    def sample(self, launch: Launch) -> float:
        """Return the seconds of one repetition."""
        if self._before is not None:
            self._before()
        start = self._clock()
        launch(self._repeats)
        self._synchronize()
        return (self._clock() - start) / self._repeats
