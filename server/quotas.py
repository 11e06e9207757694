"""Quotas: what a token may use of a day, which begins at 00:00 UTC, and of the queue."""

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from gpu_engine.errors import LimitError
from gpu_engine.text import units
from server.db import Database, clock
from server.models import TERMINAL, DeviceRow, JobRow, JobState, TokenRow
from server.roles import Caller

DAY_S = 86400.0
LATER_S = 60.0
"""When to ask again for a place in the queue."""


def charge_upload(database: Database, caller: Caller, size: int) -> None:
    """Counts an upload of so many bytes before it is taken; raises LimitError where the day allows no more."""
    if not caller.token_id:
        return
    with database.write() as session:
        row, now = _locked(session, caller.token_id)
        day, passed_s = divmod(now, DAY_S)
        if row.day != day:
            row.day, row.day_uploads, row.day_bytes = int(day), 0, 0
        left_s = DAY_S - passed_s
        if row.uploads_per_day is not None and row.day_uploads >= row.uploads_per_day:
            raise LimitError(f"The token's {row.uploads_per_day} uploads of today are used.", retry_after_s=left_s)
        if row.bytes_per_day is not None and row.day_bytes + size > row.bytes_per_day:
            left = units.size(max(0, row.bytes_per_day - row.day_bytes))
            raise LimitError(
                f"This counts {units.size(size)}; the token has {left} left today. A body without Content-Length "
                "counts as the largest that is allowed.",
                retry_after_s=left_s,
            )
        row.day_uploads += 1
        row.day_bytes += size


def check_job(session: Session, caller: Caller, job: JobRow) -> None:
    """Raises LimitError where the token may not queue this job now; call it in the transaction that adds the job."""
    if not caller.token_id:
        return
    row, now = _locked(session, caller.token_id)
    own = JobRow.token_id == row.id
    if row.queued_jobs is not None:
        queued = session.scalar(select(func.count()).where(own, JobRow.state == JobState.QUEUED)) or 0
        if queued >= row.queued_jobs:
            raise LimitError(f"{queued} jobs of this token are queued, as many as it may have.", retry_after_s=LATER_S)
    gpus = _gpus(session)
    if row.gpu_seconds_per_day is None or job.device not in gpus:
        return
    begun = now - now % DAY_S
    jobs = session.scalars(select(JobRow).where(own, or_(JobRow.finished_at > begun, JobRow.finished_at.is_(None))))
    used_s = sum(gpus.get(other.device, 0) * _seconds(other, begun, now) for other in jobs)
    wanted_s = gpus[job.device] * job.estimate_s
    if used_s + wanted_s > row.gpu_seconds_per_day:
        raise LimitError(
            f"The job needs about {wanted_s:.0f} GPU seconds; of the token's {row.gpu_seconds_per_day} for today "
            f"{used_s:.0f} are used or promised to its other jobs.",
            retry_after_s=begun + DAY_S - now,
        )


def _locked(session: Session, token_id: str) -> tuple[TokenRow, float]:
    """The row of the token, which nobody else counts at now, and the time."""
    row = session.get_one(TokenRow, token_id, with_for_update=True)
    return row, session.execute(select(clock())).scalar_one()


def _gpus(session: Session) -> dict[str, int]:
    """How many GPUs each device is; a CPU is not among them."""
    rows = session.scalars(select(DeviceRow))
    return {row.id: row.info["uuid"].count(",") + 1 for row in rows if row.info["backend"] == "cuda"}


def _seconds(job: JobRow, begun: float, now: float) -> float:
    """What a job has taken since then, or is expected to take in all while it is not over."""
    if job.state not in TERMINAL:
        return max(job.estimate_s, now - max(job.started_at, begun) if job.started_at is not None else 0.0)
    if job.started_at is None or job.finished_at is None:
        return 0.0
    return max(0.0, job.finished_at - max(job.started_at, begun))
