"""Retention: delete old jobs and matrices as the settings allow, the least recently used first. By default nothing is
deleted.
"""

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import select

from gpu_engine.errors import ConflictError, NotFoundError
from server import matrix_lifecycle
from server.db import AWAY, Database, clock
from server.ingest import Ingestor
from server.jobs.queue import delete_jobs
from server.models import TERMINAL, JobRow, MatrixRow, MatrixState
from server.settings import Settings

log = logging.getLogger(__name__)

PERIOD_S = 3600.0
DAY_S = 86400.0
JUMP_S = 3600.0
"""If the clock gains more seconds than this between two sweeps, it was set and may be wrong."""

OURS = (MatrixState.READY, MatrixState.FAILED)
"""States of matrices that are never deleted: reference matrices, and those that are being read."""


@dataclass(frozen=True)
class Use:
    """Last time when a matrix was created or measured."""

    matrix_id: str
    used_at: float


def run(ingestor: Ingestor, settings: Settings, stopping: threading.Event) -> None:
    """Sweep at once and every hour until the server stops; return if the settings keep everything."""
    if not settings.keep_days and not settings.keep_bytes:
        return
    watch = ClockWatch(ingestor.database)
    while True:
        try:
            sweep(ingestor, settings, by_age=watch.is_trusted())
        except AWAY as error:
            log.warning("retention: database unavailable: %s", error)
        if stopping.wait(PERIOD_S):
            return


class ClockWatch:
    """Detects that the database's clock was set forward. Deletions by age then wait for a day."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._gain_s: float | None = None
        self._trusted_at = 0.0

    def is_trusted(self) -> bool:
        """Return whether the clock has advanced normally since the last call, or was set forward at least a day ago."""
        passed_s = time.clock_gettime(time.CLOCK_BOOTTIME)
        with self._database.read() as session:
            gain_s = session.execute(select(clock())).scalar_one() - passed_s
        is_over = 0 < self._trusted_at <= passed_s
        if self._gain_s is None or gain_s < self._gain_s + JUMP_S or is_over:
            self._gain_s, self._trusted_at = gain_s, 0.0
        elif not self._trusted_at:
            self._trusted_at = passed_s + DAY_S
            ahead_s = gain_s - self._gain_s
            log.warning("retention: the clock was set forward by %.0f s; no deletions by age for one day", ahead_s)
        return not self._trusted_at


def sweep(ingestor: Ingestor, settings: Settings, by_age: bool = True) -> None:
    """Delete what is older than `keep_days`, then matrices with their jobs until the store fits in `keep_bytes`.

    by_age  False: delete nothing because of its age
    """
    if settings.keep_days and by_age:
        _sweep_age(ingestor, settings.keep_days * DAY_S)
    if settings.keep_bytes:
        _sweep_size(ingestor, settings.keep_bytes)


def _sweep_age(ingestor: Ingestor, age_s: float) -> None:
    with ingestor.database.write() as session:
        oldest = session.execute(select(clock())).scalar_one() - age_s
        over = select(JobRow.id, JobRow.study).where(JobRow.state.in_(TERMINAL), JobRow.finished_at < oldest)
        jobs = session.execute(over).all()
        delete_jobs(session, [job.id for job in jobs])
    for job in jobs:
        log.info("retention: deleted the job %s of %s", job.id, job.study)
    for use in _uses(ingestor.database):
        if use.used_at < oldest:
            _delete(ingestor, use.matrix_id, "old")


def _sweep_size(ingestor: Ingestor, most: int) -> None:
    uses = sorted(_uses(ingestor.database), key=lambda use: use.used_at)
    sizes = {use.matrix_id: ingestor.store.bytes(use.matrix_id) for use in uses}
    total = sum(sizes.values())
    for use in uses:
        if total <= most:
            return
        if _delete(ingestor, use.matrix_id, "too much"):
            total -= sizes[use.matrix_id]


def _uses(database: Database) -> Iterator[Use]:
    """Return the last use of our matrices, except those being read. A matrix of an unfinished job cannot be deleted."""
    with database.read() as session:
        jobs = session.execute(select(JobRow.matrix_ids, JobRow.created_at, JobRow.finished_at)).all()
        made = session.execute(select(MatrixRow.id, MatrixRow.created_at).where(MatrixRow.state.in_(OURS))).all()
    used_at = {matrix_id: created_at for matrix_id, created_at in made}  # noqa: C416 (a Row is no pair to mypy)
    for ids, created_at, finished_at in jobs:
        for matrix_id in used_at.keys() & set(ids):
            used_at[matrix_id] = max(used_at[matrix_id], finished_at or created_at)
    return (Use(matrix_id, at) for matrix_id, at in used_at.items())


def _delete(ingestor: Ingestor, matrix_id: str, reason: str) -> bool:
    """Delete the matrix with its results, unless an unfinished job needs it or it is already deleted."""
    try:
        matrix_lifecycle.delete_matrix(ingestor, matrix_id, with_results=True)
    except (ConflictError, NotFoundError) as error:
        log.info("retention: kept the matrix %s: %s", matrix_id, error.message)
        return False
    log.info("retention: deleted the matrix %s: %s", matrix_id, reason)
    return True
