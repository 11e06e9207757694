"""Findings of the `scaling` study: of one matrix each work that devices share."""

from collections.abc import Sequence
from functools import lru_cache, partial

from gpu_engine.findings.answer import Contest
from gpu_engine.findings.data import KEPT, StudyData
from gpu_engine.findings.finding import Finding, common_axes
from gpu_engine.findings.ranking import rank
from gpu_engine.findings.scaling.cases import WORKS
from gpu_engine.findings.scaling.groups import WorkGroup, by_work, devices_in_words, leading, number_of, work_groups
from gpu_engine.findings.scaling.sentences import sentences
from gpu_engine.findings.scaling.tables import numbers, rows


@lru_cache(KEPT)
def findings(data: StudyData) -> tuple[Finding, ...]:
    """A finding per matrix, device and work; its partitionings were sampled in rounds of their own."""
    return tuple(_finding(groups, data) for groups in by_work(work_groups(data)))


def contests(data: StudyData) -> tuple[Contest, ...]:
    """A contest per matrix, work and partitioning: ours, with the chosen number of devices, else the most."""
    return tuple(_contest(group, number_of(group, data), data) for group in work_groups(data))


def _contest(group: WorkGroup, devices: int, data: StudyData) -> Contest:
    entrants = {
        series.label: m
        for series in group.series
        for m in series.measurements
        if not series.competitor and m.details.devices == devices
    }
    cases = {m.case: label for label, m in entrants.items()}
    base = group.baseline(devices)
    shared = f"{WORKS[group.work]}, cut as {group.partitioning}, by {devices_in_words(devices, group.virtual)}"
    return Contest(
        data.matrix(group.matrix_id).name,
        group.device,
        group.cache,
        entrants,
        group.ranking(devices),
        cases.get(base[1].case, "") if base else "",
        shared,
    )


def _finding(groups: Sequence[WorkGroup], data: StudyData) -> Finding:
    first, best = groups[0], leading(groups, data)
    ranking = best[0].ranking(best[1]) if best else rank(())
    labels = {m.case: series.label for group in groups for series in group.series for m in series.measurements}
    return Finding(
        study="scaling",
        matrix_id=first.matrix_id,
        device=first.device,
        cache=first.cache,
        title=f"{data.matrix(first.matrix_id).name}, {WORKS[first.work]}",
        axes=common_axes(m for group in groups for series in group.series for m in series.measurements),
        leaders=tuple(labels[m.case] for m in ranking.leaders),
        decided=ranking.decided,
        busy=ranking.busy,
        sentences=sentences(groups, data),
        baseline="one device",
        rows=rows(groups, {m.case for m in ranking.leaders}),
        tabulate=partial(numbers, groups),
        members=(first.matrix_id,),
    )
