"""What the times of both layouts allow to say."""

from functools import partial

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding, against, row_of
from gpu_engine.findings.ranking import rank
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table


def findings(data: StudyData) -> tuple[Finding, ...]:
    """A finding per matrix and device."""
    groups: dict[tuple[str, str], list[Measurement]] = {}
    for m in data.measurements:
        groups.setdefault((m.matrix_id, m.device), []).append(m)
    return tuple(_finding(*place, group, data) for place, group in groups.items())


def _finding(matrix_id: str, device: str, group: list[Measurement], data: StudyData) -> Finding:
    ranking = rank(group)
    base = next((m for m in group if m.format == "rows"), None)
    leaders = tuple(m.kernel for m in ranking.leaders)
    first = ranking.measurements[0] if ranking.measurements else None
    facts = [units.gflops(first.gflops), against(base, first) if first is not base else ""] if first else []
    said = ranking.sentence(lambda m: m.kernel, f"on {device}", facts) if first else "Nothing has a time here."
    return Finding(
        study="transpose",
        matrix_id=matrix_id,
        device=device,
        cache="warm",
        title=data.matrix(matrix_id).name,
        axes={},
        leaders=leaders,
        decided=ranking.decided,
        sentences=(said,),
        baseline=base.kernel if base else "",
        rows=tuple(row_of(m, m.kernel, m.kernel in leaders, base) for m in group),
        tabulate=partial(_numbers, group),
        members=(matrix_id,),
    )


def _numbers(group: list[Measurement]) -> Table:
    heads = Head("rate", "GFLOP/s"), Head("time", "median")
    return Table(heads, tuple((units.number(m.gflops), units.seconds(m.median_s)) for m in group))
