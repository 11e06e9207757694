"""Findings and comparison groups of studies whose groups are one matrix and a title, such as its number of columns."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding, row_of, with_intervals
from gpu_engine.findings.overall_ranking import ComparisonGroup
from gpu_engine.findings.ranking import Ranking
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table


class TitledGroup(Protocol):
    """Comparable measurements of one matrix, device, cache state, and axes; at least one."""

    @property
    def matrix_id(self) -> str:
        """Identifier of the matrix."""
        ...

    @property
    def device(self) -> str:
        """Name of the device."""
        ...

    @property
    def title(self) -> str:
        """What tells it from the other groups of the matrix."""
        ...

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """Measurements, the fastest first, those without a time last."""
        ...

    @property
    def ranking(self) -> Ranking:
        """Ranking of the measurements."""
        ...

    @property
    def baseline(self) -> Measurement | None:
        """What the others are compared with; None without a time."""
        ...


def contest_of(group: TitledGroup, data: StudyData, label: Callable[[str], str]) -> ComparisonGroup:
    """Return the comparison group; label: kernel → its label."""
    entrants = {label(m.kernel): m for m in group.measurements}
    baseline = label(group.baseline.kernel) if group.baseline else ""
    name, cache = data.matrix(group.matrix_id).name, group.measurements[0].cache
    return ComparisonGroup(name, group.device, cache, entrants, group.ranking, baseline, group.title)


def finding_of(
    group: TitledGroup,
    data: StudyData,
    label: Callable[[str], str],
    sentences: tuple[str, ...],
    heads: tuple[Head, ...],
    cells: Callable[[Measurement], tuple[str, ...]],
) -> Finding:
    """Return the finding with a row per measurement; heads, cells: the columns of its numbers."""
    ranking, base, first = group.ranking, group.baseline, group.measurements[0]
    leading = {m.case for m in ranking.leaders}
    return Finding(
        study=first.study,
        matrix_id=group.matrix_id,
        device=group.device,
        cache=first.cache,
        title=f"{data.matrix(group.matrix_id).name}, {group.title}",
        axes=dict(first.axes),
        leaders=tuple(label(m.kernel) for m in ranking.leaders),
        decided=ranking.decided,
        busy=ranking.busy,
        sentences=sentences,
        baseline=label(base.kernel) if base else "",
        rows=tuple(row_of(m, label(m.kernel), m.case in leading, base) for m in group.measurements),
        tabulate=partial(_numbers, heads, cells, group.measurements),
        members=(group.matrix_id,),
        of=group.title,
    )


def _numbers(
    heads: tuple[Head, ...], cells: Callable[[Measurement], tuple[str, ...]], measurements: Sequence[Measurement]
) -> Table:
    return with_intervals(Table(heads, tuple(map(cells, measurements))), measurements)
