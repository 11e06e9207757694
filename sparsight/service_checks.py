"""Checks of `sparsight doctor` for a service in use: its database, engine, queue, uploads, and worker folders."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from gpu_engine.errors import SparsightError, UnavailableError
from gpu_engine.host.private_files import OTHERS_MAY
from server import devices, engine_faults
from server.db import CHECKED_BYTES, Database
from server.ingest import is_silent
from server.jobs.failed_starts import STARTS_MAX
from server.migrate import check_current
from server.models import JobRow, JobState, MatrixRow, MatrixState
from server.private_folders import PREFIX, check_temporary_folder
from server.settings import GIB, Settings
from sparsight.doctor_check import Check


def examine_service(settings: Settings) -> Iterator[Check]:
    """Yield the checks of the database, engine, queue, and uploads; none without a database of this release.

    Another check reports a missing or outdated database.
    """
    try:
        with closing(Database(settings.resolved_database_url)) as database:
            if database.engine.dialect.name == "sqlite" and not Path(database.engine.url.database or "").is_file():
                return
            check_current(database)
            checks = [_integrity(database)]
            with database.read() as session:
                checks += [_engine(session), _queue(session), _uploads(session)]
    except (SparsightError, SQLAlchemyError, OSError):
        return
    yield from checks


def _integrity(database: Database) -> Check:
    if database.engine.dialect.name != "sqlite":
        return Check("Integrity", "ok", "not checked: PostgreSQL checks itself")
    if database.bytes() > CHECKED_BYTES:
        return Check("Integrity", "ok", f"not checked: the database has {database.bytes() / GIB:.1f} GiB")
    try:
        database.check_whole()
    except UnavailableError as error:
        state, _, advice = error.message.partition(". ")
        return Check("Integrity", "fail", state, advice)
    return Check("Integrity", "ok", "the database is intact")


def _engine(session: Session) -> Check:
    """Check that the workers can start Ray."""
    if faults := engine_faults.list_faults(session):
        advice = (
            f"Jobs of its devices fail after {STARTS_MAX} attempts. When Ray starts again, "
            "use `sparsight jobs retry` to repeat them."
        )
        return Check("Engine", "fail", " ".join(map(engine_faults.describe, faults)), advice)
    return Check("Engine", "ok", "no worker reports a fault")


def _queue(session: Session) -> Check:
    """Check that a worker provides the device of every queued job."""
    alive = devices.alive(session, devices.list_devices(session))
    jobs_by_device = select(JobRow.device, func.count()).group_by(JobRow.device)
    queued = {row[0]: row[1] for row in session.execute(jobs_by_device.where(JobRow.state == JobState.QUEUED))}
    running = session.scalar(select(func.count()).where(JobRow.state == JobState.RUNNING)) or 0
    waiting = {device: number for device, number in sorted(queued.items()) if device not in alive}
    if waiting:
        jobs = ", ".join(f"{number} for {device}" for device, number in waiting.items())
        advice = "Start the worker of that host, or cancel these jobs."
        return Check("Queue", "warn", f"queued jobs need devices that no worker provides: {jobs}", advice)
    available = ", ".join(sorted(alive)) or "none"
    return Check("Queue", "ok", f"{sum(queued.values())} queued, {running} running; available devices: {available}")


def _uploads(session: Session) -> Check:
    ingesting = select(func.count()).where(MatrixRow.state == MatrixState.INGESTING)
    number, lost = session.scalar(ingesting) or 0, session.scalar(ingesting.where(is_silent())) or 0
    if lost:
        return Check("Uploads", "warn", f"{lost} uploads were interrupted", "Upload these matrices again.")
    return Check("Uploads", "ok", f"the server is reading {number} matrices")


def check_worker_folders() -> Check:
    """Check that a worker can create its temporary folder and that no other user can enter it."""
    try:
        check_temporary_folder()
    except UnavailableError as error:
        state, _, advice = error.message.rpartition(". ")
        return Check("Worker folders", "fail", state, advice)
    folders = [path for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*") if path.lstat().st_uid == os.geteuid()]
    exposed = [path for path in folders if path.is_dir() and path.stat().st_mode & OTHERS_MAY]
    if exposed:
        advice = f"The worker imports code from it. Stop the worker, then run `rm -r {exposed[0]}`."
        return Check("Worker folders", "warn", f"other users can enter {exposed[0]}", advice)
    return Check("Worker folders", "ok", "closed to other users")
