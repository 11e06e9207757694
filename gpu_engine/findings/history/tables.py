"""Histories as tables: their change points, what changed underneath, and every measurement."""

from collections.abc import Collection, Iterable, Sequence

from gpu_engine.findings.finding import INTERVAL, interval_text, with_interval_head
from gpu_engine.findings.history.change_points import History
from gpu_engine.findings.history.records import SOURCE, Change, Taken
from gpu_engine.findings.history.sentences import by_job, environments
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, moment, seconds, times

ROWS_MAX = 500
"""Most rows of the table of measurements; the API has them all."""

MARKS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Names of the newest places where something changed underneath, the oldest of them A; others have none."""

Marked = tuple[str, Taken, dict[Change, list[History]]]


def _text(*texts: str) -> tuple[Head, ...]:
    return tuple(Head(text, numeric=False) for text in texts)


def marked(histories: Sequence[History]) -> tuple[Marked, ...]:
    """Where something changed underneath, the newest first, each with its mark in the figure."""
    found = environments(histories)
    known = MARKS[: len(found)][::-1]
    return tuple((known[place : place + 1], *each) for place, each in enumerate(found))


def change_points(histories: Sequence[History]) -> Table:
    """A row a change point, the newest first: the verdict, the two levels, and what changed underneath."""
    heads = (*_text("on", "case", "verdict"), Head("before"), Head("after"), Head("before", "over after"))
    rows = (
        (
            moment(point.first.measured_at),
            history.label,
            point.verdict.kind,
            seconds(point.before.level_s),
            seconds(point.after.level_s),
            times(point.verdict.ratio),
            join([str(change) for change in point.changes]) or "nothing that the records name",
            point.verdict.reason,
        )
        for found in by_job(histories)
        for history, point in found
    )
    return Table((*heads, *_text("changed underneath", "why")), tuple(rows))


def underneath(histories: Sequence[History]) -> Table:
    """A row a change of the environment, the newest first: of which cases, and how many went to another level."""
    rows = (row for each in marked(histories) for row in _rows(*each))
    heads = (*_text("mark", "on", "what", "before", "after", "of"), Head("change points", "there"))
    return Table(heads, tuple(rows))


def _rows(mark: str, taken: Taken, own: dict[Change, list[History]]) -> Iterable[tuple[str, ...]]:
    for change, histories in own.items():
        stepped = sum(taken.job_id in point.beside for h in histories for point in h.points)
        labels = [h.label for h in histories]
        what = "kernel source" if change.name == SOURCE else change.name
        ends = mark or MISSING, moment(taken.measured_at), what, change.before, change.after
        yield (*ends, join(labels, NAMED) if change.name == SOURCE else "all measured then", str(stepped))


def measurements(histories: Sequence[History], busy: Collection[tuple[str, str]] = ()) -> Table:
    """A row a measurement, the newest first: its time, its interval, and the level of its period.

    busy  (job id, case) of what does not count because the machine was busy
    """
    rows = [(taken.measured_at, row) for history in histories for taken, row in _taken(history, busy)]
    rows.sort(key=lambda pair: -pair[0])
    heads = (*_text("measured, UTC", "job", "case"), Head("time"), Head(INTERVAL), Head("level"))
    heads = with_interval_head(heads, (taken.measurement for history in histories for taken in history.taken))
    return Table((*heads, *_text("counts", "changed underneath")), tuple(row for _, row in rows[:ROWS_MAX]))


def _taken(history: History, busy: Collection[tuple[str, str]]) -> Iterable[tuple[Taken, tuple[str, ...]]]:
    changed = {each.taken.job_id: join([str(change) for change in each.changes]) for each in history.underneath}
    for period in history.periods:
        for taken in period.taken:
            m = taken.measurement
            times_of = seconds(m.median_s), interval_text(m), seconds(period.level_s)
            names = moment(taken.measured_at), taken.job_id[:8], history.label
            counts = "no, machine busy" if taken.key in busy else "yes"
            yield taken, (*names, *times_of, counts, changed.get(taken.job_id, ""))
