"""Worker side of the queue: claim a job, renew its lease, commit its records, and return or end it.

Every write names its attempt and succeeds only while the job runs under that attempt. Values of a process whose job was
cancelled, requeued, or taken over are discarded.
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
from server.jobs.queue import IDLE, publish_state
from server.models import CaseDeathRow, EventRow, JobRow, JobState, MeasurementRow, TraceRow

EVENTS_KEPT_S = 86400.0
"""Seconds that events are stored. A page that reconnects later reads everything again anyway."""

MESSAGE_MAX = 200


@dataclass(frozen=True)
class Lease:
    """Right to write to a running job; it ends when the row leaves this attempt or state."""

    job_id: str
    attempt: int


def claim(
    database: Database, owner: str, device_ids: Sequence[str], lease_s: float, waiting: Sequence[str] = ()
) -> JobRow | None:
    """Start the oldest queued job of these devices in one statement, or return None.

    A job younger than the oldest one queued for a device of `waiting` stays queued, so that jobs that need the whole
    host, or all its GPUs, do not starve.
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
            publish_state(session, job)
        return job


def owned_jobs(database: Database, owner: str) -> dict[str, bool]:
    """Return the id of each running job of this owner, with whether it was asked to stop after its round.

    A missing job was cancelled or taken over.
    """
    with database.read() as session:
        rows = session.execute(select(JobRow.id, JobRow.stop_requested).where(_running(owner))).all()
        return {row.id: row.stop_requested for row in rows}


def renew_leases(
    database: Database, owner: str, job_ids: Sequence[str], device_ids: Sequence[str], lease_s: float
) -> None:
    """Renew the leases of these jobs of the owner, and send a heartbeat for its devices.

    Raises ConflictError if another owner has taken over a device.
    """
    with database.write() as session:
        mine = _running(owner) & JobRow.id.in_(job_ids)
        # An update locks rows in an undefined order.
        locked = session.scalars(select(JobRow.id).where(mine).order_by(JobRow.id).with_for_update()).all()
        session.execute(update(JobRow).where(JobRow.id.in_(locked)).values(lease_until=clock() + lease_s))
        devices.touch(session, device_ids, owner)


def requeue_lost(database: Database, lease_s: float, dead: Collection[str] = ()) -> int:
    """Requeue the running jobs with expired leases, and those of dead owners. Return their number.

    A lease that ends later than lease_s from now was given before the clock was set back, and ends after lease_s.

    The current case counts one loss instead of a crash, because dispatchers end for reasons unrelated to a case. Only
    LOSSES_MAX of them (runner.py) fail a case that takes its whole host down each time.
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
    """Return a running job to the queue with its records. Its next attempt measures the missing cases.

    lost_case  case that counts a loss
    """
    with database.write() as session:
        job = _fenced(session, lease)
        if job is not None:
            if lost_case is not None:
                _count(session, job, lost_case, losses=1)
            _requeue(session, job)
        return job is not None


def prune_events(database: Database) -> None:
    """Delete events that are too old to resume from."""
    with database.write() as session:
        session.execute(delete(EventRow).where(EventRow.created_at < clock() - EVENTS_KEPT_S))


def measured_cases(session: Session, job_id: str) -> set[str]:
    """Return the keys of the cases that have a record."""
    return set(session.scalars(select(MeasurementRow.case_key).where(MeasurementRow.job_id == job_id)))


def case_deaths(session: Session, job_id: str) -> dict[str, int]:
    """Return the number of crashes by case key; the empty key counts crashes between cases."""
    return _counts(session, job_id, CaseDeathRow.deaths)


def case_losses(session: Session, job_id: str) -> dict[str, int]:
    """Return the number of dispatcher losses by case key; the empty key counts losses between cases."""
    return _counts(session, job_id, CaseDeathRow.losses)


def progressed(database: Database, lease: Lease, case: str, progress: Progress) -> bool:
    """Store and publish the progress: the current case, and the progress since the job began.

    Returns False if the lease is lost, like every function below.
    """
    with database.write() as session:
        job = _fenced(session, lease)
        if job is not None:
            job.current_case = case
            job.progress = min(max(job.progress, progress.done), float(job.cases_total))
            job.message = progress.message[:MESSAGE_MAX]
            job.interim = [as_json(case) for case in progress.interim]
            events.emit(session, f"job:{job.id}", "progress", {"id": job.id, "case": case, **progress_document(job)})
        return job is not None


def measured(database: Database, lease: Lease, measurement: Measurement, trace: Trace | None = None) -> bool:
    """Commit a case: its Measurement and its Trace in one transaction."""
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
    """Store the bandwidth of the job's device."""
    with database.write() as session:
        job = _fenced(session, lease)
        if job is not None:
            devices.store_profile(session, profile)
        return job is not None


def died(database: Database, lease: Lease, case: str | None) -> Lease | None:
    """Count the crash of the process and start the next attempt under the same owner.

    The case is "" before any case, and None if no case is to blame.
    If the commit succeeded but its reply was lost, a second call finds the attempt gone. Then nobody renews the lease,
    and the job is requeued when it expires.
    """
    with database.write() as session:
        job = _fenced(session, lease)
        if job is None:
            return None
        if case is not None:
            _count(session, job, case, deaths=1)
        job.attempt += 1
        _idle(job)
        publish_state(session, job)
        return Lease(job.id, job.attempt)


def finish(
    database: Database, lease: Lease, state: JobState, run_s: float, error: dict[str, Any] | None = None
) -> bool:
    """End the job as succeeded or failed.

    run_s  seconds since this attempt was claimed, by a monotonic clock: the clock of the database may be set meanwhile,
    and estimates use this time
    """
    with database.write() as session:
        job = _fenced(session, lease)
        if job is not None:
            job.state, job.error = state, error or {}
            job.finished_at = (job.started_at or 0.0) + run_s
            _idle(job)
            publish_state(session, job)
        return job is not None


def _idle(job: JobRow) -> None:
    for name, value in IDLE.items():
        setattr(job, name, value)


def _running(owner: str) -> Any:
    return (JobRow.owner == owner) & (JobRow.state == JobState.RUNNING)


def _fenced(session: Session, lease: Lease) -> JobRow | None:
    """Return the locked row while the job runs under this lease, else None."""
    mine = (JobRow.id == lease.job_id, JobRow.attempt == lease.attempt, JobRow.state == JobState.RUNNING)
    return session.scalar(select(JobRow).where(*mine).with_for_update())


def _requeue(session: Session, job: JobRow) -> None:
    job.state, job.owner, job.lease_until = JobState.QUEUED, "", 0.0
    _idle(job)
    job.progress = float(job.cases_done)
    publish_state(session, job)


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
