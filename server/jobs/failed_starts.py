"""FailedStarts: report failed engine starts of a worker to the jobs that wait for its devices."""

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
from server.jobs.queue import IDLE, publish_state
from server.models import DeviceRow, EngineFaultRow, JobRow, JobState
from server.settings import Settings

log = logging.getLogger(__name__)

STARTS_MAX = 4
"""Consecutive failed starts after which the jobs that wait for the worker's devices fail."""


class FailedStarts:
    """Stores the fault of one worker in the database. If the database is unavailable, only the report is lost."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def report(self, reason: str) -> None:
        """Count a failed start. Waiting jobs show the reason, and fail with it after STARTS_MAX."""
        log.error("cannot start the engine: %s", reason)
        try:
            with closing(Database(self._settings.resolved_database_url)) as database:
                store_failure(database, self._settings, reason)
        except (SQLAlchemyError, SparsightError) as error:
            log.error("cannot start the engine: %s", error)

    def clear(self) -> None:
        """Delete the fault when the worker stops normally."""
        try:
            with closing(Database(self._settings.resolved_database_url)) as database:
                forget(database, self._settings)
        except (SQLAlchemyError, SparsightError) as error:
            log.warning("cannot store that the worker has stopped: %s", error)


def store_failure(database: Database, settings: Settings, reason: str) -> int:
    """Store a failed start, notify the waiting jobs, and return the number of consecutive failures."""
    with database.write() as session:
        devices = session.scalars(select(DeviceRow.id).where(DeviceRow.owner.in_(owners(settings.home)))).all()
        waiting = select(JobRow).where(JobRow.state == JobState.QUEUED, JobRow.device.in_(devices))
        jobs = session.scalars(waiting.order_by(JobRow.id).with_for_update()).all()
        fault = engine_faults.with_failed_start(session, engine_faults.worker_id(settings), devices, reason)
        if fault.tries >= STARTS_MAX:
            _fail(session, jobs, engine_faults.describe(fault))
        for job in jobs:
            publish_state(session, job)
        session.flush()
        session.merge(fault)
        return fault.tries


def forget(database: Database, settings: Settings) -> None:
    """Delete the fault of a worker whose engine has started, or which stops."""
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
        log.error("the job %s failed: %s", job.id, detail)
