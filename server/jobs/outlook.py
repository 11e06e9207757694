"""How long jobs take: what their study expected of them, corrected by what they have taken so far."""

from sqlalchemy import and_, func, or_, select
from sqlalchemy.orm import Session

from server.db import clock
from server.models import TERMINAL, JobRow, JobState


def outlook(session: Session, job: JobRow) -> tuple[int | None, float | None]:
    """The place in the queue of the job's device (1 is next), and the seconds until the job is done."""
    if job.state in TERMINAL:
        return None, None
    now = session.execute(select(clock())).scalar_one()
    if job.state == JobState.RUNNING:
        return None, remaining_s(job, now)
    older = or_(JobRow.created_at < job.created_at, and_(JobRow.created_at == job.created_at, JobRow.id < job.id))
    waits = and_(JobRow.state == JobState.QUEUED, older, JobRow.device == job.device)
    left_s = func.sum(JobRow.estimate_s * (1.0 - JobRow.progress / JobRow.cases_total))
    waiting, waiting_s = session.execute(select(func.count(), left_s).where(waits)).one()
    running = session.scalars(select(JobRow).where(JobRow.state == JobState.RUNNING, JobRow.device == job.device))
    ahead_s = float(waiting_s or 0.0) + sum(remaining_s(each, now) for each in running)
    return int(waiting) + 1, ahead_s + job.estimate_s


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
