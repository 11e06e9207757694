"""The measurements of a case in the order of time, and what their environments say otherwise from one to the next."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gpu_engine.records import Measurement
from gpu_engine.text.units import MISSING

SOURCE = "source"
"""Of an environment: the hash of the kernel's source."""

HASH_SHOWN = 8
"""Digits of a hash in a sentence."""

NOT_UNDERNEATH = frozenset({"matrices"})
"""Names of an environment that say what was measured, not on what."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A measurement with a time, the job that took it, and when that was, in seconds since 1970."""

    job_id: str
    measured_at: float
    measurement: Measurement

    @property
    def median_s(self) -> float:
        """Its time in seconds."""
        return self.measurement.median_s or 0.0

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from all others: (job id, case)."""
        return self.job_id, self.measurement.case


@dataclass(frozen=True, slots=True)
class Change:
    """What an environment says otherwise than the one before it; `MISSING` where one of the two says nothing."""

    name: str
    before: str
    after: str

    def __str__(self) -> str:
        """`driver 580.1 → 590.2`."""
        if self.name == SOURCE:
            return f"kernel source {self.before[:HASH_SHOWN]} → {self.after[:HASH_SHOWN]}"
        return f"{self.name} {self.before} → {self.after}"


@dataclass(frozen=True, slots=True)
class Underneath:
    """The first measurement with another environment than the one before it, and what that says otherwise."""

    taken: Taken
    changes: tuple[Change, ...]


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Change, ...]:
    """What the second environment says otherwise than the first, in the order of their names."""
    names = (name for name in dict.fromkeys((*before, *after)) if name not in NOT_UNDERNEATH)
    pairs = ((name, before.get(name, MISSING), after.get(name, MISSING)) for name in names)
    return tuple(Change(*pair) for pair in pairs if pair[1] != pair[2])


def underneath(taken: Sequence[Taken]) -> Iterable[Underneath]:
    """Where what lies underneath changed, the oldest first."""
    for before, after in pairwise(taken):
        if found := changes(before.measurement.environment, after.measurement.environment):
            yield Underneath(after, found)
