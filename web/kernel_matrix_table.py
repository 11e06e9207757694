"""Kernel–matrix tables: the findings of a device and cache state with one row per matrix, one column per kernel."""

from collections.abc import Sequence
from functools import partial

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.findings.overall_ranking import OverallRanking
from gpu_engine.text import units
from gpu_engine.text.axes import axis_text
from gpu_engine.text.tables import Head, Table
from web import sorting
from web.components import TitledTable

DEFAULT = "sigma"
"""Default sort key of the matrices."""


Columns = Sequence[tuple[OverallRanking, Sequence[str]]]
"""Overall rankings, each with the labels of its kernels that are columns."""


def kernel_matrix_tables(findings: Sequence[Finding], data: StudyData, columns: Columns) -> tuple[TitledTable, ...]:
    """Return tables of slowdowns, one per device, cache state, and parameters.

    Noisy timings do not count. The last row has the mean slowdowns of an overall ranking, if the table has all of its
    comparison groups.

    data  features of the matrices, and the sort key
    """
    groups: dict[str, list[Finding]] = {}
    for finding in sorting.arranged(findings, data.sort or DEFAULT, partial(_value, data)):
        axes = (axis_text(name, value) for name, value in finding.axes.items())
        groups.setdefault(" · ".join((finding.device, finding.cache, *axes)), []).append(finding)
    return tuple(_titled(setting, group, columns) for setting, group in groups.items())


def _titled(setting: str, findings: Sequence[Finding], columns: Columns) -> TitledTable:
    here = [(answer, names) for answer, names in columns if _is_of(answer, findings[0])]
    every = list(dict.fromkeys(row.label for finding in findings for row in finding.rows))
    labels = [label for _, names in here for label in names if label in every] or every
    rows = [(finding.title, *_cells(finding, labels)) for finding in findings]
    complete = [answer for answer, _ in here if answer.standings and _number(answer) == len(findings)]
    means = [row for answer in complete for row in _means(answer, labels)]
    rows += means
    busy = sum(not finding.leaders and any(_times(finding)) for finding in findings)
    heading = (
        f"Slowdown against the fastest kernel · {setting}",
        f"{len(labels)} of {len(every)} kernels" if len(labels) < len(every) else "",
        f"too noisy: {busy} of {len(findings)}" if busy else "",
    )
    heads = (Head("matrix", numeric=False), Head("fastest", "µs"), *map(Head, labels))
    leading = frozenset(
        (row, column)
        for row, finding in enumerate(findings)
        for column, label in enumerate(labels, start=2)
        if label in finding.leaders
    )
    keys = ("device", findings[0].device), ("cache", findings[0].cache)
    return TitledTable(" · ".join(filter(None, heading)), Table(heads, tuple(rows)), leading, keys, len(means))


def _is_of(answer: OverallRanking, finding: Finding) -> bool:
    """Return whether the overall ranking covers such findings."""
    setting = finding.device, finding.cache
    return (answer.device, answer.cache) == setting and finding.of in (None, answer.of)


def _number(answer: OverallRanking) -> int:
    return answer.contests + answer.busy + answer.empty


def _means(answer: OverallRanking, labels: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the row of the means with the number of rows that count; and those of each kernel if they differ."""
    known = {standing.label: standing for standing in answer.standings}
    counts = {label: answer.contests - standing.absent for label, standing in known.items() if label in labels}
    means = (f"{known[label].mean:.2f}" if label in known else units.MISSING for label in labels)
    rows = [(f"geometric mean of {answer.contests}", units.MISSING, *means)]
    if len({*counts.values()}) > 1:
        cells = (units.count(counts[label]) if label in counts else units.MISSING for label in labels)
        rows.append((f"{answer.what} counted", units.MISSING, *cells))
    return rows


def _value(data: StudyData, finding: Finding, key: str) -> float | None:
    """Return the sort value of a finding: a key of web/sorting.py, or the slowdown of a kernel."""
    if key == "best":
        return max((row.ratio for row in finding.rows if row.ratio), default=None)
    times = {row.label: row.measurement.median_s for row in finding.rows if row.measurement.median_s}
    time_s = times.get(key)
    return (
        time_s / min(filter(None, times.values())) if time_s else sorting.feature(data.matrix(finding.matrix_id), key)
    )


def _times(finding: Finding) -> dict[str, float]:
    """Return the median times by label, in seconds."""
    rows = (row for row in finding.rows if row.measurement.state == "ok")
    return {row.label: row.measurement.median_s for row in rows if row.measurement.median_s}


def _cells(finding: Finding, labels: Sequence[str]) -> tuple[str, ...]:
    times = _times(finding) if finding.leaders else {}
    fastest = min(times.values(), default=None)
    ratios = (times[label] / fastest if fastest and label in times else None for label in labels)
    return (
        units.number(fastest and 1e6 * fastest, 4),
        *(units.MISSING if ratio is None else f"{ratio:.2f}" for ratio in ratios),
    )
