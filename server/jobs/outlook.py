"""How long jobs take: what their study expected of them, corrected by what they have taken so far."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import func, select
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
    # The database counts: of a thousand that wait a list shows fifty.
    order: dict[str, Any] = {"partition_by": JobRow.device, "order_by": (JobRow.created_at, JobRow.id)}
    left = JobRow.estimate_s * (1.0 - JobRow.progress / JobRow.cases_total)
    place, before_s = func.row_number().over(**order), func.sum(left).over(**order, rows=(None, -1))
    columns = JobRow.id, JobRow.device, JobRow.estimate_s, place, func.coalesce(before_s, 0.0)
    waiting = select(*columns).where(JobRow.state == JobState.QUEUED, JobRow.device.in_(devices)).subquery()
    shown = select(waiting).where(waiting.c.id.in_([job.id for job in jobs]))
    for job_id, device, estimate_s, number, earlier_s in session.execute(shown):
        found[job_id] = number, left_s[device] + earlier_s + estimate_s
    return found | {job.id: (None, remaining_s(job, now)) for job in jobs if job.state == JobState.RUNNING}


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
