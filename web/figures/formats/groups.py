"""What the figures of the study share: how measurements are grouped."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from gpu_engine.findings.data import op_of
from gpu_engine.findings.formats.groups import OF_TRANSPOSE, baseline_of, group_by_facet, without_duplicates
from gpu_engine.findings.ranking import rank
from gpu_engine.records import TRANSPOSED, Measurement
from web.figures.emphasis import NAMED_MAX
from web.palette import position

NO_RESULTS = "No results yet."
NO_TIME = "No kernel has a time here."
"""The summary where nothing was timed."""

NO_QUIET = "No matrix here has plausible times: nothing was timed, or the machine was busy."
"""The summary of a figure of those matrices alone that an answer counts."""

FACTOR_MAX = 4.0
"""In a mean of times over that of the fastest none counts more, and what has no time as much."""

Place = tuple[str, str]
"""(device, cache); of transposes the cache state is called `warm, Aᵀ`."""

Groups = dict[str, list[Measurement]]
"""Subject, a matrix or its transpose → its measurements in one place, fastest first, then those without a time."""


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
    """The measurements by device and cache state, then by matrix; of a library only its best where that is there.

    Transposes have places of their own.
    """
    places: dict[Place, Groups] = {}
    for (subject, device, cache), group in group_by_facet(measurements).items():
        state = f"{cache}, {OF_TRANSPOSE}" if op_of(group[0]) == TRANSPOSED else cache
        places.setdefault((device, state), {})[subject] = without_duplicates(group)
    return places


def quiet(groups: Groups) -> Groups:
    """The matrices that something leads: an answer counts no others, for their times are not plausible."""
    return {matrix_id: group for matrix_id, group in groups.items() if rank(group).leaders}


def busy(groups: Groups) -> int:
    """How many matrices have times, and none that is plausible."""
    return sum(any(m.median_s for m in group) for group in groups.values()) - len(quiet(groups))


def left_out(matrices: int, busy: int) -> str:
    """`70 matrices`, or `70 matrices (3 more without plausible times)`."""
    rest = f" ({busy} more without plausible times)" if busy else ""
    return f"{matrices} matrices{rest}"


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


def mean_factor(factors: Iterable[float]) -> float:
    """The geometric mean of times over that of the fastest, none counted more than FACTOR_MAX."""
    return math.exp(fmean(math.log(min(factor, FACTOR_MAX)) for factor in factors))


def nearest(times: Sequence[Mapping[str, float]]) -> list[str]:
    """The names that are nearest to the fastest in the mean, first; times: of each matrix by name, in seconds."""
    factors = [{name: time / min(own.values()) for name, time in own.items()} for own in times if own]
    names = dict.fromkeys(name for own in factors for name in own)
    means = {name: mean_factor(own.get(name, FACTOR_MAX) for own in factors) for name in names}
    return sorted(names, key=lambda name: (means[name], name))


def named_formats(places: Iterable[Groups], baseline: str) -> tuple[str, ...]:
    """The formats in colours where many are drawn: that of the baseline, and those nearest to the fastest."""
    groups = [group for of_place in places for group in of_place.values()]
    timed = sorted((m for group in groups for m in group if m.median_s), key=lambda m: m.median_s or 0.0)
    times = [{name: m.median_s or 0.0 for name, m in fastest_by_format(group).items()} for group in groups]
    against = baseline_of(timed, baseline)
    first = [against.format] if against else []
    return tuple(dict.fromkeys([*first, *nearest(times)]))[:NAMED_MAX]
