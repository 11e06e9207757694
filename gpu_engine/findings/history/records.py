"""Measurements of a case in order of time, and the changes of their environments."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gpu_engine.records import Measurement
from gpu_engine.text.units import MISSING

SOURCE = "source"
"""Key of an environment for the hash of the kernel source."""

HASH_SHOWN = 8
"""Number of digits of a hash in a sentence."""

NOT_UNDERNEATH = frozenset({"matrices"})
"""Keys of an environment that describe the case, not the environment."""


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """A measurement with a time, its job, and when it was taken (seconds since 1970)."""

    job_id: str
    measured_at: float
    measurement: Measurement

    @property
    def median_s(self) -> float:
        """Median time in seconds."""
        return self.measurement.median_s or 0.0

    @property
    def key(self) -> tuple[str, str]:
        """Unique key: (job id, case)."""
        return self.job_id, self.measurement.case


@dataclass(frozen=True, slots=True)
class Change:
    """A field of the environment that changed; `MISSING` if one of the two has no value."""

    name: str
    before: str
    after: str

    def __str__(self) -> str:
        """Return the change as text: `driver 580.1 → 590.2`."""
        if self.name == SOURCE:
            return f"kernel source {self.before[:HASH_SHOWN]} → {self.after[:HASH_SHOWN]}"
        return f"{self.name} {self.before} → {self.after}"


@dataclass(frozen=True, slots=True)
class EnvironmentChange:
    """The first measurement after a change of the environment, with the changed fields."""

    first: HistoryPoint
    changes: tuple[Change, ...]


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Change, ...]:
    """Return the fields that differ between two environments, in the order of their names."""
    names = (name for name in dict.fromkeys((*before, *after)) if name not in NOT_UNDERNEATH)
    pairs = ((name, before.get(name, MISSING), after.get(name, MISSING)) for name in names)
    return tuple(Change(*pair) for pair in pairs if pair[1] != pair[2])


def underneath(points: Sequence[HistoryPoint]) -> Iterable[EnvironmentChange]:
    """Yield the changes of the environment, the oldest first."""
    for before, after in pairwise(points):
        if fields := changes(before.measurement.environment, after.measurement.environment):
            yield EnvironmentChange(after, fields)
