"""Evidence: seconds of a contestant that the record does not count, and what they say of those that it does."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from gpu_engine.errors import KernelError
from gpu_engine.findings import units
from gpu_engine.records import Cache

LEEWAY = 1.5
"""So many times longer a call may take under watch than just before; it has to in every audit for a refusal."""

SLACK_S = {"cpu": 3e-6, "cuda": 8e-6}
"""What watching adds to a call: on a CPU by Python, on a GPU by the two small nodes of a graph that change x and y."""

AGAIN = 10
"""So many audits more are made where those of the rounds speak against a contestant: a busy machine is no cheat."""


@dataclass(frozen=True, slots=True)
class Audit:
    """Seconds of a call in three turns one after the other.

    claimed  as the record has it
    watched  the same by the referee's clock; of a graph, once more by the stopwatch
    changed  where x changed before each call
    """

    claimed: float
    watched: float
    changed: float


@dataclass(frozen=True)
class Evidence:
    """The audits of a contestant in each cache state."""

    backend: str
    audits: dict[Cache, list[Audit]] = field(default_factory=lambda: defaultdict(list))

    def judge(self, again: Callable[[Cache], Audit]) -> None:
        """Raises KernelError where all audits of a cache state contradict what was claimed.

        again  makes another audit
        """
        for cache, audits in self.audits.items():
            for _ in range(AGAIN):
                if not self._against(cache):
                    break
                audits.append(again(cache))
            found = self._against(cache)
            if found:
                raise KernelError(f"refused: {found}")

    def _against(self, cache: Cache) -> str:
        """What all audits say against it, in words; empty where one does not."""
        audits = self.audits[cache]
        least = min(audits, key=lambda audit: audit.changed)
        if all(self._longer(audit.watched, audit.claimed) for audit in audits):
            own, other = "by the referee's clock", "by that of the rounds"
            return _said(least.watched, own, least.claimed, other, cache)
        if all(self._longer(audit.changed, audit.watched) for audit in audits):
            return _said(least.changed, "where x changes before each call", least.watched, "where it does not", cache)
        return ""

    def _longer(self, seconds: float, than: float) -> bool:
        return seconds > LEEWAY * than + SLACK_S[self.backend]


def _said(long: float, own: str, short: float, other: str, cache: Cache) -> str:
    return f"a product takes {units.seconds(long)} {own}, and {units.seconds(short)} {other} ({cache})"
