"""Life cycle of a matrix: upload, generation, download, and deletion."""

import asyncio
import dataclasses
import hashlib
import logging
import re
import secrets
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from gpu_engine.errors import ConflictError, NotFoundError, UnavailableError
from gpu_engine.generators import allowed_params, find_generator
from gpu_engine.matrix_io.options import chosen
from gpu_engine.recordings.files import collected
from gpu_engine.records import dumps
from server import recorded_results
from server.catalogue import clean_name, get_matrix
from server.collection.entries import Entry
from server.collection.fetcher import Fetcher
from server.db import clock
from server.ingest import Ingestor, emit_state
from server.jobs.queue import delete_jobs, list_jobs
from server.models import (
    TERMINAL,
    MatrixRow,
    MatrixState,
    MeasurementRow,
    TraceRow,
)
from server.upload import Upload

log = logging.getLogger(__name__)

ANSWER_S = 10.0
"""Seconds that a request waits for an ingest before it returns 202."""

RACES = 2
"""Number of attempts if other requests add the same matrix at the same time."""

ENTRY_BYTES = 12
"""Bytes per nonzero: a column of 4 bytes and a value of 8."""

ENDINGS = re.compile(
    r"(\.(mtx|mm|txt|csv|tsv|dat|net|edges|el|tar|npz|mat|graphml|gexf|petsc|hb|rb|[rp][sua]a))?(\.(gz|bz2)|\.tgz)?$",
    re.IGNORECASE,
)
"""File name extensions that are not part of the matrix name."""


@dataclass(frozen=True)
class AddedMatrix:
    """Matrix that a request asked for: its row, whether this request created it, and its ingest in this process."""

    row: MatrixRow
    created: bool
    ingest: Future[None] | None


def add_upload(ingestor: Ingestor, upload: Upload) -> AddedMatrix:
    """Start to read an upload, or find the matrix of the same bytes and options. A failed one is read again."""
    source: dict[str, Any] = {"kind": "upload", "filename": clean_name(upload.filename), "bytes": upload.size}
    digest, options = upload.sha256, chosen(upload.options)
    if options:
        source["options"] = options
        digest = hashlib.sha256(dumps(["upload", digest, options]).encode()).hexdigest()
    name = clean_name(upload.name or ENDINGS.sub("", upload.filename)) or "matrix"
    row, created, is_needed = _claim(ingestor, digest, name, source)
    if not is_needed:
        return AddedMatrix(row, created, ingestor.running(row.id))
    upload.path.rename(ingestor.uploads / row.id)
    return AddedMatrix(row, created, ingestor.read(row.id, upload.options))


def add_generated(ingestor: Ingestor, generator: str, params: Mapping[str, Any], name: str = "") -> AddedMatrix:
    """Start to generate a matrix, or find the one with the same parameters. Raises ParameterError for invalid
    parameters.
    """
    full = dataclasses.asdict(allowed_params(generator, params, ingestor.settings.nnz_max))
    source = {"kind": "generated", "generator": generator, "params": full}
    digest = hashlib.sha256(dumps(["generated", generator, full]).encode()).hexdigest()
    row, created, is_needed = _claim(ingestor, digest, clean_name(name) or _generated_name(generator, full), source)
    return AddedMatrix(
        row, created, ingestor.generate(row.id, generator, full) if is_needed else ingestor.running(row.id)
    )


def add_fetched(fetcher: Fetcher, entry: Entry) -> AddedMatrix:
    """Start to download a matrix of the SuiteSparse collection, or find it. A failed one is downloaded again. Raises
    LimitError.
    """
    fetcher.check_room()
    ingestor, digest = fetcher.ingestor, hashlib.sha256(dumps(["collection", entry.id]).encode()).hexdigest()
    row, created, is_needed = _claim(ingestor, digest, entry.name, collected(entry.id))
    return AddedMatrix(row, created, fetcher.start(row.id, entry) if is_needed else ingestor.running(row.id))


def predict_generated(generator: str, params: Mapping[str, Any], nnz_max: int) -> dict[str, Any]:
    """Return the expected number of nonzeros and bytes of a generated matrix. Raises the errors of `allowed_params`."""
    chosen = allowed_params(generator, params, nnz_max)
    nnz = find_generator(generator).estimate_nnz(chosen)
    return {"generator": generator, "params": dataclasses.asdict(chosen), "nnz": nnz, "bytes": ENTRY_BYTES * nnz}


def _generated_name(generator: str, params: Mapping[str, Any]) -> str:
    return clean_name(f"{generator} " + " ".join(f"{name}={value}" for name, value in params.items()))


