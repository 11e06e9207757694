"""Tables of histories: change points, environment changes, and measurements."""

from collections.abc import Collection, Iterable, Sequence

from gpu_engine.findings.finding import INTERVAL, interval_text, with_intervals
from gpu_engine.findings.history.change_points import History
from gpu_engine.findings.history.records import SOURCE, Change, HistoryPoint
from gpu_engine.findings.history.sentences import by_job, environments
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, moment, seconds, speedup
from gpu_engine.verdicts.verdict import verdict_text

ROWS_MAX = 500
"""Maximum number of rows of the table of measurements; the API has all of them."""

MARKS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Marks of the newest environment changes in the figure, the oldest of them A; earlier ones have no mark."""

Marked = tuple[str, HistoryPoint, dict[Change, list[History]]]
"""An environment change: (mark, first measurement after it, change → histories)."""


def _text(*texts: str) -> tuple[Head, ...]:
    return tuple(Head(text, numeric=False) for text in texts)


def marked(histories: Sequence[History]) -> tuple[Marked, ...]:
    """Return the environment changes, the newest first, each with its mark in the figure."""
    every = environments(histories)
    marks = MARKS[: len(every)][::-1]
    return tuple((marks[index : index + 1], *each) for index, each in enumerate(every))


def change_points(histories: Sequence[History]) -> Table:
    """Return a table with one row per change point, the newest first: verdict, levels, and environment changes."""
    heads = (*_text("date, UTC", "case", "verdict"), Head("before"), Head("after"), Head("speedup", "before / after"))
    rows = (
        (
            moment(point.first.measured_at),
            history.label,
            verdict_text(point.verdict.kind),
            seconds(point.before.level_s),
            seconds(point.after.level_s),
            speedup(point.verdict.ratio),
            join([str(change) for change in point.changes]) or "none recorded",
            point.verdict.reason,
        )
        for event in by_job(histories)
        for history, point in event
    )
    return Table((*heads, *_text("environment changes", "reason")), tuple(rows))


def underneath(histories: Sequence[History]) -> Table:
    """Return a table with one row per environment change, the newest first, and the number of change points with it."""
    rows = (row for each in marked(histories) for row in _rows(*each))
    heads = (*_text("mark", "date, UTC", "field", "before", "after", "cases"), Head("change points"))
    return Table(heads, tuple(rows))


def _rows(mark: str, visit: HistoryPoint, affected: dict[Change, list[History]]) -> Iterable[tuple[str, ...]]:
    for change, histories in affected.items():
        stepped = sum(visit.job_id in point.beside for h in histories for point in h.points)
        labels = [h.label for h in histories]
        field = "kernel source" if change.name == SOURCE else change.name
        cells = mark or MISSING, moment(visit.measured_at), field, change.before, change.after
        yield (*cells, join(labels, NAMED) if change.name == SOURCE else "all of the job", str(stepped))


def measurements(histories: Sequence[History], busy: Collection[tuple[str, str]] = ()) -> Table:
    """Return a table with one row per measurement, the newest first: time, confidence interval, and level.

    busy  (job id, case) of measurements whose timings are too noisy
    """
    rows = [(visit.measured_at, row) for history in histories for visit, row in _visits(history, busy)]
    rows.sort(key=lambda pair: -pair[0])
    heads = (*_text("measured, UTC", "job", "case"), Head("time"), Head(INTERVAL), Head("level"))
    table = Table((*heads, *_text("usable", "environment changes")), tuple(row for _, row in rows[:ROWS_MAX]))
    return with_intervals(table, (visit.measurement for history in histories for visit in history.timeline))


def _visits(history: History, busy: Collection[tuple[str, str]]) -> Iterable[tuple[HistoryPoint, tuple[str, ...]]]:
    changed = {each.first.job_id: join([str(change) for change in each.changes]) for each in history.underneath}
    for period in history.periods:
        for visit in period.timeline:
            m = visit.measurement
            times_of = seconds(m.median_s), interval_text(m), seconds(period.level_s)
            names = moment(visit.measured_at), visit.job_id[:8], history.label
            usable = "no, noisy" if visit.key in busy else "yes"
            yield visit, (*names, *times_of, usable, changed.get(visit.job_id, ""))
