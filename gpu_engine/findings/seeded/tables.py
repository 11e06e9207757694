"""Tables of the `seeded` study: what k seed sets cost beside one, and what a warm start saves."""

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.seeded.groups import SeededGroup, seeded_groups
from gpu_engine.findings.seeded.names import COLD, EXTRAPOLATED, WARM
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.verdicts.verdict import Verdict, verdict_text

PLACE = tuple(Head(text, numeric=False) for text in ("matrix", "device", "parameters"))

DEFAULTS = "default"
"""Parameters of PageRank that are all the default."""


def costs(data: StudyData) -> Table:
    """Return a row per graph and number of seed sets: their time, over that of one set and over one set at a time."""
    heads = (
        *PLACE,
        Head("seed sets"),
        Head("time", "all sets at once"),
        Head("time", "per set"),
        Head("time", "over one set"),
        Head("speedup", "vs one set at a time"),
        Head("iterations", "maximum"),
    )
    groups = [group for group in seeded_groups(data) if not group.is_start and group.together]
    return Table(heads, tuple(_cost(group, data) for group in groups))


def starts(data: StudyData) -> Table:
    """Return a row per graph and share of changed links: iterations of each start, and the speedup."""
    heads = (
        *PLACE,
        Head("seed sets"),
        Head("links changed"),
        Head("iterations", "cold start"),
        Head("iterations", "warm start"),
        Head("iterations", "extrapolated"),
        Head("share", "of a cold start"),
        Head("speedup", "vs cold start"),
    )
    groups = [group for group in seeded_groups(data) if group.is_start and group.timed]
    return Table(heads, tuple(_start(group, data) for group in groups))


def saved(group: SeededGroup) -> float | None:
    """Return the iterations of the warm start over those of the cold start; None without both."""
    warm, cold = _iterations(group.warm), _iterations(group.of_kernel(COLD))
    return warm / cold if warm is not None and cold else None


def verdict_cell(group: SeededGroup) -> str:
    """Return a speedup with its verdict: `1.25× (faster)`; missing if the timings are too noisy."""
    verdict: Verdict | None = None if group.ranking.busy else group.verdict
    if verdict is None or verdict.ratio is None:
        return units.MISSING
    return f"{units.ratio(verdict.ratio)} ({verdict_text(verdict.kind)})"


def _cost(group: SeededGroup, data: StudyData) -> tuple[str, ...]:
    m = group.together
    return (
        *_place(group, data),
        units.count(group.sets),
        units.seconds(m.median_s if m else None),
        units.seconds(m.details.set_s if m else None),
        units.MISSING if group.ranking.busy else units.ratio(group.cost),
        verdict_cell(group),
        units.count(_iterations(m)),
    )


def _start(group: SeededGroup, data: StudyData) -> tuple[str, ...]:
    iterations = (units.count(_iterations(group.of_kernel(kernel))) for kernel in (COLD, WARM, EXTRAPOLATED))
    return (
        *_place(group, data),
        units.count(group.sets),
        units.percent(float(group.start)),
        *iterations,
        units.percent(share) if (share := saved(group)) is not None else units.MISSING,
        verdict_cell(group),
    )


def _iterations(m: Measurement | None) -> int | None:
    count: int | None = m.details.iterations if m is not None else None
    return count


def _place(group: SeededGroup, data: StudyData) -> tuple[str, str, str]:
    """Return the cells under PLACE."""
    return data.matrix(group.matrix_id).name, group.device, group.parameters or DEFAULTS
