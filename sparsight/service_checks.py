"""The checks of `sparsight doctor` that look at a service in use: its database, queue, uploads and folders."""

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
from server.folders import PREFIX, check_temporary_folder
from server.ingest import is_silent
from server.jobs.failed_starts import STARTS_MAX
from server.migrate import check_current
from server.models import JobRow, JobState, MatrixRow, MatrixState
from server.settings import GIB, Settings
from sparsight.checks import Check


def examine_service(settings: Settings) -> Iterator[Check]:
    """Nothing where there is no database of this release; what is wrong with that is said elsewhere."""
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
        return Check("Integrity", "ok", "is Postgres' own")
    if database.bytes() > CHECKED_BYTES:
        return Check("Integrity", "ok", f"not looked at: {database.bytes() / GIB:.1f} GiB")
    try:
        database.check_whole()
    except UnavailableError as error:
        found, _, advice = error.message.partition(". ")
        return Check("Integrity", "fail", found, advice)
    return Check("Integrity", "ok", "the database is whole")


def _engine(session: Session) -> Check:
    """Whether the workers can start what runs jobs."""
    if faults := engine_faults.list_faults(session):
        advice = (
            f"Jobs of its devices fail after {STARTS_MAX} tries; once it starts, `sparsight jobs retry` repeats them."
        )
        return Check("Engine", "fail", " ".join(map(engine_faults.describe, faults)), advice)
    return Check("Engine", "ok", "no worker has failed to start it")


def _queue(session: Session) -> Check:
    """Whether somebody runs what is queued."""
    alive = devices.alive(session, devices.list_devices(session))
    counted = select(JobRow.device, func.count()).group_by(JobRow.device)
    queued = {row[0]: row[1] for row in session.execute(counted.where(JobRow.state == JobState.QUEUED))}
    running = session.scalar(select(func.count()).where(JobRow.state == JobState.RUNNING)) or 0
    waiting = {device: number for device, number in sorted(queued.items()) if device not in alive}
    if waiting:
        found = ", ".join(f"{number} for {device}" for device, number in waiting.items())
        advice = "Start the worker of that host, or cancel them."
        return Check("Queue", "warn", f"jobs wait for what no worker offers: {found}", advice)
    offered = ", ".join(sorted(alive)) or "nothing"
    return Check("Queue", "ok", f"{sum(queued.values())} queued, {running} running; workers offer {offered}")


def _uploads(session: Session) -> Check:
    ingesting = select(func.count()).where(MatrixRow.state == MatrixState.INGESTING)
    number, lost = session.scalar(ingesting) or 0, session.scalar(ingesting.where(is_silent())) or 0
    if lost:
        return Check("Uploads", "warn", f"{lost} matrices are read by no server any more", "Send them again.")
    return Check("Uploads", "ok", f"{number} matrices are being read")


def check_worker_folders() -> Check:
    """Whether a worker has a place for its temporary folder, and no other user can enter it."""
    try:
        check_temporary_folder()
    except UnavailableError as error:
        found, _, advice = error.message.rpartition(". ")
        return Check("Worker folders", "fail", found, advice)
    ours = [path for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*") if path.lstat().st_uid == os.geteuid()]
    opened = [path for path in ours if path.is_dir() and path.stat().st_mode & OTHERS_MAY]
    if opened:
        advice = f"Stop the worker, then `rm -r {opened[0]}`: nobody else may write where it imports from."
        return Check("Worker folders", "warn", f"other users can enter {opened[0]}", advice)
    return Check("Worker folders", "ok", "closed to other users")
