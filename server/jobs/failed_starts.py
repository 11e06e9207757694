"""FailedStarts: the failed starts of a worker's engine, told to whoever waits for its devices."""

import logging
from collections.abc import Sequence
from contextlib import closing

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from gpu_engine.errors import EngineUnavailableError, SparsightError
from server import engine_faults
from server.db import Database, clock
from server.jobs.dispatcher_lock import owners
from server.jobs.queue import IDLE, tell_state
from server.models import DeviceRow, EngineFaultRow, JobRow, JobState
from server.settings import Settings

log = logging.getLogger(__name__)

STARTS_MAX = 4
"""So many failed starts in a row fail the jobs that wait for the worker's devices."""


class FailedStarts:
    """Keeps the fault of one worker in the database; a database that is away costs the report, not the worker."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def report(self, reason: str) -> None:
        """Counts a failed start; the jobs of its devices say why they wait, and fail with that after STARTS_MAX."""
        log.error("the engine does not start: %s", reason)
        try:
            with closing(Database(self._settings.resolved_database_url)) as database:
                store_failure(database, self._settings, reason)
        except (SQLAlchemyError, SparsightError) as error:
            log.error("the database does not take the reason why the engine does not start: %s", error)

    def clear(self) -> None:
        """Forgets the fault: the worker stops in order."""
        try:
            with closing(Database(self._settings.resolved_database_url)) as database:
                forget(database, self._settings)
        except (SQLAlchemyError, SparsightError) as error:
            log.warning("the database does not take that the worker has stopped: %s", error)


def store_failure(database: Database, settings: Settings, reason: str) -> int:
    """Stores a failed start and tells the jobs that wait for it; returns how many there were in a row."""
    with database.write() as session:
        devices = session.scalars(select(DeviceRow.id).where(DeviceRow.owner.in_(owners(settings.home)))).all()
        waiting = select(JobRow).where(JobRow.state == JobState.QUEUED, JobRow.device.in_(devices))
        jobs = session.scalars(waiting.order_by(JobRow.id).with_for_update()).all()
        fault = engine_faults.counted(session, engine_faults.worker_id(settings), devices, reason)
        if fault.tries >= STARTS_MAX:
            _fail(session, jobs, engine_faults.describe(fault))
        for job in jobs:
            tell_state(session, job)
        session.flush()
        session.merge(fault)
        return fault.tries


def forget(database: Database, settings: Settings) -> None:
    """Forgets the fault of a worker whose engine has started, or which stops."""
    worker = engine_faults.worker_id(settings)
    with database.read() as session:
        if session.get(EngineFaultRow, worker) is None:
            return
    with database.write() as session:
        engine_faults.clear(session, worker)


def _fail(session: Session, jobs: Sequence[JobRow], detail: str) -> None:
    now = session.execute(select(clock())).scalar_one()
    for job in jobs:
        job.state, job.error = JobState.FAILED, {"code": EngineUnavailableError.code, "detail": detail}
        job.finished_at = max(now, job.started_at or 0.0)
        for name, value in IDLE.items():
            setattr(job, name, value)
        log.error("the job %s has failed: %s", job.id, detail)
