"""Activity: how the jobs of the last day waited, ran, and failed, in equal parts of the day."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from server.models import JobRow, JobState
from server.quotas import DAY_S

PARTS = 48
"""Number of parts: half an hour each."""


@dataclass(frozen=True, slots=True)
class JobTimes:
    """A job as its times in seconds since 1970; None: not yet."""

    device: str
    state: str
    created_at: float
    started_at: float | None
    finished_at: float | None

    def waited(self, now: float) -> tuple[float, float]:
        """Return start and end of its wait; a job that was queued again has waited since it was created."""
        ends = (now,) if self.state == JobState.QUEUED else (self.started_at, self.finished_at, now)
        return self.created_at, next(end for end in ends if end is not None)

    def ran(self, now: float) -> tuple[float, float] | None:
        """Return start and end of its last attempt; None before its start."""
        if self.started_at is None or self.state == JobState.QUEUED:
            return None
        return self.started_at, now if self.finished_at is None else self.finished_at


@dataclass(frozen=True, slots=True)
class Activity:
    """Jobs of the last day, the oldest part first.

    waiting, running  mean number of jobs in each part; failed: number of jobs that failed in it
    period_s          seconds that `busy_s` covers: a day, or less if the service started later
    busy_s            seconds with a running job by device
    median_wait_s     of the jobs that started; None if there are none
    last_end          when the last job ended, in seconds since 1970; None if there is none
    """

    waiting: tuple[float, ...]
    running: tuple[float, ...]
    failed: tuple[float, ...]
    period_s: float
    busy_s: Mapping[str, float]
    median_wait_s: float | None
    last_end: float | None

    def busy(self, device: str) -> float:
        """Return the share of `period_s` with a running job."""
        return self.busy_s.get(device, 0.0) / self.period_s


def last_day(session: Session, now: float, up_s: float = DAY_S) -> Activity:
    """Return the activity of the day that ends now, in seconds since 1970 of the database.

    up_s  seconds since the service started
    """
    times = (JobRow.device, JobRow.state, JobRow.created_at, JobRow.started_at, JobRow.finished_at)
    recent = or_(JobRow.finished_at.is_(None), JobRow.finished_at > now - DAY_S)
    return activity_of([JobTimes(*row) for row in session.execute(select(*times).where(recent))], now, up_s)


def activity_of(jobs: Sequence[JobTimes], now: float, up_s: float = DAY_S) -> Activity:
    """Return the activity of the day that ends now; up_s: as for `last_day`."""
    period_s = min(DAY_S, max(1.0, up_s))
    runs = [(job.device, run) for job in jobs if (run := job.ran(now)) is not None]
    busy_s: dict[str, float] = {}
    for device, (start, end) in runs:
        seconds = max(0.0, min(now, end) - max(now - period_s, start))
        busy_s[device] = min(period_s, busy_s.get(device, 0.0) + seconds)
    waits = [job.started_at - job.created_at for job in jobs if job.started_at is not None and job.ran(now)]
    ends = [job.finished_at for job in jobs if job.finished_at is not None]
    failures = [job.finished_at for job in jobs if job.state == JobState.FAILED and job.finished_at is not None]
    return Activity(
        waiting=_means([job.waited(now) for job in jobs], now),
        running=_means([run for _, run in runs], now),
        failed=_numbers(failures, now),
        period_s=period_s,
        busy_s=busy_s,
        median_wait_s=median(waits) if waits else None,
        last_end=max(ends, default=None),
    )


def _means(spans: Iterable[tuple[float, float]], now: float) -> tuple[float, ...]:
    """Return the mean number of spans in each part."""
    return tuple(seconds * PARTS / DAY_S for seconds in _seconds(spans, now))


def _seconds(spans: Iterable[tuple[float, float]], now: float) -> list[float]:
    """Return the seconds of all spans in each part."""
    begin, part_s = now - DAY_S, DAY_S / PARTS
    seconds = [0.0] * PARTS
    for start, end in spans:
        low, high = max(0.0, start - begin), min(DAY_S, end - begin)
        for part in range(int(low / part_s), min(PARTS, int(high / part_s) + 1)):
            seconds[part] += max(0.0, min(high, (part + 1) * part_s) - max(low, part * part_s))
    return seconds


def _numbers(moments: Iterable[float], now: float) -> tuple[float, ...]:
    """Return the number of moments in each part."""
    numbers = [0.0] * PARTS
    for moment in moments:
        place = int((moment - (now - DAY_S)) * PARTS / DAY_S)
        numbers[min(PARTS - 1, max(0, place))] += 1
    return tuple(numbers)
