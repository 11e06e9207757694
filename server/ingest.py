"""Ingestor: takes matrices in, two at a time, each read in a process of its own; a row goes from ingesting to ready."""

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
from server.forks import Fork
from server.models import EventRow, MatrixRow, MatrixState
from server.outage import Outage
from server.settings import Settings
from server.store import Store

log = logging.getLogger(__name__)

AT_A_TIME = 2
RETRY_S = 1.0
"""Pause before the end of an ingest is written again that the database did not take."""

LOST_S = 3600.0
"""A row that nobody here reads, and of which nothing was said for this long, is another server's no more."""

INTERRUPTED = "The service stopped while it read this matrix. Send it again."


class Ingestor:
    """Runs the ingests of one server process; an upload waits as the file of its matrix's id in `uploads`."""

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
        """Makes ready; the first server of a home clears up what a crash of the one before has left."""
        self.uploads.mkdir(parents=True, exist_ok=True)
        self._presence = (self.settings.home / "ingest.lock").open("ab")
        with suppress(BlockingIOError):
            fcntl.flock(self._presence, fcntl.LOCK_EX | fcntl.LOCK_NB)
            recover(self.database, self.store, self.uploads)
        # Shared from now on: no later server takes the ingests of this one for leftovers.
        fcntl.flock(self._presence, fcntl.LOCK_SH)

    def close(self) -> None:
        """Ends every ingest; their rows become failed, at the next start where the database is away now."""
        with self._lock:
            self._closing.set()
            processes = list(self._processes.values())
        for process in processes:
            sandbox.kill(process)
        self._pool.shutdown(wait=True)
        sandbox.close()
        if self._presence is not None:
            self._presence.close()

    def own(self, matrix_id: str) -> None:
        """Leaves the file that says after a crash whose this ingest was; what is read takes its place."""
        (self.uploads / matrix_id).touch()

    def disown(self, matrix_id: str) -> None:
        """Takes the file of `own` away, unless a row waits for it; where nobody can tell, the next start finds it."""
        with suppress(*AWAY, PoolTimeoutError), self.database.read() as session:
            row = session.get(MatrixRow, matrix_id)
            if row is None or row.state != MatrixState.INGESTING:
                (self.uploads / matrix_id).unlink(missing_ok=True)

    def read(self, matrix_id: str, options: ReadOptions | None = None) -> Future[None]:
        """Starts to read the upload of this matrix, which is deleted in the end; the future raises what went wrong."""
        return self._start(matrix_id, self._task(path=str(self.uploads / matrix_id), options=options or ReadOptions()))

    def preview(self, path: Path, options: ReadOptions) -> Future[dict[str, Any]]:
        """Starts to read a file without keeping anything; the future gives its preview or raises what went wrong."""
        return self._pool.submit(self._preview, self._task(path=str(path), options=options, preview=True))

    def generate(self, matrix_id: str, generator: str, params: dict[str, Any]) -> Future[None]:
        """Starts to generate this matrix; the future raises what went wrong."""
        return self._start(matrix_id, self._task(generator=generator, params=params))

    def run(self, matrix_id: str, pool: ThreadPoolExecutor, work: Callable[[], None]) -> Future[None]:
        """Starts what makes this matrix ready in a pool; it is running until the future is done."""
        with self._lock:
            future = pool.submit(work)
            self._futures[matrix_id] = future
        future.add_done_callback(lambda _: self._forget(matrix_id, future))
        return future

    @contextmanager
    def ending(self, matrix_id: str) -> Iterator[None]:
        """A block of an ingest: what goes wrong in it ends the ingest, and is said of the matrix."""
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
        """Whether an ingest that runs is to go on: the matrix was not deleted, the service does not end."""
        with self._lock:
            return not self._closing.is_set() and matrix_id not in self._unwanted

    def running(self, matrix_id: str) -> Future[None] | None:
        """The future of an ingest of this process that has not ended."""
        with self._lock:
            return self._futures.get(matrix_id)

    @property
    def number(self) -> int:
        """How many ingests of this process have not ended."""
        with self._lock:
            return len(self._futures)

    def has_lost(self, session: Session, row: MatrixRow) -> bool:
        """Whether no server reads this ingesting row any more."""
        return self.running(row.id) is None and bool(session.scalar(select(is_silent()).where(MatrixRow.id == row.id)))

    def stop(self, matrix_id: str) -> None:
        """Ends the ingest of a matrix that nobody wants any more."""
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
                # An ingest whose row was lost may have left some.
                self.store.delete(matrix_id)
                self.store.commit(matrix_id, folder)
            self._written(lambda: self._finish(matrix_id), though_full=False)
        # Only now: what a row waits for that nobody could write is found by this file at the next start.
        (self.uploads / matrix_id).unlink(missing_ok=True)

    def _end(self, matrix_id: str, error: SparsightError) -> None:
        if isinstance(error, DiskFullError):
            # What takes the room goes first: the row has to be written too. The file itself still says whose it was.
            self.store.delete(matrix_id)
            with suppress(OSError):
                os.truncate(self.uploads / matrix_id, 0)
        self._written(lambda: self._fail(matrix_id, error))
        (self.uploads / matrix_id).unlink(missing_ok=True)

    def _written(self, write: Callable[[], None], though_full: bool = True) -> None:
        """Writes; while the database does not take it, it is tried again, until the service stops.

        though_full  also where its disk is full
        """
        outage = Outage(log, "the database does not take the end of an ingest")
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
            # A process that `close` killed says nothing about the file.
            if not self._closing.is_set():
                raise
        finally:
            with self._lock:
                self._processes.pop(matrix_id, None)
        if self._closing.is_set():
            raise UnavailableError(INTERRUPTED)

    def _finish(self, matrix_id: str) -> None:
        """The row becomes ready; a row that was deleted meanwhile takes its arrays with it."""
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
        # A write whose answer was lost has made it ready before.
        if row is None or row.state != MatrixState.READY:
            self.store.delete(matrix_id)


