"""TimingChecks: seconds of calls that no record counts, and what they say of those that it does."""

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from gpu_engine.errors import KernelError
from gpu_engine.records import Cache
from gpu_engine.text import units

LEEWAY = 1.5
"""So many times longer a call may take than it should."""

QUARTER = 0.25
"""Of watched calls the lower quartile counts, of the rounds the median: what others do to a machine makes calls longer,
never shorter. Whoever leaves out a quarter of the calls is found by one that is checked.
"""

SLACK_S = {"cpu": 3e-6, "cuda": 8e-6}
"""What watching adds to a call: on a CPU by Python, on a GPU by the two small nodes of a graph that change x and y."""

PAUSES_S = (0.0, 0.02, 0.04, 0.08, 0.16, 0.32, 0.5, 0.5, 0.5, 0.5)
"""Seconds before each further audit, as long as those so far speak against a custom kernel: another process may have taken
the cores just after the rounds, and is often gone a second later; a custom kernel that lies is as slow then.
"""


def _lists() -> "dict[Cache, list[float]]":
    return defaultdict(list)


@dataclass(frozen=True)
class TimingChecks:
    """Seconds in each cache state.

    claimed  of the turns that the record counts
    watched  of calls like those, by the referee's clock; of a graph, of turns by the stopwatch
    changed  the same where x changed before each call
    """

    backend: str
    claimed: dict[Cache, list[float]] = field(default_factory=_lists)
    watched: dict[Cache, list[float]] = field(default_factory=_lists)
    changed: dict[Cache, list[float]] = field(default_factory=_lists)

    def judge(self, audit: Callable[[Cache], None]) -> None:
        """Raises KernelError where what was watched contradicts what was claimed; audit: makes another one."""
        for cache in tuple(self.claimed):
            for pause_s in PAUSES_S:
                if not self._against(cache):
                    break
                time.sleep(pause_s)
                audit(cache)
            found = self._against(cache)
            if found:
                raise KernelError(f"refused: {found} ({cache})")

    def _against(self, cache: Cache) -> str:
        """What speaks against it, in words; empty where nothing does."""
        claimed = statistics.median(self.claimed[cache])
        watched, changed = _quarter(self.watched[cache]), _quarter(self.changed[cache])
        if self._is_longer(watched, claimed):
            return _said(watched, "by the referee's clock", claimed, "by that of the rounds")
        # What was watched just before is nearest: a machine that became busy since the rounds is as busy for both.
        if self._is_longer(changed, watched):
            return _said(changed, "where x changes before each call", watched, "where it does not")
        return ""

    def _is_longer(self, seconds: float, than: float) -> bool:
        return seconds > LEEWAY * than + SLACK_S[self.backend]


def _quarter(seconds: Sequence[float]) -> float:
    return float(np.quantile(seconds, QUARTER)) if seconds else 0.0


def _said(long: float, own: str, short: float, other: str) -> str:
    return f"a product takes {units.seconds(long)} {own}, and {units.seconds(short)} {other}"
