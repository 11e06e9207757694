"""Findings of the `scaling` study: one per matrix, device, and workload."""

from collections.abc import Sequence
from functools import lru_cache, partial

from gpu_engine.findings.data import FINDINGS_CACHED, StudyData
from gpu_engine.findings.finding import Finding, common_axes
from gpu_engine.findings.overall_ranking import ComparisonGroup
from gpu_engine.findings.ranking import rank
from gpu_engine.findings.scaling.cases import WORKS
from gpu_engine.findings.scaling.groups import WorkGroup, by_work, devices_in_words, leading, number_of, work_groups
from gpu_engine.findings.scaling.sentences import sentences
from gpu_engine.findings.scaling.tables import numbers, rows


@lru_cache(FINDINGS_CACHED)
def findings(data: StudyData) -> tuple[Finding, ...]:
    """Return a finding per matrix, device, and workload; each partitioning was sampled in separate rounds."""
    return tuple(_finding(groups, data) for groups in by_work(work_groups(data)))


def contests(data: StudyData) -> tuple[ComparisonGroup, ...]:
    """Return a comparison group per matrix, workload, and partitioning, on the chosen or most devices."""
    return tuple(_contest(group, number_of(group, data), data) for group in work_groups(data))


def _contest(group: WorkGroup, devices: int, data: StudyData) -> ComparisonGroup:
    entrants = {
        series.label: m
        for series in group.series
        for m in series.measurements
        if not series.competitor and m.details.devices == devices
    }
    cases = {m.case: label for label, m in entrants.items()}
    base = group.baseline(devices)
    part = f"{WORKS[group.work]}, {group.partitioning}, {devices_in_words(devices, group.virtual)}"
    return ComparisonGroup(
        data.matrix(group.matrix_id).name,
        group.device,
        group.cache,
        entrants,
        group.ranking(devices),
        cases.get(base[1].case, "") if base else "",
        part,
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
