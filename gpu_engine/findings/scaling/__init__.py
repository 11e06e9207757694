"""Findings of the `scaling` study: of one matrix each work that devices share."""

from collections.abc import Sequence
from functools import lru_cache

from gpu_engine.findings.data import KEPT, StudyData
from gpu_engine.findings.finding import Finding, common_axes
from gpu_engine.findings.ranking import rank
from gpu_engine.findings.scaling.cases import WORKS
from gpu_engine.findings.scaling.groups import WorkGroup, by_work, leading, work_groups
from gpu_engine.findings.scaling.sentences import sentences
from gpu_engine.findings.scaling.tables import heads, rows


@lru_cache(KEPT)
def findings(data: StudyData) -> tuple[Finding, ...]:
    """A finding per matrix, device and work; its partitionings were sampled in rounds of their own."""
    return tuple(_finding(groups, data) for groups in by_work(work_groups(data)))


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
        sentences=sentences(groups, data),
        baseline="one device",
        heads=heads(groups),
        rows=rows(groups, {m.case for m in ranking.leaders}),
        members=(first.matrix_id,),
    )