def _locked(session: Session, matrix_id: str) -> MatrixRow | None:
    return session.scalar(select(MatrixRow).where(MatrixRow.id == matrix_id).with_for_update())


def _explain(error: Exception) -> UnavailableError:
    """Return what a caller is told of an error that is not his."""
    if is_full(error):
        log.error("the disk is full: %s", error)
        return DiskFullError()
    log.error("the matrix cannot be stored", exc_info=error)
    return UnavailableError("The matrix cannot be stored now; the log says why. Try again later.")


def is_silent() -> ColumnElement[bool]:
    """Whether nothing was said of an ingesting row for LOST_S: no server reads it.

    An event of later than now was written before the clock was put back.
    """
    topic = "matrix:" + MatrixRow.id
    return ~exists().where(EventRow.topic == topic, func.abs(clock() - EventRow.created_at) < LOST_S)


def fail(session: Session, row: MatrixRow, error: SparsightError) -> None:
    """The row becomes failed, with the problem document that a caller gets to see."""
    row.state, row.error = MatrixState.FAILED, problem_of(error)
    emit_state(session, row)


def emit_state(session: Session, row: MatrixRow, state: str = "") -> None:
    """Tells the state of a matrix to whoever follows it; a deleted one has the state `deleted`."""
    events.emit(session, f"matrix:{row.id}", "state", {"id": row.id, "state": state or row.state})


def recover(database: Database, store: Store, uploads: Path) -> None:
    """Clears up after a server that ended at work: its rows become failed, its files go.

    A SQLite database has one home. Those that share a Postgres clear up what has a file among their own uploads, and
    what nothing was said of for long; what another home takes in now, and the staged folders of a store that it may
    share, are not theirs to judge.
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
        log.warning("removed the arrays of %s, which no matrix has", orphan)
    for row in rows:
        store.delete(row.id)
    for file in files:
        file.unlink()
