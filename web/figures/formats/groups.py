"""What the figures of the study share: how measurements are grouped."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from gpu_engine.findings.formats.groups import group_by_facet, without_duplicates
from gpu_engine.records import Measurement
from web.palette import position

NO_RESULTS = "No results yet."
NO_TIME = "No kernel has a time here."
"""The summary where nothing was timed."""

Place = tuple[str, str]
"""(device, cache)."""

Groups = dict[str, list[Measurement]]
"""Matrix id → its measurements in one place, fastest first, then those without a time."""


Panel = TypeVar("Panel")


@dataclass(frozen=True, slots=True)
class Panels(Generic[Panel]):
    """The panels of a figure from the top."""

    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Rate:
    """GFLOP/s of a measurement at its median, and at both ends of its 95 % interval."""

    measurement: Measurement
    value: float
    interval: tuple[float, float]


def rate_of(m: Measurement) -> Rate:
    """The rate of a measurement."""
    return Rate(m, rate_within(m, m.median_s), (rate_within(m, m.ci_high_s), rate_within(m, m.ci_low_s)))


def rate_within(m: Measurement, time_s: float | None) -> float:
    """GFLOP/s that the product would reach in `time_s` seconds; its own rate where no time is given."""
    return (m.gflops or 0.0) * (m.median_s or 0.0) / time_s if time_s else m.gflops or 0.0


def by_place(measurements: Sequence[Measurement]) -> dict[Place, Groups]:
    """The measurements by device and cache state, then by matrix; of a library only its best where that is there."""
    places: dict[Place, Groups] = {}
    for (matrix_id, device, cache), group in group_by_facet(measurements).items():
        places.setdefault((device, cache), {})[matrix_id] = without_duplicates(group)
    return places


def fastest_by_format(group: Sequence[Measurement]) -> dict[str, Measurement]:
    """Format → its fastest kernel with a time, in the order of FORMATS; `group` is sorted, fastest first."""
    fastest: dict[str, Measurement] = {}
    for m in group:
        if m.median_s:
            fastest.setdefault(m.format, m)
    return {name: fastest[name] for name in sorted(fastest, key=position)}


def formats_of(groups: Groups) -> list[str]:
    """The formats with a time on any of these matrices, in the order of FORMATS."""
    return sorted({m.format for group in groups.values() for m in group if m.median_s}, key=position)


def place_in_words(place: Place) -> str:
    """`cpu, warm`."""
    return ", ".join(place)
