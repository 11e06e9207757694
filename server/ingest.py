"""Ingestor: reads matrices, two at a time, each in its own process, and moves their rows from ingesting to ready."""

import fcntl
import json
import logging
import os
import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

from sqlalchemy import ColumnElement, exists, func, or_, select
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session

from gpu_engine.errors import DiskFullError, SparsightError, UnavailableError
from gpu_engine.matrix_io import ReadLimits, ReadOptions
from server import events, logs, sandbox
from server.db import AWAY, Database, clock
from server.disk import is_full
from server.errors import problem_of
from server.fork_server import Fork
from server.models import EventRow, MatrixRow, MatrixState
from server.outage import Outage
from server.settings import Settings
from server.store import Store

log = logging.getLogger(__name__)

AT_A_TIME = 2
RETRY_S = 1.0
"""Seconds between attempts to write the end of an ingest to the database."""

LOST_S = 3600.0
"""Seconds without an event after which an ingesting row of another server counts as abandoned."""

INTERRUPTED = "The service stopped while it read this matrix. Upload it again."


class Ingestor:
    """Runs the ingests of one server process. Uploads wait in `uploads`, in files named by the ids of
    their matrices.
    """

    def __init__(self, settings: Settings, database: Database, store: Store) -> None:
        self.database = database
        self.settings = settings
        self.store = store
        self.uploads = settings.home / "uploads"
        self._pool = ThreadPoolExecutor(AT_A_TIME, thread_name_prefix="ingest")
        self._lock = threading.Lock()
        self._futures: dict[str, Future[None]] = {}
        self._processes: dict[str, Fork] = {}
        self._unwanted: set[str] = set()
        self._closing = threading.Event()
        self._presence: IO[bytes] | None = None

    def open(self) -> None:
        """Start. The first server of a data directory cleans up after a crash of the previous one."""
        self.uploads.mkdir(parents=True, exist_ok=True)
        self._presence = (self.settings.home / "ingest.lock").open("ab")
        with suppress(BlockingIOError):
            fcntl.flock(self._presence, fcntl.LOCK_EX | fcntl.LOCK_NB)
            recover(self.database, self.store, self.uploads)
        # From now on the lock is shared, so that later servers do not treat the ingests of this one as leftovers.
        fcntl.flock(self._presence, fcntl.LOCK_SH)

    def close(self) -> None:
        """End every ingest. Their rows become failed, at the next start if the database is unavailable now."""
        with self._lock:
            self._closing.set()
            processes = list(self._processes.values())
        for process in processes:
            sandbox.kill(process)
        self._pool.shutdown(wait=True)
        sandbox.servers.close()
        if self._presence is not None:
            self._presence.close()

    def mark(self, matrix_id: str) -> None:
        """Create the file that shows after a crash that this ingest was ours. The upload replaces it."""
        (self.uploads / matrix_id).touch()

    def unmark(self, matrix_id: str) -> None:
        """Delete the file of `mark` unless a row waits for it. If the database is unavailable, the next
        start does so.
        """
        with suppress(*AWAY, PoolTimeoutError), self.database.read() as session:
            row = session.get(MatrixRow, matrix_id)
            if row is None or row.state != MatrixState.INGESTING:
                (self.uploads / matrix_id).unlink(missing_ok=True)

    def read(self, matrix_id: str, options: ReadOptions | None = None) -> Future[None]:
        """Start to read the upload of this matrix and delete it afterwards. The future raises the error."""
        return self._start(matrix_id, self._task(path=str(self.uploads / matrix_id), options=options or ReadOptions()))

    def preview(self, path: Path, options: ReadOptions) -> Future[dict[str, Any]]:
        """Start to read a file without storing it. The future gives the preview or raises the error."""
        return self._pool.submit(self._preview, self._task(path=str(path), options=options, preview=True))

    def generate(self, matrix_id: str, generator: str, params: dict[str, Any]) -> Future[None]:
        """Start to generate this matrix. The future raises the error."""
        return self._start(matrix_id, self._task(generator=generator, params=params))

    def run(self, matrix_id: str, pool: ThreadPoolExecutor, work: Callable[[], None]) -> Future[None]:
        """Start in a pool what makes this matrix ready. The ingest runs until the future is done."""
        with self._lock:
            future = pool.submit(work)
            self._futures[matrix_id] = future
        future.add_done_callback(lambda _: self._forget(matrix_id, future))
        return future

    @contextmanager
    def ending(self, matrix_id: str) -> Iterator[None]:
        """Run a block of an ingest. An error in it ends the ingest and is stored with the matrix."""
        try:
            yield
        except SparsightError as error:
            self._end(matrix_id, error)
            raise
        except Exception as error:
            unavailable = _explain(error)
            self._end(matrix_id, unavailable)
            raise unavailable from error

    def is_wanted(self, matrix_id: str) -> bool:
        """Return whether an ingest should continue: the matrix exists, and the service is not stopping."""
        with self._lock:
            return not self._closing.is_set() and matrix_id not in self._unwanted

    def running(self, matrix_id: str) -> Future[None] | None:
        """Return the future of an unfinished ingest of this process, if any."""
        with self._lock:
            return self._futures.get(matrix_id)

    @property
    def number(self) -> int:
        """Return the number of unfinished ingests of this process."""
        with self._lock:
            return len(self._futures)

    def has_lost(self, session: Session, row: MatrixRow) -> bool:
        """Return whether no server reads this ingesting row any more."""
        return self.running(row.id) is None and bool(session.scalar(select(is_silent()).where(MatrixRow.id == row.id)))

    def stop(self, matrix_id: str) -> None:
        """Cancel the ingest of a deleted matrix."""
        with self._lock:
            future, process = self._futures.get(matrix_id), self._processes.get(matrix_id)
        if process is not None:
            sandbox.kill(process)
        elif future is not None and future.cancel():
            (self.uploads / matrix_id).unlink(missing_ok=True)
        elif future is not None and not future.done():
            with self._lock:
                self._unwanted.add(matrix_id)

    def _task(self, **what: Any) -> sandbox.SandboxTask:
        s = self.settings
        limits = ReadLimits(decompressed_bytes=s.decompressed_bytes, nnz_max=s.nnz_max)
        return sandbox.SandboxTask(memory_bytes=s.ingest_memory_bytes, seconds=s.ingest_seconds, limits=limits, **what)

    def _start(self, matrix_id: str, task: sandbox.SandboxTask) -> Future[None]:
        return self.run(matrix_id, self._pool, partial(self._ingest, matrix_id, task))

    def _forget(self, matrix_id: str, future: Future[None]) -> None:
        with self._lock:
            if self._futures.get(matrix_id) is future:
                del self._futures[matrix_id]
            self._unwanted.discard(matrix_id)

    def _ingest(self, matrix_id: str, task: sandbox.SandboxTask) -> None:
        with logs.about(matrix=matrix_id):
            self._take_in(matrix_id, task)

    def _take_in(self, matrix_id: str, task: sandbox.SandboxTask) -> None:
        with self.ending(matrix_id):
            with self.store.stage() as folder:
                self._produce(matrix_id, task, folder)
                # An ingest whose row was lost may have left arrays.
                self.store.delete(matrix_id)
                self.store.commit(matrix_id, folder)
            self._written(lambda: self._finish(matrix_id), though_full=False)
        # Only now: with this file the next start finds a row whose end could not be written.
        (self.uploads / matrix_id).unlink(missing_ok=True)

    def _end(self, matrix_id: str, error: SparsightError) -> None:
        if isinstance(error, DiskFullError):
            # First free the space that the row needs. The empty file still shows whose ingest it was.
            self.store.delete(matrix_id)
            with suppress(OSError):
                os.truncate(self.uploads / matrix_id, 0)
        self._written(lambda: self._fail(matrix_id, error))
        (self.uploads / matrix_id).unlink(missing_ok=True)

    def _written(self, write: Callable[[], None], though_full: bool = True) -> None:
        """Call `write`, and repeat it while the database is unavailable, until the service stops.

        though_full  also while its disk is full
        """
        outage = Outage(log, "cannot write the end of an ingest to the database")
        while True:
            try:
                write()
                return outage.succeeded()
            except (*AWAY, PoolTimeoutError) as error:
                outage.failed(error)
                if is_full(error) and not though_full:
                    raise
                if self._closing.wait(RETRY_S):
                    raise

    def _preview(self, task: sandbox.SandboxTask) -> dict[str, Any]:
        with self.store.stage() as folder:
            self._produce(f"preview {secrets.token_hex(8)}", task, folder)
            document: dict[str, Any] = json.loads((folder / sandbox.PREVIEW).read_bytes())
            return document

    def _produce(self, matrix_id: str, task: sandbox.SandboxTask, folder: Path) -> None:
        def started(process: Fork) -> None:
            with self._lock:
                self._processes[matrix_id] = process
                closed = self._closing.is_set()
            if closed:
                sandbox.kill(process)

        try:
            if not self._closing.is_set():
                sandbox.run(task, folder, started)
        except SparsightError:
            # A process killed by `close` does not mean that the file is bad.
            if not self._closing.is_set():
                raise
        finally:
            with self._lock:
                self._processes.pop(matrix_id, None)
        if self._closing.is_set():
            raise UnavailableError(INTERRUPTED)

    def _finish(self, matrix_id: str) -> None:
        """Set the row to ready. If it was deleted meanwhile, delete its arrays."""
        meta = self.store.meta(matrix_id)
        with self.database.write() as session:
            row = _locked(session, matrix_id)
            if row is not None and row.state == MatrixState.INGESTING:
                row.state = MatrixState.READY
                row.n_rows, row.n_cols, row.nnz = meta["n_rows"], meta["n_cols"], meta["nnz"]
                row.fingerprint, row.features = meta["fingerprint"], meta["features"]
                row.source = {**row.source, "notes": meta["notes"], "duplicates": meta["duplicates"]}
                emit_state(session, row)
        self._drop_arrays(matrix_id, row)

    def _fail(self, matrix_id: str, error: SparsightError) -> None:
        with self.database.write() as session:
            row = _locked(session, matrix_id)
            if row is not None and row.state == MatrixState.INGESTING:
                fail(session, row, error)
        self._drop_arrays(matrix_id, row)

    def _drop_arrays(self, matrix_id: str, row: MatrixRow | None) -> None:
        # An earlier write, whose reply was lost, has already made it ready.
        if row is None or row.state != MatrixState.READY:
            self.store.delete(matrix_id)


