"""What the figures of the study share: how measurements are grouped."""

from collections.abc import Sequence

from gpu_engine.records import Measurement
from web.comparison import group_by_facet, without_duplicates
from web.palette import position

NO_TIME = "No kernel has a time here."
"""The summary where nothing was timed."""

Place = tuple[str, str]
"""(device, cache)."""

Groups = dict[str, list[Measurement]]
"""Matrix id → its measurements in one place, fastest first, then those without a time."""


def by_place(measurements: Sequence[Measurement]) -> dict[Place, Groups]:
    """The measurements by device and cache state, then by matrix; of a library only its best where that is there."""
    places: dict[Place, Groups] = {}
    for (matrix_id, device, cache), group in group_by_facet(measurements).items():
        places.setdefault((device, cache), {})[matrix_id] = without_duplicates(group)
    return places


def fastest_by_format(group: Sequence[Measurement]) -> dict[str, Measurement]:
    """Format → its fastest kernel with a time, in the order of FORMATS; `group` is sorted, fastest first."""
    found: dict[str, Measurement] = {}
    for m in group:
        if m.median_s:
            found.setdefault(m.format, m)
    return {name: found[name] for name in sorted(found, key=position)}


def formats_of(groups: Groups) -> list[str]:
    """The formats with a time on any of these matrices, in the order of FORMATS."""
    return sorted({m.format for group in groups.values() for m in group if m.median_s}, key=position)


def in_words(place: Place) -> str:
    """`cpu, warm`."""
    return ", ".join(place)
