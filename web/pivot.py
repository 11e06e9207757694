"""Findings as one table of a device and cache state: a row a matrix, a column a kernel."""

from collections.abc import Sequence
from functools import partial

from gpu_engine.findings import units
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.findings.tables import Head, Table
from web import sorting
from web.parts import TitledTable


def pivots(findings: Sequence[Finding], data: StudyData) -> tuple[TitledTable, ...]:
    """Median times over that of the fastest of the matrix, of findings that share device, cache state and axes.

    data  with the features of the matrices, and what the reader wants them sorted by
    """
    groups: dict[str, list[Finding]] = {}
    for finding in sorting.arranged(findings, data.sort, partial(_value, data)) if data.sort else findings:
        axes = (f"{name} {value}" for name, value in finding.axes.items())
        groups.setdefault(" · ".join((finding.device, finding.cache, *axes)), []).append(finding)
    return tuple(TitledTable(f"Time over the fastest's · {place}", _pivot(group)) for place, group in groups.items())


def _pivot(findings: Sequence[Finding]) -> Table:
    labels = tuple(dict.fromkeys(row.label for finding in findings for row in finding.rows))
    time = Head("fastest", "s")
    heads = (Head("matrix", numeric=False), time, *map(Head, labels))
    return Table(heads, tuple((finding.title, *_cells(finding, labels)) for finding in findings))


def _value(data: StudyData, finding: Finding, key: str) -> float | None:
    """What a finding is sorted by under a key of web/sorting.py, or the ratio of a kernel."""
    if key == "best":
        return max((row.ratio for row in finding.rows if row.ratio), default=None)
    times = {row.label: row.measurement.median_s for row in finding.rows if row.measurement.median_s}
    own = times.get(key)
    return own / min(filter(None, times.values())) if own else sorting.feature(data.matrix(finding.matrix_id), key)


def _cells(finding: Finding, labels: Sequence[str]) -> tuple[str, ...]:
    times = {row.label: row.measurement.median_s for row in finding.rows if row.measurement.state == "ok"}
    fastest = min((time for time in times.values() if time), default=None)
    ratios = (time / fastest if fastest and (time := times.get(label)) else None for label in labels)
    shown = units.MISSING if fastest is None else f"{fastest:.4g}"
    return (shown, *(units.MISSING if ratio is None else f"{ratio:.2f}" for ratio in ratios))
