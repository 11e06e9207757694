"""Ingestor: takes matrices in, two at a time, each read in a process of its own; a row goes from ingesting to ready."""

import fcntl
import json
import logging
import secrets
import subprocess
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine.errors import SparsightError, UnavailableError
from gpu_engine.matrix_io import ReadLimits, ReadOptions
from server import events, sandbox
from server.db import Database
from server.errors import problem_of
from server.models import MatrixRow, MatrixState
from server.settings import Settings
from server.store import Store

log = logging.getLogger(__name__)

AT_A_TIME = 2
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
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._closed = False
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
        """Ends every ingest; their rows become failed."""
        with self._lock:
            self._closed = True
            processes = list(self._processes.values())
        for process in processes:
            sandbox.kill(process)
        self._pool.shutdown(wait=True)
        if self._presence is not None:
            self._presence.close()

    def read(self, matrix_id: str, options: ReadOptions | None = None) -> Future[None]:
        """Starts to read the upload of this matrix, which is deleted in the end; the future raises what went wrong."""
        return self._start(matrix_id, self._task(path=str(self.uploads / matrix_id), options=options or ReadOptions()))

    def preview(self, path: Path, options: ReadOptions) -> Future[dict[str, Any]]:
        """Starts to read a file without keeping anything; the future gives its preview or raises what went wrong."""
        return self._pool.submit(self._preview, self._task(path=str(path), options=options, preview=True))

    def generate(self, matrix_id: str, family: str, params: dict[str, Any]) -> Future[None]:
        """Starts to generate this matrix; the future raises what went wrong."""
        # What says after a crash whose it was.
        (self.uploads / matrix_id).touch()
        return self._start(matrix_id, self._task(family=family, params=params))

    def running(self, matrix_id: str) -> Future[None] | None:
        """The future of an ingest of this process that has not ended."""
        with self._lock:
            return self._futures.get(matrix_id)

    def stop(self, matrix_id: str) -> None:
        """Ends the ingest of a matrix that nobody wants any more."""
        with self._lock:
            future, process = self._futures.get(matrix_id), self._processes.get(matrix_id)
        if process is not None:
            sandbox.kill(process)
        elif future is not None and future.cancel():
            (self.uploads / matrix_id).unlink(missing_ok=True)

    def _task(self, **what: Any) -> sandbox.Task:
        s = self.settings
        limits = ReadLimits(decompressed_bytes=s.decompressed_bytes, nnz_max=s.nnz_max)
        return sandbox.Task(memory_bytes=s.ingest_memory_bytes, seconds=s.ingest_seconds, limits=limits, **what)

    def _start(self, matrix_id: str, task: sandbox.Task) -> Future[None]:
        with self._lock:
            future = self._pool.submit(self._ingest, matrix_id, task)
            self._futures[matrix_id] = future
        future.add_done_callback(lambda _: self._forget(matrix_id, future))
        return future

    def _forget(self, matrix_id: str, future: Future[None]) -> None:
        with self._lock:
            if self._futures.get(matrix_id) is future:
                del self._futures[matrix_id]

    def _ingest(self, matrix_id: str, task: sandbox.Task) -> None:
        try:
            with self.store.stage() as folder:
                self._produce(matrix_id, task, folder)
                self.store.commit(matrix_id, folder)
            self._finish(matrix_id)
        except SparsightError as error:
            self._fail(matrix_id, error)
            raise
        except Exception as error:
            log.exception("ingest of %s", matrix_id)
            unavailable = UnavailableError("The matrix cannot be stored now; the log says why. Try again later.")
            self._fail(matrix_id, unavailable)
            raise unavailable from error
        finally:
            (self.uploads / matrix_id).unlink(missing_ok=True)

    def _preview(self, task: sandbox.Task) -> dict[str, Any]:
        with self.store.stage() as folder:
            self._produce(f"preview {secrets.token_hex(8)}", task, folder)
            document: dict[str, Any] = json.loads((folder / sandbox.PREVIEW).read_bytes())
            return document

    def _produce(self, matrix_id: str, task: sandbox.Task, folder: Path) -> None:
        def started(process: subprocess.Popen[str]) -> None:
            with self._lock:
                self._processes[matrix_id] = process
                closed = self._closed
            if closed:
                sandbox.kill(process)

        try:
            if not self._closed:
                sandbox.run(task, folder, self.settings.home / "numba", started)
        except SparsightError:
            # A process that `close` killed says nothing about the file.
            if not self._closed:
                raise
        finally:
            with self._lock:
                self._processes.pop(matrix_id, None)
        if self._closed:
            raise UnavailableError(INTERRUPTED)

    def _finish(self, matrix_id: str) -> None:
        """The row becomes ready; a row that was deleted meanwhile takes its arrays with it."""
        meta = self.store.meta(matrix_id)
        with self.database.write() as session:
            row = _ingesting(session, matrix_id)
            if row is not None:
                row.state = MatrixState.READY
                row.n_rows, row.n_cols, row.nnz = meta["n_rows"], meta["n_cols"], meta["nnz"]
                row.fingerprint, row.features = meta["fingerprint"], meta["features"]
                row.source = {**row.source, "notes": meta["notes"], "duplicates": meta["duplicates"]}
                emit_state(session, row)
        if row is None:
            self.store.delete(matrix_id)

    def _fail(self, matrix_id: str, error: SparsightError) -> None:
        self.store.delete(matrix_id)
        with self.database.write() as session:
            row = _ingesting(session, matrix_id)
            if row is not None:
                fail(session, row, error)


def _ingesting(session: Session, matrix_id: str) -> MatrixRow | None:
    """The row, locked, while it still waits for its values."""
    wanted = select(MatrixRow).where(MatrixRow.id == matrix_id, MatrixRow.state == MatrixState.INGESTING)
    return session.scalar(wanted.with_for_update())


def fail(session: Session, row: MatrixRow, error: SparsightError) -> None:
    """The row becomes failed, with the problem document that a caller gets to see."""
    row.state, row.error = MatrixState.FAILED, problem_of(error)
    emit_state(session, row)


def emit_state(session: Session, row: MatrixRow, state: str = "") -> None:
    """Tells the state of a matrix to whoever follows it; a deleted one has the state `deleted`."""
    events.emit(session, f"matrix:{row.id}", "state", {"id": row.id, "state": state or row.state})


def recover(database: Database, store: Store, uploads: Path) -> None:
    """Clears up after a server that ended at work: its rows become failed, its files go.

    A SQLite database has one home. Those that share a Postgres clear up what has a file among their own uploads; what
    another home takes in now, and the staged folders of a store that it may share, are not theirs to judge.
    """
    files = list(uploads.iterdir())
    lost = select(MatrixRow).where(MatrixRow.state == MatrixState.INGESTING)
    alone = database.engine.dialect.name == "sqlite"
    if not alone:
        lost = lost.where(MatrixRow.id.in_([file.name for file in files]))
    with database.write() as session:
        rows = session.scalars(lost.with_for_update()).all()
        for row in rows:
            fail(session, row, UnavailableError(INTERRUPTED))
        ready = set(session.scalars(select(MatrixRow.id).where(MatrixRow.state == MatrixState.READY)))
    for orphan in store.sweep(ready) if alone else ():
        log.warning("removed the arrays of %s, which no matrix has", orphan)
    for row in rows:
        store.delete(row.id)
    for file in files:
        file.unlink()
