"""Effort: how much is sampled, and the parameters of studies that say so."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from gpu_engine.records import Cache, DeviceInfo
from gpu_engine.verdicts.verdict import FEWEST

Sampling = Literal["adaptive", "fixed"]
Energy = Literal["fastest", "all"]

SHARE = {"adaptive": 0.6, "fixed": 1.0}
"""The share of all turns that are expected to be taken."""


FLUSH_RATE = 1.5e10
"""Bytes/s that two cores read and write when they rewrite a cache."""

MATRIX_S = 40.0
"""Seconds of rounds of a matrix, where `adaptive` is chosen and no budget: so that a job ends while one looks."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is sampled of what is sampled together.

    sampling      `fixed`: everything takes part in all rounds; `adaptive`: only what has an open verdict does
    time_limit_s      seconds of rounds after which no other one begins; 0: no limit
    energy        of which warm cases it is measured: those that lead, or all
    experiment_s  seconds that all rounds of an experiment share, each group equally; 0: no limit
    """

    sampling: Sampling = "fixed"
    time_limit_s: float = 0.0
    energy: Energy = "all"
    experiment_s: float = 0.0

    @classmethod
    def of(cls, params: Any, experiments: float = 1) -> "Effort":
        """What the parameters of a study say; one that measures no energy has none to choose.

        experiments  of each matrix, which share MATRIX_S
        """
        shared = params.sampling == "adaptive" and not params.time_limit_s
        energy: Energy = getattr(params, "energy", "all")
        return cls(params.sampling, params.time_limit_s, energy, MATRIX_S / max(experiments, 1) if shared else 0.0)

    def expected_s(self, round_s: float, rounds: float, groups: int = 1) -> float:
        """Seconds of at most so many rounds of an experiment, each of `round_s` in so many groups; FEWEST are made."""
        limit_s = self.experiment_s or groups * self.time_limit_s or math.inf
        return min(rounds * round_s, max(limit_s, FEWEST * round_s))

    def share(self, spent_s: float, groups: int) -> "Effort":
        """Return the effort of the next group: an equal share of the seconds left, over the groups left."""
        if not self.experiment_s:
            return self
        return replace(self, time_limit_s=max(self.experiment_s - spent_s, SHORTEST_S) / groups)


def turn_s(device: DeviceInfo, cache: Cache) -> float:
    """Seconds of a turn beside the products in it: a cold one on a CPU rewrites twice its cache."""
    if device.backend == "cuda":
        return 0.007
    return 0.015 + (4 * device.cache_bytes / FLUSH_RATE if cache == "cold" else 0.0)


FULL = Effort()

SHORTEST_S = 1e-3
"""A budget of 0 would be no limit."""

SAMPLING: tuple[Sampling, str] = (
    "adaptive",
    "Rounds only for what has an open verdict, or full: all rounds for everything.",
)
"""Default and description of the parameter that says so; the others' as well."""

BUDGET_S = (
    0.0,
    "Seconds of rounds, of what is sampled together, that are enough; 0: 40 for a matrix if sampling is adaptive, else "
    "no limit.",
)

ENERGY: tuple[Energy, str] = (
    "fastest",
    "Whose energy is measured: that of the fastest and what may be as fast, or of all.",
)
