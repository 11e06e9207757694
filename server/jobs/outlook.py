"""How long jobs take: what their study expected of them, corrected by what they have taken so far."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, cast, func, select
from sqlalchemy.orm import Session

from server.db import clock
from server.models import TERMINAL, JobRow, JobState

Outlook = tuple[int | None, float | None]
"""The place in the queue of the job's device (1 is next), and the seconds until the job is done; None once it is."""


def outlooks(session: Session, jobs: Sequence[JobRow]) -> dict[str, Outlook]:
    """Job id → its outlook: one look at the queues, however many jobs are asked for."""
    found: dict[str, Outlook] = dict.fromkeys((job.id for job in jobs), (None, None))
    devices = {job.device for job in jobs if job.state not in TERMINAL}
    if not devices:
        return found
    now = session.execute(select(clock())).scalar_one()
    running = session.scalars(select(JobRow).where(JobRow.state == JobState.RUNNING, JobRow.device.in_(devices))).all()
    left_s = {device: sum(remaining_s(job, now) for job in running if job.device == device) for device in devices}
    found |= {job.id: (None, remaining_s(job, now)) for job in jobs if job.state == JobState.RUNNING}
    return found | _waiting(session, jobs, left_s)


def _waiting(session: Session, jobs: Sequence[JobRow], left_s: dict[str, float]) -> dict[str, Outlook]:
    """The outlooks of those of the jobs that are queued; left_s: device → what runs there takes so long from now."""
    moments = {job.id: job.created_at for job in jobs if job.state == JobState.QUEUED}
    if not moments:
        return {}
    # In whole microseconds: sums of decimals differ with the database, its release and the order of the rows.
    left = cast(func.round(JobRow.estimate_s * (1.0 - JobRow.progress / JobRow.cases_total) * 1e6), BigInteger)
    left_us = {device: round(seconds * 1e6) for device, seconds in left_s.items()}
    waiting = JobRow.state == JobState.QUEUED, JobRow.device.in_(left_us)
    # The database counts those before the first: of a thousand that wait a list shows fifty in a row.
    before = select(JobRow.device, func.count(), func.sum(left)).group_by(JobRow.device)
    ahead = dict.fromkeys(left_us, 0)
    for device, number, total_us in session.execute(before.where(*waiting, JobRow.created_at < min(moments.values()))):
        ahead[device], left_us[device] = number, left_us[device] + int(total_us)
    shown = select(JobRow.id, JobRow.device, JobRow.estimate_s, left).order_by(JobRow.created_at, JobRow.id)
    between = JobRow.created_at.between(min(moments.values()), max(moments.values()))
    found: dict[str, Outlook] = {}
    for job_id, device, estimate_s, job_us in session.execute(shown.where(*waiting, between)):
        ahead[device] += 1
        if job_id in moments:
            found[job_id] = ahead[device], (left_us[device] + round(estimate_s * 1e6)) / 1e6
        left_us[device] += job_us
    return found


def remaining_s(job: JobRow, now: float) -> float:
    """Seconds until a running job is done: the further it is, the more its own pace counts beside the estimate.

    A later attempt has work behind it that its start does not tell of: only the estimate counts.
    """
    share = min(1.0, job.progress / job.cases_total)
    elapsed_s = elapsed(job, now)
    if job.attempt > 1 or not share or elapsed_s is None:
        return job.estimate_s * (1.0 - share)
    pace_s = elapsed_s / share
    return (1.0 - share) * ((1.0 - share) * job.estimate_s + share * pace_s)


def elapsed(job: JobRow, now: float) -> float | None:
    """Seconds since a job was started, until its end; None before."""
    if job.started_at is None:
        return None
    return max(0.0, (job.finished_at if job.finished_at is not None else now) - job.started_at)
