"""The documents of histories as types, and a history as one; see documents.py."""

from collections.abc import Collection
from typing import Any, Literal

# Pydantic reads TypedDict from here before Python 3.12.
from typing_extensions import TypedDict

from gpu_engine.findings.history.change_points import ChangePoint, History
from gpu_engine.findings.history.records import Change, Taken
from server.times import Time, time_of


class EnvironmentChange(TypedDict):
    """What the environment of a measurement says otherwise than that of the one before; `–`: it says nothing."""

    name: str
    before: str
    after: str


class HistoryMeasurement(TypedDict):
    """A measurement of a case: its time in seconds, and what had changed underneath.

    `ci_low_s`, `ci_high_s`: the 95 % interval, null of fewer than five rounds; `min_s`, `max_s`: the quickest and the
    slowest round. `busy`: whether the machine was too busy for the time to count.
    """

    job_id: str
    measured_at: Time
    median_s: float
    ci_low_s: float | None
    ci_high_s: float | None
    rounds: int | None
    min_s: float | None
    max_s: float | None
    level_s: float
    busy: bool
    changed: list[EnvironmentChange]


class HistoryChangePoint(TypedDict):
    """Where a time went to another level that holds; `inconclusive`: where it may have.

    `before_s`, `after_s`: the two levels in seconds; `ratio`: before over after. `measured_at`, `job_id`: of the first
    measurement on the new level. `changed`: what changed underneath there.
    """

    job_id: str
    measured_at: Time
    verdict: Literal["slower", "faster", "inconclusive"]
    before_s: float
    after_s: float
    ratio: float
    reason: str
    changed: list[EnvironmentChange]


class CaseHistory(TypedDict):
    """The measurements of a case on one device, the oldest first, and its change points.

    `noise`: by what share its time scatters from job to job while nothing changes, a standard deviation. `searched`:
    whether change points were looked for; the library for it has no release for the newest Python.
    """

    case: str
    kernel: str
    axes: dict[str, str]
    noise: float
    searched: bool
    change_points: list[HistoryChangePoint]
    measurements: list[HistoryMeasurement]


def document(history: History, busy: Collection[tuple[str, str]] = ()) -> dict[str, Any]:
    """Return a history as CaseHistory; busy: (job id, case) of what does not count."""
    changed = {each.taken.job_id: each.changes for each in history.underneath}
    return {
        "case": history.case.key,
        "kernel": history.case.kernel,
        "axes": dict(history.case.axes),
        "noise": history.noise,
        "searched": history.searched,
        "change_points": [_change_point(point) for point in history.points],
        "measurements": [
            _measurement(taken, period.level_s, taken.key in busy, changed.get(taken.job_id, ()))
            for period in history.periods
            for taken in period.taken
        ],
    }


def _change_point(point: ChangePoint) -> dict[str, Any]:
    return {
        "job_id": point.first.job_id,
        "measured_at": time_of(point.first.measured_at),
        "verdict": point.verdict.kind,
        "before_s": point.before.level_s,
        "after_s": point.after.level_s,
        "ratio": point.verdict.ratio,
        "reason": point.verdict.reason,
        "changed": [_change(change) for change in point.changes],
    }


def _measurement(taken: Taken, level_s: float, is_busy: bool, changed: tuple[Change, ...]) -> dict[str, Any]:
    m = taken.measurement
    return {
        "job_id": taken.job_id,
        "measured_at": time_of(taken.measured_at),
        "median_s": m.median_s,
        "ci_low_s": m.ci_low_s,
        "ci_high_s": m.ci_high_s,
        "rounds": m.rounds,
        "min_s": m.min_s,
        "max_s": m.max_s,
        "level_s": level_s,
        "busy": is_busy,
        "changed": [_change(change) for change in changed],
    }


def _change(change: Change) -> dict[str, str]:
    return {"name": change.name, "before": change.before, "after": change.after}
