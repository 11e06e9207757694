"""How long a run would take with other iterations: those measured of its kernel, put together anew."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import mean, median

from gpu_engine.findings.pagerank.runs import Run
from gpu_engine.pagerank.run import PHASES

PULL, SETTLE, *CHANGES = PHASES


def predicted_s(run: Run, alike: Iterable[Run], written: Sequence[int]) -> float | None:
    """Seconds of a run whose iterations write so many segments; None where one of them was never measured.

    The phases of a run were timed apart, so that their sum is not the time of the run: it is scaled as the run's own.

    run    whose time it would be; alike: runs of the same kernel under any schedule, whose iterations are known
    """
    found = [each for each in alike if each.measurement.kernel == run.measurement.kernel and each.array("pull_s")]
    own_s, median_s = sum(sum(run.array(f"{phase}_s")) for phase in PHASES), run.measurement.median_s
    products, settled = _medians(found, "read", PULL), _medians(found, "written", SETTLE)
    reads = [*written[:1], *written[:-1]]
    if not (own_s and median_s and written and {*reads} <= products.keys() and {*written} <= settled.keys()):
        return None
    rises = sum(before != after for before, after in pairwise(written))
    change_s = mean([_change_s(each) for each in found])
    total_s = sum(products[read] + settled[write] for read, write in zip(reads, written, strict=True))
    return (total_s + rises * change_s) * median_s / own_s


def _medians(runs: Iterable[Run], by: str, phase: str) -> dict[int, float]:
    """Seconds of a phase by the segments that its iteration reads, or writes."""
    times: dict[int, list[float]] = {}
    for run in runs:
        for segments, seconds in zip(run.array(by), run.array(f"{phase}_s"), strict=False):
            times.setdefault(int(segments), []).append(seconds)
    return {segments: median(own) for segments, own in times.items()}


def _change_s(run: Run) -> float:
    """Mean seconds of a change of precision; 0 where a run has none."""
    written = run.array("written")
    rises = sum(before != after for before, after in pairwise(written))
    return sum(sum(run.array(f"{phase}_s")) for phase in CHANGES) / rises if rises else 0.0
