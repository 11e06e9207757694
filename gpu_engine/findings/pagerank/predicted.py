"""Prediction of the time of a run under another precision schedule, from the measured phases of its kernel."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import mean, median

from gpu_engine.findings.pagerank.runs import Run
from gpu_engine.pagerank.run import PHASES

PULL, NORM, *CHANGES = PHASES


def predicted_s(run: Run, alike: Iterable[Run], written: Sequence[int]) -> float | None:
    """Return the predicted seconds of a run; None if one of its iterations was never measured.

    The phases of a run are timed separately, so their sum differs from its time; the prediction is scaled by the
    ratio of the two in the run.

    run      measured run of the kernel; alike: runs of the same kernel under any schedule
    written  number of segments that each iteration writes
    """
    candidates = [each for each in alike if each.measurement.kernel == run.measurement.kernel and each.array("pull_s")]
    phases_s, median_s = sum(sum(run.array(f"{phase}_s")) for phase in PHASES), run.measurement.median_s
    pulls, norms = _medians(candidates, "read", PULL), _medians(candidates, "written", NORM)
    reads = [*written[:1], *written[:-1]]
    if not (phases_s and median_s and written and {*reads} <= pulls.keys() and {*written} <= norms.keys()):
        return None
    rises = sum(before != after for before, after in pairwise(written))
    change_s = mean([_change_s(each) for each in candidates])
    total_s = sum(pulls[read] + norms[write] for read, write in zip(reads, written, strict=True))
    return (total_s + rises * change_s) * median_s / phases_s


def _medians(runs: Iterable[Run], by: str, phase: str) -> dict[int, float]:
    """Return the median seconds of a phase by the number of segments that its iteration reads or writes."""
    times: dict[int, list[float]] = {}
    for run in runs:
        for segments, seconds in zip(run.array(by), run.array(f"{phase}_s"), strict=False):
            times.setdefault(int(segments), []).append(seconds)
    return {segments: median(seconds) for segments, seconds in times.items()}


def _change_s(run: Run) -> float:
    """Return the mean seconds of a change of precision; 0 for a run without changes."""
    written = run.array("written")
    rises = sum(before != after for before, after in pairwise(written))
    return sum(sum(run.array(f"{phase}_s")) for phase in CHANGES) / rises if rises else 0.0
