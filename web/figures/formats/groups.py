"""Grouping of measurements for the figures of the study."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from gpu_engine.findings.data import op_of
from gpu_engine.findings.formats.groups import OF_TRANSPOSE, baseline_of, group_by_facet, without_duplicates
from gpu_engine.findings.ranking import rank
from gpu_engine.records import TRANSPOSED, Measurement
from web.figures.highlighting import NAMED_MAX
from web.palette import position

NO_RESULTS = "No results yet."
NO_TIME = "No kernel was timed."
"""Summary if nothing was timed."""

NO_QUIET = "No usable timings: nothing was measured, or the machine was too noisy."
"""Summary of a figure that includes only matrices of the overall ranking."""

FACTOR_MAX = 4.0
"""Maximum slowdown that a mean counts; a kernel without a time counts as this."""

Place = tuple[str, str]
"""(device, cache state); transposes have the cache state `warm, Aᵀ`."""

Groups = dict[str, list[Measurement]]
"""Matrix or transpose → its measurements in one place, fastest first, then those without a time."""


@dataclass(frozen=True, slots=True)
class Rate:
    """GFLOP/s of a measurement at its median, and at both ends of its 95 % interval."""

    measurement: Measurement
    value: float
    interval: tuple[float, float]


def rate_of(m: Measurement) -> Rate:
    """Return the throughput of a measurement with its interval."""
    low, high = m.shown_ci_s
    return Rate(m, rate_within(m, m.median_s), (rate_within(m, high), rate_within(m, low)))


def rate_within(m: Measurement, time_s: float | None) -> float:
    """Return the GFLOP/s of a product that takes `time_s` seconds; without a time, the measured GFLOP/s."""
    return (m.gflops or 0.0) * (m.median_s or 0.0) / time_s if time_s else m.gflops or 0.0


def by_place(measurements: Sequence[Measurement]) -> dict[Place, Groups]:
    """Return the measurements by device and cache state, then by matrix.

    A library is reduced to its best kernel if that was measured. Transposes have their own places.
    """
    places: dict[Place, Groups] = {}
    for (subject, device, cache), group in group_by_facet(measurements).items():
        state = f"{cache}, {OF_TRANSPOSE}" if op_of(group[0]) == TRANSPOSED else cache
        places.setdefault((device, state), {})[subject] = without_duplicates(group)
    return places


def quiet(groups: Groups) -> Groups:
    """Return the matrices with a fastest kernel: the overall ranking counts no others, because they are too noisy."""
    return {matrix_id: group for matrix_id, group in groups.items() if rank(group).leaders}


def busy(groups: Groups) -> int:
    """Return how many matrices have only timings that are too noisy."""
    return sum(any(m.median_s for m in group) for group in groups.values()) - len(quiet(groups))


def left_out(matrices: int, busy: int) -> str:
    """Return `70 matrices`, or `70 matrices (3 more were too noisy)`."""
    rest = f" ({busy} more {'was' if busy == 1 else 'were'} too noisy)" if busy else ""
    return f"{matrices} {'matrix' if matrices == 1 else 'matrices'}{rest}"


def fastest_by_format(group: Sequence[Measurement]) -> dict[str, Measurement]:
    """Return format → its fastest kernel with a time, in the order of FORMATS; `group` is sorted, fastest first."""
    fastest: dict[str, Measurement] = {}
    for m in group:
        if m.median_s:
            fastest.setdefault(m.format, m)
    return {name: fastest[name] for name in sorted(fastest, key=position)}


def formats_of(groups: Groups) -> list[str]:
    """Return the formats with a time on any of these matrices, in the order of FORMATS."""
    return sorted({m.format for group in groups.values() for m in group if m.median_s}, key=position)


def place_in_words(place: Place) -> str:
    """Return `cpu, warm`."""
    return ", ".join(place)


def mean_factor(factors: Iterable[float]) -> float:
    """Return the geometric mean of slowdowns, each counted up to FACTOR_MAX."""
    return math.exp(fmean(math.log(min(factor, FACTOR_MAX)) for factor in factors))


def nearest(times: Sequence[Mapping[str, float]]) -> list[str]:
    """Return the names by mean slowdown, the smallest first; times: seconds by name, for each matrix."""
    factors = [
        {name: time / min(times_of_matrix.values()) for name, time in times_of_matrix.items()}
        for times_of_matrix in times
        if times_of_matrix
    ]
    names = dict.fromkeys(name for row in factors for name in row)
    means = {name: mean_factor(row.get(name, FACTOR_MAX) for row in factors) for name in names}
    return sorted(names, key=lambda name: (means[name], name))


def named_formats(places: Iterable[Groups], baseline: str) -> tuple[str, ...]:
    """Return the formats in color if there are many: the baseline, and the smallest mean slowdowns."""
    groups = [group for of_place in places for group in of_place.values()]
    timed = sorted((m for group in groups for m in group if m.median_s), key=lambda m: m.median_s or 0.0)
    times = [{name: m.median_s or 0.0 for name, m in fastest_by_format(group).items()} for group in groups]
    against = baseline_of(timed, baseline)
    first = [against.format] if against else []
    return tuple(dict.fromkeys([*first, *nearest(times)]))[:NAMED_MAX]
