"""TimingChecks: compares the recorded times of a custom kernel with the times of its audits."""

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
"""Factor by which a call may take longer than expected."""

QUARTER = 0.25
"""Quantile of audited calls that is compared with the median of the rounds.

Other programs make calls longer, never shorter. A kernel that skips work in more than a quarter of its calls is
detected by the verification of one of them.
"""

SLACK_S = {"cpu": 3e-6, "cuda": 8e-6}
"""Seconds that an audit adds to a call: Python on a CPU, two graph nodes that change x and y on a GPU."""

PAUSES_S = (0.0, 0.02, 0.04, 0.08, 0.16, 0.32, 0.5, 0.5, 0.5, 0.5)
"""Seconds before each further audit while the audits contradict the record.

Another process may have used the cores just after the rounds; a second later it is often gone.
"""


def _lists() -> "dict[Cache, list[float]]":
    return defaultdict(list)


@dataclass(frozen=True)
class TimingChecks:
    """Seconds per SpMV, by cache state.

    claimed  in the turns that the record counts
    watched  in the same calls by an independent clock; for a CUDA graph, in turns by the stopwatch
    changed  as `watched`, with a new x before each call
    """

    backend: str
    claimed: dict[Cache, list[float]] = field(default_factory=_lists)
    watched: dict[Cache, list[float]] = field(default_factory=_lists)
    changed: dict[Cache, list[float]] = field(default_factory=_lists)

    def verify(self, audit: Callable[[Cache], None]) -> None:
        """Raise KernelError if the audits contradict the recorded times; audit: runs one more for a cache state."""
        for cache in tuple(self.claimed):
            for pause_s in PAUSES_S:
                if not self._contradiction(cache):
                    break
                time.sleep(pause_s)
                audit(cache)
            contradiction = self._contradiction(cache)
            if contradiction:
                raise KernelError(f"rejected: {contradiction} ({cache})")

    def _contradiction(self, cache: Cache) -> str:
        """Return how the audits contradict the recorded times; empty if they do not."""
        claimed = statistics.median(self.claimed[cache])
        watched, changed = _quarter(self.watched[cache]), _quarter(self.changed[cache])
        if self._is_longer(watched, claimed):
            return _comparison(watched, "by an independent clock", claimed, "by the clock of the rounds")
        # Compared with the audit just before, because a machine that became busy since the rounds slows both.
        if self._is_longer(changed, watched):
            return _comparison(changed, "with a new x before each call", watched, "with the same x")
        return ""

    def _is_longer(self, seconds: float, than: float) -> bool:
        return seconds > LEEWAY * than + SLACK_S[self.backend]


def _quarter(seconds: Sequence[float]) -> float:
    return float(np.quantile(seconds, QUARTER)) if seconds else 0.0


def _comparison(longer_s: float, one: str, shorter_s: float, other: str) -> str:
    return f"an SpMV takes {units.seconds(longer_s)} {one}, but {units.seconds(shorter_s)} {other}"
