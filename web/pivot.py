"""Findings as one table of a device and cache state: a row a matrix, a column a kernel."""

from collections.abc import Collection, Sequence
from functools import partial

from gpu_engine.findings import units
from gpu_engine.findings.answer import Answer
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.findings.tables import Head, Table
from web import sorting
from web.parts import TitledTable

DEFAULT = "sigma"
"""What matrices are sorted by where the reader has not said."""


def pivots(
    findings: Sequence[Finding], data: StudyData, answers: Sequence[Answer] = (), labels: Collection[str] = ()
) -> tuple[TitledTable, ...]:
    """Median times over that of the fastest of the matrix, of findings that share device, cache state and axes.

    As an answer does, it leaves out those whose times are not plausible; its heading says how many.

    data     with the features of the matrices, and what the reader wants them sorted by
    answers  whose geometric means stand in the last row, where a table has all that one of them is made of
    labels   of the columns; empty: all
    """
    groups: dict[str, list[Finding]] = {}
    for finding in sorting.arranged(findings, data.sort or DEFAULT, partial(_value, data)):
        axes = (f"{name} {value}" for name, value in finding.axes.items())
        groups.setdefault(" · ".join((finding.device, finding.cache, *axes)), []).append(finding)
    return tuple(_titled(place, own, answers, labels) for place, own in groups.items())


def _titled(place: str, findings: Sequence[Finding], answers: Sequence[Answer], labels: Collection[str]) -> TitledTable:
    quiet = [finding for finding in findings if finding.leaders or not _times(finding)]
    every = tuple(dict.fromkeys(row.label for finding in findings for row in finding.rows))
    own = [label for label in every if label in labels] or every
    means = [
        {standing.label: standing.mean for standing in answer.standings}
        for answer in answers
        if (answer.device, answer.cache) == (findings[0].device, findings[0].cache)
        and answer.contests + answer.busy + answer.empty == len(findings)
    ]
    rows = [(finding.title, *_cells(finding, own)) for finding in quiet]
    if len(means) == 1 and rows:
        texts = (f"{mean:.2f}" if (mean := means[0].get(label)) else units.MISSING for label in own)
        rows.append(("geometric mean", units.MISSING, *texts))
    parts = [f"Time over the fastest's · {place}"]
    parts += [f"{len(own)} of {len(every)} kernels"] if len(own) < len(every) else []
    busy = len(findings) - len(quiet)
    parts += [f"without {busy} of a busy machine"] if busy else []
    heads = (Head("matrix", numeric=False), Head("fastest", "s"), *map(Head, own))
    return TitledTable(" · ".join(parts), Table(heads, tuple(rows)))


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
    times = _times(finding)
    fastest = min(times.values(), default=None)
    ratios = (times[label] / fastest if fastest and label in times else None for label in labels)
    shown = units.MISSING if fastest is None else f"{fastest:.4g}"
    return (shown, *(units.MISSING if ratio is None else f"{ratio:.2f}" for ratio in ratios))
