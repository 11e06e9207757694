"""Findings as one table of a device and cache state: a row a matrix, a column a kernel."""

from collections.abc import Sequence
from functools import partial

from gpu_engine.findings.answer import Answer
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.text import units
from gpu_engine.text.axes import axis_text
from gpu_engine.text.tables import Head, Table
from web import sorting
from web.parts import TitledTable

DEFAULT = "sigma"
"""What matrices are sorted by where the reader has not said."""


Columns = Sequence[tuple[Answer, Sequence[str]]]
"""Answers, and which of their kernels are columns, by label."""


def pivots(findings: Sequence[Finding], data: StudyData, columns: Columns) -> tuple[TitledTable, ...]:
    """Median times over that of the fastest of the matrix, of findings that share device, cache state and axes.

    As in an answer, times that are not plausible do not count. The last row has the geometric means of an answer, where
    the table has all that it is made of.

    data  with the features of the matrices, and what the reader wants them sorted by
    """
    groups: dict[str, list[Finding]] = {}
    for finding in sorting.arranged(findings, data.sort or DEFAULT, partial(_value, data)):
        axes = (axis_text(name, value) for name, value in finding.axes.items())
        groups.setdefault(" · ".join((finding.device, finding.cache, *axes)), []).append(finding)
    return tuple(_titled(place, own, columns) for place, own in groups.items())


def _titled(place: str, findings: Sequence[Finding], columns: Columns) -> TitledTable:
    here = [(answer, own) for answer, own in columns if _is_of(answer, findings[0])]
    every = list(dict.fromkeys(row.label for finding in findings for row in finding.rows))
    labels = [label for _, own in here for label in own if label in every] or every
    rows = [(finding.title, *_cells(finding, labels)) for finding in findings]
    means = [_means(answer, labels) for answer, _ in here if answer.standings and _number(answer) == len(findings)]
    rows += means
    busy = sum(not finding.leaders and any(_times(finding)) for finding in findings)
    heading = (
        f"Time over that of the fastest kernel · {place}",
        f"{len(labels)} of {len(every)} kernels" if len(labels) < len(every) else "",
        f"machine busy on {busy} of {len(findings)}" if busy else "",
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


def _is_of(answer: Answer, finding: Finding) -> bool:
    """Whether the answer is that of findings of this kind."""
    place = finding.device, finding.cache
    return (answer.device, answer.cache) == place and finding.of in (None, answer.of)


def _number(answer: Answer) -> int:
    return answer.contests + answer.busy + answer.empty


def _means(answer: Answer, labels: Sequence[str]) -> tuple[str, ...]:
    means = {own.label: f"{own.mean:.2f}" for own in answer.standings}
    return ("geometric mean", units.MISSING, *(means.get(label, units.MISSING) for label in labels))


def _value(data: StudyData, finding: Finding, key: str) -> float | None:
    """What a finding is sorted by under a key of web/sorting.py, or the ratio of a kernel."""
    if key == "best":
        return max((row.ratio for row in finding.rows if row.ratio), default=None)
    times = {row.label: row.measurement.median_s for row in finding.rows if row.measurement.median_s}
    own = times.get(key)
    return own / min(filter(None, times.values())) if own else sorting.feature(data.matrix(finding.matrix_id), key)


def _times(finding: Finding) -> dict[str, float]:
    """Seconds by label."""
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