def _claim(
    ingestor: Ingestor, digest: str, name: str, source: dict[str, Any], again: int = RACES
) -> tuple[MatrixRow, bool, bool]:
    """Return the row of a source, whether it is new, and whether the caller has to fill it.

    again  number of further attempts if another request creates the same row at the same time
    """
    owned = ""
    try:
        with ingestor.database.write() as session:
            row = session.scalar(select(MatrixRow).where(MatrixRow.sha256 == digest).with_for_update())
            if row is not None and row.state != MatrixState.FAILED and not ingestor.has_lost(session, row):
                return row, False, False
            created = row is None
            if row is None:
                now = session.execute(select(clock())).scalar_one()
                row = MatrixRow(id=secrets.token_hex(8), sha256=digest, name=name, source=source, created_at=now)
                session.add(row)
            row.state, row.error = MatrixState.INGESTING, {}
            session.flush()
            emit_state(session, row)
            # Before the commit: after a crash, a row without this file would belong to no server.
            owned = row.id
            ingestor.mark(owned)
            return row, created, True
    except SQLAlchemyError as error:
        if owned:
            ingestor.unmark(owned)
        if not isinstance(error, IntegrityError):
            raise
        if again:
            # Another request created the row of the same source at the same time, and may have deleted it again.
            return _claim(ingestor, digest, name, source, again - 1)
        log.error("the database rejects the row of a matrix: %s", error.orig)
        raise UnavailableError(
            "The database rejects the row of this matrix and may be damaged. Try again. If that "
            "does not help, ask the administrator to run `sparsight doctor`."
        ) from error


async def settle(ingestor: Ingestor, added: AddedMatrix) -> MatrixRow:
    """Return the row after at most ANSWER_S seconds of waiting for its ingest.

    Raises the error of the ingest; a row that this request created is then deleted.
    """
    if added.ingest is not None:
        await _wait(added.ingest, ANSWER_S)
        if added.ingest.done():
            return await run_in_threadpool(_conclude, ingestor, added, added.ingest)
    return added.row


async def _wait(future: Future[None], seconds: float) -> None:
    """Return when the future is done or after this time, without blocking a thread."""
    done, loop = asyncio.Event(), asyncio.get_running_loop()

    def tell(_: Future[None]) -> None:
        with suppress(RuntimeError):  # The loop has ended, and with it whoever waited.
            loop.call_soon_threadsafe(done.set)

    future.add_done_callback(tell)
    with suppress(TimeoutError):
        await asyncio.wait_for(done.wait(), seconds)


def _conclude(ingestor: Ingestor, added: AddedMatrix, ingest: Future[None]) -> MatrixRow:
    """Return the row after its ingest, or raise the error."""
    error = None if ingest.cancelled() else ingest.exception()
    with ingestor.database.write() as session:
        row = session.get(MatrixRow, added.row.id, with_for_update=True)
        if error is None and row is not None:
            return row
        if added.created and row is not None and row.state == MatrixState.FAILED:
            emit_state(session, row, "deleted")
            session.delete(row)
    raise error or NotFoundError(f"The matrix {added.row.id} was deleted while it was being read.")


def delete_matrix(ingestor: Ingestor, matrix_id: str, with_results: bool = False) -> None:
    """Delete a matrix and its values, with its jobs only if `with_results` is set.

    Raises NotFoundError, and ConflictError for a reference matrix, a matrix with results, or one with unfinished jobs.
    """
    with ingestor.database.write() as session:
        # The row is locked, so that no further job of it can be queued.
        row = get_matrix(session, matrix_id, lock=True)
        if row.state == MatrixState.RECORDED:
            raise recorded_results.refusal(row)
        _delete_jobs(session, row.id, with_results)
        emit_state(session, row, "deleted")
        session.delete(row)
    ingestor.stop(matrix_id)
    ingestor.store.delete(matrix_id)


def _delete_jobs(session: Session, matrix_id: str, with_results: bool) -> None:
    """Delete the jobs that have no other matrix, and the results of this matrix in all other jobs."""
    jobs = list_jobs(session, matrix_id=matrix_id, limit=None).items
    if any(job.state not in TERMINAL for job in jobs):
        raise ConflictError("Jobs of this matrix are queued or running. Cancel them before deleting the matrix.")
    if jobs and not with_results:
        raise ConflictError(f"{len(jobs)} jobs have results of this matrix.", hint="delete_with_results")
    delete_jobs(session, [job.id for job in jobs if set(job.matrix_ids) == {matrix_id}])
    session.execute(delete(MeasurementRow).where(MeasurementRow.matrix_id == matrix_id))
    session.execute(delete(TraceRow).where(TraceRow.case_key.startswith(f"{matrix_id}|", autoescape=True)))
