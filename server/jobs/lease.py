"""The queue as a worker sees it: claim a job, keep its lease, commit its records, give it back or end it.

Every write names the attempt that it belongs to and goes through only while the job is running under it: what a
process says after its job was cancelled, requeued or taken over is discarded.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from gpu_engine.records import DeviceProfile, Measurement, Progress, Trace, as_json
from server import devices, events
from server.db import Database, clock
from server.jobs.documents import progress_document
from server.jobs.queue import IDLE, tell_state
from server.models import CaseDeathRow, EventRow, JobRow, JobState, MeasurementRow, TraceRow

EVENTS_KEPT_S = 86400.0
"""Older events are deleted; a page that reconnects after longer reads everything anew anyway."""

MESSAGE_MAX = 200


@dataclass(frozen=True)
class Lease:
    """The right to write to a running job; ends when the row leaves this attempt or state."""

    job_id: str
    attempt: int


def claim(
    database: Database, owner: str, device_ids: Sequence[str], lease_s: float, waiting: Sequence[str] = ()
) -> JobRow | None:
    """Starts the oldest queued job of these devices, one statement; None where there is none.

    A job younger than the oldest one queued for a device of `waiting` stays queued, so that jobs that need the whole
    host, or all its GPUs, do not starve while others take parts of it.
    """
    queued = select(JobRow.id).where(JobRow.state == JobState.QUEUED)
    oldest = queued.where(JobRow.device.in_([*device_ids, *waiting])).order_by(JobRow.created_at, JobRow.id).limit(1)
    # The outer conditions are checked again on the locked row.
    claim = (
        update(JobRow)
        .where(JobRow.id == oldest.with_for_update(skip_locked=True).scalar_subquery())
        .where(JobRow.state == JobState.QUEUED, JobRow.device.in_(device_ids))
        .values(state=JobState.RUNNING, attempt=JobRow.attempt + 1, owner=owner, lease_until=clock() + lease_s)
        .values(IDLE | {"started_at": clock()})
        .returning(JobRow.id)
    )
    with database.read() as session:
        if session.scalar(oldest) is None:
            return None
    with database.write() as session:
        job_id = session.scalar(claim)
        job = session.get(JobRow, job_id) if job_id is not None else None
        if job is not None:
            tell_state(session, job)
        return job


def held(database: Database, owner: str) -> dict[str, bool]:
    """Id of each job that this owner runs → whether it was asked to stop after its round.

    One missing here was cancelled or taken over.
    """
    with database.read() as session:
        rows = session.execute(select(JobRow.id, JobRow.stop_requested).where(_running(owner))).all()
        return {row.id: row.stop_requested for row in rows}


def beat(database: Database, owner: str, job_ids: Sequence[str], device_ids: Sequence[str], lease_s: float) -> None:
    """Prolongs the leases of these jobs of the owner, and notes that its devices are served.

    Raises ConflictError where another owner has taken a device over.
    """
    with database.write() as session:
        mine = _running(owner) & JobRow.id.in_(job_ids)
        # An update locks rows in no certain order.
        locked = session.scalars(select(JobRow.id).where(mine).order_by(JobRow.id).with_for_update()).all()
        session.execute(update(JobRow).where(JobRow.id.in_(locked)).values(lease_until=clock() + lease_s))
        devices.touch(session, device_ids, owner)


def requeue_lost(database: Database, lease_s: float, dead: Collection[str] = ()) -> int:
    """Requeues the running jobs whose lease has ended, and those of owners known to be dead; returns how many.

    A lease that ends later than lease_s from now was given before the clock was put back: it ends after lease_s.

    The case in progress counts one loss, which is no death: a dispatcher ends for reasons that are not the case's. It
    takes many more of them (LOSSES_MAX of runner.py) to end a case that takes its whole host down each time.
    """
    lost = (JobRow.lease_until < clock()) | JobRow.owner.in_(dead)
    is_long = JobRow.lease_until > clock() + lease_s
    running = select(JobRow.id).where(JobRow.state == JobState.RUNNING)
    query, long = running.where(lost), running.where(is_long)
    with database.read() as session:
        if session.scalar(running.where(lost | is_long).limit(1)) is None:
            return 0
    with database.write() as session:
        locked = session.scalars(long.order_by(JobRow.id).with_for_update(skip_locked=True)).all()
        session.execute(update(JobRow).where(JobRow.id.in_(locked)).values(lease_until=clock() + lease_s))
        rows = session.scalars(select(JobRow).where(JobRow.id.in_(query)).with_for_update(skip_locked=True)).all()
        for job in rows:
            _count(session, job, job.current_case, losses=1)
            _requeue(session, job)
        return len(rows)


def release(database: Database, lease: Lease, lost_case: str | None = None) -> bool:
    """Gives a running job back to the queue with its records; its next attempt measures what is owed.

    lost_case  the case that counts a loss
    """
    with database.write() as session:
        job = _fenced(session, lease)
        if job is not None:
            if lost_case is not None:
                _count(session, job, lost_case, losses=1)
            _requeue(session, job)
        return job is not None


def prune_events(database: Database) -> None:
    """Deletes events that nobody resumes from any more."""
    with database.write() as session:
        session.execute(delete(EventRow).where(EventRow.created_at < clock() - EVENTS_KEPT_S))


def measured_cases(session: Session, job_id: str) -> set[str]:
    """Keys of the cases that have a record."""
    return set(session.scalars(select(MeasurementRow.case_key).where(MeasurementRow.job_id == job_id)))


def case_deaths(session: Session, job_id: str) -> dict[str, int]:
    """Key of a case → how often a process died of it; the empty key counts deaths between cases."""
    return _counts(session, job_id, CaseDeathRow.deaths)


def case_losses(session: Session, job_id: str) -> dict[str, int]:
    """Key of a case → how often the dispatcher died or fell silent in it; the empty key: between cases."""
    return _counts(session, job_id, CaseDeathRow.losses)


def progressed(database: Database, lease: Lease, case: str, progress: Progress) -> bool:
    """Stores where the process is and tells it: the case it is in, and the progress since the job began.

    False when the lease is lost, as from every function below.
    """
    with database.write() as session:
        job = _fenced(session, lease)
        if job is not None:
            job.current_case = case
            job.progress = min(max(job.progress, progress.done), float(job.cases_total))
            job.message = progress.message[:MESSAGE_MAX]
            job.interim = [as_json(own) for own in progress.interim]
            events.emit(session, f"job:{job.id}", "progress", {"id": job.id, "case": case, **progress_document(job)})
        return job is not None


def measured(database: Database, lease: Lease, measurement: Measurement, trace: Trace | None = None) -> bool:
    """Commits a case: its Measurement and its Trace in one transaction."""
    with database.write() as session:
        job = _fenced(session, lease)
        if job is None:
            return False
        record = as_json(measurement)
        now = session.execute(select(clock())).scalar_one()
        columns = {name: record[name] for name in ("matrix_id", "device", "kernel", "cache", "state")}
        samples = list(measurement.samples_s)
        key = measurement.case
        session.add(
            MeasurementRow(job_id=job.id, case_key=key, record=record, samples_s=samples, created_at=now, **columns)
        )
        if trace is not None:
            session.add(TraceRow(job_id=job.id, case_key=key, record=as_json(trace)))
            events.emit(session, f"job:{job.id}", "trace", {"id": job.id, "case": key})
        job.cases_done += 1
        job.progress = max(job.progress, float(job.cases_done))
        job.current_case = ""
        document = {"id": job.id, "measurement": record, **progress_document(job)}
        events.emit(session, f"job:{job.id}", "measurement", document)
        return True


def profiled(database: Database, lease: Lease, profile: DeviceProfile) -> bool:
    """Keeps the bandwidth of the job's device."""
    with database.write() as session:
        job = _fenced(session, lease)
        if job is not None:
            devices.store_profile(session, profile)
        return job is not None


