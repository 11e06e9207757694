"""Quotas of tokens: limits per day, starting at 00:00 UTC, and limits of the queue."""

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from gpu_engine.errors import LimitError
from gpu_engine.text import units
from server.db import Database, clock
from server.models import TERMINAL, DeviceRow, JobRow, JobState, TokenRow
from server.roles import Caller

DAY_S = 86400.0
LATER_S = 60.0
"""Seconds after which a rejected job may be submitted again."""


def charge_upload(database: Database, caller: Caller, size: int) -> None:
    """Count an upload of this size before it is received. Raises LimitError if the daily quota is exhausted."""
    if not caller.token_id:
        return
    with database.write() as session:
        row, now = _locked(session, caller.token_id)
        day, passed_s = divmod(now, DAY_S)
        if row.day != day:
            row.day, row.day_uploads, row.day_bytes = int(day), 0, 0
        left_s = DAY_S - passed_s
        if row.uploads_per_day is not None and row.day_uploads >= row.uploads_per_day:
            raise LimitError(
                f"Daily upload limit reached ({row.uploads_per_day}). It resets at 00:00 UTC.", retry_after_s=left_s
            )
        if row.bytes_per_day is not None and row.day_bytes + size > row.bytes_per_day:
            left = units.size(max(0, row.bytes_per_day - row.day_bytes))
            raise LimitError(
                f"Daily upload quota exceeded: this upload counts {units.size(size)}, and {left} "
                "are left today. A body without Content-Length counts as the largest allowed "
                "upload.",
                retry_after_s=left_s,
            )
        row.day_uploads += 1
        row.day_bytes += size


def check_job(session: Session, caller: Caller, job: JobRow) -> None:
    """Raise LimitError if a quota does not allow this job. Call it in the transaction that adds the job."""
    if not caller.token_id:
        return
    row, now = _locked(session, caller.token_id)
    of_token = JobRow.token_id == row.id
    if row.queued_jobs is not None:
        queued = session.scalar(select(func.count()).where(of_token, JobRow.state == JobState.QUEUED)) or 0
        if queued >= row.queued_jobs:
            raise LimitError(
                f"This token already has {queued} queued jobs, its limit. Try again when some have run.",
                retry_after_s=LATER_S,
            )
    gpus = _gpus(session)
    if row.gpu_seconds_per_day is None or job.device not in gpus:
        return
    begun = now - now % DAY_S
    is_today = or_(JobRow.finished_at > begun, JobRow.finished_at.is_(None))
    jobs = session.scalars(select(JobRow).where(of_token, is_today))
    used_s = sum(gpus.get(other.device, 0) * _seconds(other, begun, now) for other in jobs)
    wanted_s = gpus[job.device] * job.estimate_s
    if used_s + wanted_s > row.gpu_seconds_per_day:
        raise LimitError(
            f"Daily GPU limit exceeded: the job needs about {wanted_s:.0f} GPU seconds, but today "
            f"{used_s:.0f} of the {row.gpu_seconds_per_day} GPU seconds of this token are used or "
            "reserved. It resets at 00:00 UTC.",
            retry_after_s=begun + DAY_S - now,
        )


def _locked(session: Session, token_id: str) -> tuple[TokenRow, float]:
    """Return the locked row of the token, and the time."""
    row = session.get_one(TokenRow, token_id, with_for_update=True)
    return row, session.execute(select(clock())).scalar_one()


def _gpus(session: Session) -> dict[str, int]:
    """Return the number of GPUs per device; CPUs are left out."""
    rows = session.scalars(select(DeviceRow))
    return {row.id: row.info["uuid"].count(",") + 1 for row in rows if row.info["backend"] == "cuda"}


def _seconds(job: JobRow, begun: float, now: float) -> float:
    """Return the seconds that a job has run since then; for an unfinished job, the expected total."""
    if job.state not in TERMINAL:
        return max(job.estimate_s, now - max(job.started_at, begun) if job.started_at is not None else 0.0)
    if job.started_at is None or job.finished_at is None:
        return 0.0
    return max(0.0, job.finished_at - max(job.started_at, begun))
