"""Estimated time left of jobs, from the estimate of the study and the progress so far."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, cast, func, select
from sqlalchemy.orm import Session

from server.db import clock
from server.models import TERMINAL, JobRow, JobState

JobEta = tuple[int | None, float | None]
"""Queue position on the device of the job (1 is next), and the seconds until the job is done; None if it has ended."""


def job_etas(session: Session, jobs: Sequence[JobRow]) -> dict[str, JobEta]:
    """Return the estimated time left by job id, with one query of the queues for all jobs."""
    etas: dict[str, JobEta] = dict.fromkeys((job.id for job in jobs), (None, None))
    devices = {job.device for job in jobs if job.state not in TERMINAL}
    if not devices:
        return etas
    now = session.execute(select(clock())).scalar_one()
    running = session.scalars(select(JobRow).where(JobRow.state == JobState.RUNNING, JobRow.device.in_(devices))).all()
    left_s = {device: sum(remaining_s(job, now) for job in running if job.device == device) for device in devices}
    etas |= {job.id: (None, remaining_s(job, now)) for job in jobs if job.state == JobState.RUNNING}
    return etas | _waiting(session, jobs, left_s)


def _waiting(session: Session, jobs: Sequence[JobRow], left_s: dict[str, float]) -> dict[str, JobEta]:
    """Return the estimated time left of queued jobs.

    left_s  device → seconds until its running jobs are done
    """
    moments = {job.id: job.created_at for job in jobs if job.state == JobState.QUEUED}
    if not moments:
        return {}
    # In whole microseconds, because sums of decimals depend on the database, its release, and the order of rows.
    left = cast(func.round(JobRow.estimate_s * (1.0 - JobRow.progress / JobRow.cases_total) * 1e6), BigInteger)
    left_us = {device: round(seconds * 1e6) for device, seconds in left_s.items()}
    waiting = JobRow.state == JobState.QUEUED, JobRow.device.in_(left_us)
    # The database counts the jobs before the first one: a list shows fifty consecutive jobs of a thousand.
    before = select(JobRow.device, func.count(), func.sum(left)).group_by(JobRow.device)
    ahead = dict.fromkeys(left_us, 0)
    for device, number, total_us in session.execute(before.where(*waiting, JobRow.created_at < min(moments.values()))):
        ahead[device], left_us[device] = number, left_us[device] + int(total_us)
    page = select(JobRow.id, JobRow.device, JobRow.estimate_s, left).order_by(JobRow.created_at, JobRow.id)
    between = JobRow.created_at.between(min(moments.values()), max(moments.values()))
    etas: dict[str, JobEta] = {}
    for job_id, device, estimate_s, job_us in session.execute(page.where(*waiting, between)):
        ahead[device] += 1
        if job_id in moments:
            etas[job_id] = ahead[device], (left_us[device] + round(estimate_s * 1e6)) / 1e6
        left_us[device] += job_us
    return etas


def remaining_s(job: JobRow, now: float) -> float:
    """Return the seconds until a running job is done. With its progress, its own pace counts more than the estimate.

    For a later attempt only the estimate counts, because its start does not tell how much was done before.
    """
    share, elapsed_s, by_estimate_s = _share(job), elapsed(job, now), _by_estimate_s(job)
    if job.attempt > 1 or not share or elapsed_s is None:
        return by_estimate_s
    return (1.0 - share) * (by_estimate_s + elapsed_s)


def remaining_range_s(job: JobRow, now: float) -> tuple[float, float]:
    """Return the least and the most seconds until a running job is done: by its estimate, and with its own pace."""
    least_s, most_s = sorted((_by_estimate_s(job), remaining_s(job, now)))
    return least_s, most_s


def _by_estimate_s(job: JobRow) -> float:
    return job.estimate_s * (1.0 - _share(job))


def _share(job: JobRow) -> float:
    return min(1.0, job.progress / job.cases_total)


def elapsed(job: JobRow, now: float) -> float | None:
    """Return the seconds from the start of a job to its end or now; None before its start."""
    if job.started_at is None:
        return None
    return max(0.0, (job.finished_at if job.finished_at is not None else now) - job.started_at)
