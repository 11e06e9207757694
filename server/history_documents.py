"""Types of the documents of histories, and conversion of a history to them; see documents.py."""

from collections.abc import Collection
from typing import Any, Literal

# Pydantic reads TypedDict from here before Python 3.12.
from typing_extensions import TypedDict

from gpu_engine.findings.history.change_points import ChangePoint, History
from gpu_engine.findings.history.records import Change, HistoryPoint
from server.timestamps import Time, time_of


class EnvironmentChange(TypedDict):
    """Difference between the environment of a measurement and the one before. `–` stands for an unknown value."""

    name: str
    before: str
    after: str


class HistoryMeasurement(TypedDict):
    """Measurement of a case: its time in seconds, and the environment changes since the one before.

    `ci_low_s`, `ci_high_s`: 95 % confidence interval, null with fewer than five rounds. `min_s`, `max_s`: the fastest
    and the slowest round. `busy`: whether the timings are too noisy to count.
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
    """Start of a segment with a new level. `inconclusive`: the level may have changed.

    `before_s`, `after_s`: the two levels in seconds; `ratio`: before divided by after. `measured_at`, `job_id`: the
    first measurement at the new level. `changed`: environment changes at this point.
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
    """Measurements of a case on one device, the oldest first, and its change points.

    `noise`: relative standard deviation of the time from job to job within a segment. `searched`: whether change points
    were searched; the required library has no release for the newest Python.
    """

    case: str
    kernel: str
    axes: dict[str, str]
    noise: float
    searched: bool
    change_points: list[HistoryChangePoint]
    measurements: list[HistoryMeasurement]


def document(history: History, busy: Collection[tuple[str, str]] = ()) -> dict[str, Any]:
    """Return a history as a CaseHistory.

    busy  (job id, case) of measurements that do not count
    """
    changed = {each.first.job_id: each.changes for each in history.underneath}
    return {
        "case": history.case.key,
        "kernel": history.case.kernel,
        "axes": dict(history.case.axes),
        "noise": history.noise,
        "searched": history.searched,
        "change_points": [_change_point(point) for point in history.points],
        "measurements": [
            _measurement(point, period.level_s, point.key in busy, changed.get(point.job_id, ()))
            for period in history.periods
            for point in period.timeline
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


def _measurement(point: HistoryPoint, level_s: float, is_busy: bool, changed: tuple[Change, ...]) -> dict[str, Any]:
    m = point.measurement
    return {
        "job_id": point.job_id,
        "measured_at": time_of(point.measured_at),
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