def _locked(session: Session, matrix_id: str) -> MatrixRow | None:
    return session.scalar(select(MatrixRow).where(MatrixRow.id == matrix_id).with_for_update())


def _explain(error: Exception) -> UnavailableError:
    """Return the message for a caller about an internal error."""
    if is_full(error):
        log.error("the disk is full: %s", error)
        return DiskFullError()
    log.error("cannot store the matrix", exc_info=error)
    return UnavailableError("The server cannot store the matrix. Its log has the details. Try again later.")


def is_silent() -> ColumnElement[bool]:
    """Return whether an ingesting row has had no event for LOST_S, so that no server reads it.

    An event from the future was written before the clock was set back.
    """
    topic = "matrix:" + MatrixRow.id
    return ~exists().where(EventRow.topic == topic, func.abs(clock() - EventRow.created_at) < LOST_S)


def fail(session: Session, row: MatrixRow, error: SparsightError) -> None:
    """Set the row to failed, with the problem document for callers."""
    row.state, row.error = MatrixState.FAILED, problem_of(error)
    emit_state(session, row)


def emit_state(session: Session, row: MatrixRow, state: str = "") -> None:
    """Emit an event with the state of a matrix; a deleted one has the state `deleted`."""
    events.emit(session, f"matrix:{row.id}", "state", {"id": row.id, "state": state or row.state})


def recover(database: Database, store: Store, uploads: Path) -> None:
    """Clean up after a server that ended at work: its rows become failed, and its files are deleted.

    A SQLite database has one data directory. Servers that share a Postgres database clean up the rows with files among
    their own uploads, and rows without events for a long time. They do not touch the ingests of other servers or the
    staging folders of a shared store.
    """
    files = list(uploads.iterdir())
    lost = select(MatrixRow).where(MatrixRow.state == MatrixState.INGESTING)
    alone = database.engine.dialect.name == "sqlite"
    if not alone:
        lost = lost.where(or_(MatrixRow.id.in_([file.name for file in files]), is_silent()))
    with database.write() as session:
        rows = session.scalars(lost.order_by(MatrixRow.id).with_for_update()).all()
        for row in rows:
            fail(session, row, UnavailableError(INTERRUPTED))
        ready = set(session.scalars(select(MatrixRow.id).where(MatrixRow.state == MatrixState.READY)))
    for orphan in store.sweep(ready) if alone else ():
        log.warning("removed the arrays of %s, which has no row", orphan)
    for row in rows:
        store.delete(row.id)
    for file in files:
        file.unlink()
