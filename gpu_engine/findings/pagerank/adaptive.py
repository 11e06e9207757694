"""Whether fewer bits pay: the fastest run in segments of each graph beside the fastest in fp64."""

from collections import Counter
from collections.abc import Sequence
from statistics import geometric_mean

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.runs import Run, RunGroup, has_right_ranks, run_groups, speed_up
from gpu_engine.findings.units import ratio
from gpu_engine.noise import noise
from gpu_engine.verdict import compare

Pair = tuple[Run, Run]
"""The fastest run in fp64, and the fastest in segments."""


def pays(data: StudyData) -> tuple[str, ...]:
    """A sentence a device, lower triangles apart, on graphs that have runs with right ranks in fp64 and in segments.

    Graphs whose times are not plausible do not count.
    """
    pairs: dict[str, list[Pair]] = {}
    for group in run_groups(data):
        if noise([run.measurement for run in group.timed]):
            continue
        full, own = group.fastest_full, _in_segments(group, data)
        if full and own:
            pairs.setdefault(group.place, []).append((full, own))
    return tuple(_sentence(place, own) for place, own in pairs.items())


def _in_segments(group: RunGroup, data: StudyData) -> Run | None:
    """The fastest whose iterations read fewer bits as long as these do."""
    return next(
        (run for run in group.converged if run.in_fewer_bits and run.segments and has_right_ranks(run, data)), None
    )


def _sentence(place: str, pairs: Sequence[Pair]) -> str:
    said = Counter(compare(full.measurement, own.measurement).kind for full, own in pairs)
    gains = [gain for full, own in pairs if (gain := speed_up(full, own))]
    graphs = "1 graph" if len(pairs) == 1 else f"{len(pairs)} graphs"
    text = (
        f"Adaptive precision on {place}: the fastest run in segments runs at {ratio(geometric_mean(gains))} the speed "
    )
    text += (
        f"of the fastest in fp64, from {ratio(min(gains))} to {ratio(max(gains))}"
        if len(gains) > 1
        else "of the fastest in fp64"
    )
    return f"{text}: it pays on {said['faster']} of {graphs} and costs on {said['slower']}."