def died(database: Database, lease: Lease, case: str | None) -> Lease | None:
    """Counts the death of the process against the case it was in, "" before any, None for no case's fault, and starts
    the next attempt under the same owner.

    Where its commit went through and the answer was lost, a second call finds the attempt gone: nobody beats the row
    any more, and it is requeued when its lease ends.
    """
    with database.write() as session:
        job = _fenced(session, lease)
        if job is None:
            return None
        if case is not None:
            _count(session, job, case, deaths=1)
        job.attempt += 1
        _idle(job)
        tell_state(session, job)
        return Lease(job.id, job.attempt)


def finish(
    database: Database, lease: Lease, state: JobState, run_s: float, error: dict[str, Any] | None = None
) -> bool:
    """End the job as succeeded or failed.

    run_s  seconds since this attempt was claimed, by a clock that nobody sets: the database's may be set meanwhile,
           and estimates are made of what jobs took
    """
    with database.write() as session:
        job = _fenced(session, lease)
        if job is not None:
            job.state, job.error = state, error or {}
            job.finished_at = (job.started_at or 0.0) + run_s
            _idle(job)
            tell_state(session, job)
        return job is not None


def _idle(job: JobRow) -> None:
    for name, value in IDLE.items():
        setattr(job, name, value)


def _running(owner: str) -> Any:
    return (JobRow.owner == owner) & (JobRow.state == JobState.RUNNING)


def _fenced(session: Session, lease: Lease) -> JobRow | None:
    """The row, locked, while it is running under this lease."""
    mine = (JobRow.id == lease.job_id, JobRow.attempt == lease.attempt, JobRow.state == JobState.RUNNING)
    return session.scalar(select(JobRow).where(*mine).with_for_update())


def _requeue(session: Session, job: JobRow) -> None:
    job.state, job.owner, job.lease_until = JobState.QUEUED, "", 0.0
    _idle(job)
    job.progress = float(job.cases_done)
    tell_state(session, job)


def _count(session: Session, job: JobRow, case: str, deaths: int = 0, losses: int = 0) -> None:
    mine = (CaseDeathRow.job_id == job.id, CaseDeathRow.case_key == case)
    row = session.scalar(select(CaseDeathRow).where(*mine))
    if row is None:
        session.add(CaseDeathRow(job_id=job.id, case_key=case, deaths=deaths, losses=losses))
    else:
        row.deaths += deaths
        row.losses += losses


def _counts(session: Session, job_id: str, column: InstrumentedAttribute[int]) -> dict[str, int]:
    rows = session.execute(select(CaseDeathRow.case_key, column).where(CaseDeathRow.job_id == job_id, column > 0))
    return {row[0]: row[1] for row in rows}
