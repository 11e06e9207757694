"""SamplingOptions: how many rounds are sampled, and the study parameters that choose it."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from gpu_engine.records import Cache, DeviceInfo
from gpu_engine.verdicts.verdict import MIN_ROUNDS_FOR_VERDICT

Sampling = Literal["adaptive", "fixed"]
Energy = Literal["fastest", "all"]

SHARE = {"adaptive": 0.6, "fixed": 1.0}
"""Expected share of all turns that are taken, per sampling mode."""

FLUSH_RATE = 1.5e10
"""Bytes/s that two cores read and write when they flush a cache."""

MATRIX_S = 40.0
"""Default time limit of a matrix with adaptive sampling, in seconds; short enough to wait for."""


@dataclass(frozen=True, slots=True)
class SamplingOptions:
    """Options of sampling one group of candidates.

    sampling      `fixed`: all candidates run in all rounds; `adaptive`: only those with an undecided verdict do
    time_limit_s  seconds after which no further round starts; 0: no limit
    energy        warm cases whose energy is measured: the fastest, or all
    experiment_s  seconds that all groups of an experiment share equally; 0: no limit
    """

    sampling: Sampling = "fixed"
    time_limit_s: float = 0.0
    energy: Energy = "all"
    experiment_s: float = 0.0

    @classmethod
    def of(cls, params: Any, experiments: float = 1) -> "SamplingOptions":
        """Return the options that the parameters of a study choose; energy is `all` for a study without that choice.

        experiments  number per matrix; they share MATRIX_S
        """
        shared = params.sampling == "adaptive" and not params.time_limit_s
        energy: Energy = getattr(params, "energy", "all")
        return cls(params.sampling, params.time_limit_s, energy, MATRIX_S / max(experiments, 1) if shared else 0.0)

    def expected_s(self, round_s: float, rounds: float, groups: int = 1) -> float:
        """Return the expected seconds of an experiment with at most `rounds` rounds of `round_s` seconds.

        groups  number of groups of candidates; each gets at least MIN_ROUNDS_FOR_VERDICT rounds
        """
        limit_s = self.experiment_s or groups * self.time_limit_s or math.inf
        return min(rounds * round_s, max(limit_s, MIN_ROUNDS_FOR_VERDICT * round_s))

    def share(self, spent_s: float, groups: int) -> "SamplingOptions":
        """Return the options of the next group: an equal share of the remaining seconds over the remaining groups."""
        if not self.experiment_s:
            return self
        return replace(self, time_limit_s=max(self.experiment_s - spent_s, MIN_LIMIT_S) / groups)


def turn_s(device: DeviceInfo, cache: Cache) -> float:
    """Return the overhead of a turn in seconds; a cold turn on a CPU rewrites twice the cache."""
    if device.backend == "cuda":
        return 0.009
    return 0.015 + (4 * device.cache_bytes / FLUSH_RATE if cache == "cold" else 0.0)


ALL_ROUNDS = SamplingOptions()

MIN_LIMIT_S = 1e-3
"""Shortest time limit in seconds, because 0 means no limit."""

SAMPLING: tuple[Sampling, str] = (
    "adaptive",
    "Adaptive: stop sampling a kernel once its verdicts are decided. Fixed: all rounds for every kernel.",
)
"""Default and description of the parameter `sampling`."""

TIME_LIMIT_S = (
    0.0,
    "Time limit in seconds for kernels that share rounds. 0: 40 s per matrix if sampling is adaptive, else no limit.",
)
"""Default and description of the parameter `time_limit_s`."""

ENERGY: tuple[Energy, str] = (
    "fastest",
    "Kernels whose energy is measured: the fastest and those that may be equally fast, or all.",
)
"""Default and description of the parameter `energy`."""
