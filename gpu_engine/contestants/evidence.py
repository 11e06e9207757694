"""Evidence: seconds of a contestant that the record does not count, and what they say of those that it does."""

import statistics
from collections import defaultdict
from dataclasses import dataclass, field

from gpu_engine.errors import KernelError
from gpu_engine.findings import units
from gpu_engine.records import Cache

LEEWAY = 1.5
"""So many times longer a call may take under watch: the shortest of all watched turns against the median of the others.

Of a turn on a host it is the median of its calls, which others on the machine change less than their mean.
"""

SLACK_S = {"cpu": 3e-6, "cuda": 8e-6}
"""What watching adds to a call: on a CPU by Python, on a GPU by the two small nodes of a graph that change x and y."""


def _lists() -> "dict[Cache, list[float]]":
    return defaultdict(list)


@dataclass(frozen=True)
class Evidence:
    """Seconds of a call, turn by turn, in each cache state.

    claimed  as the record has them
    watched  in turns like those, by the referee's clock; of a graph there are none
    changed  where x changed before each call
    """

    backend: str
    claimed: dict[Cache, list[float]] = field(default_factory=_lists)
    watched: dict[Cache, list[float]] = field(default_factory=_lists)
    changed: dict[Cache, list[float]] = field(default_factory=_lists)

    def judge(self) -> None:
        """Raises KernelError where what was watched contradicts what was claimed."""
        for cache in self.claimed:
            self._compare(cache, self.watched[cache], "by the referee's clock", "by that of the rounds")
            self._compare(cache, self.changed[cache], "where x changes before each call", "where it does not")

    def _compare(self, cache: Cache, seconds: list[float], own: str, other: str) -> None:
        claimed, watched = statistics.median(self.claimed[cache]), min(seconds, default=0.0)
        if watched > LEEWAY * claimed + SLACK_S[self.backend]:
            times = f"{units.seconds(watched)} {own}, and {units.seconds(claimed)} {other}"
            raise KernelError(f"refused: a product takes {times} ({cache})")
