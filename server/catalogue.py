"""The catalogue of matrices: what is there, how to find it, and how a matrix comes in and goes."""

import asyncio
import dataclasses
import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Float, and_, delete, func, literal, or_, select, true
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from gpu_engine.advisor import advise
from gpu_engine.errors import ConflictError, NotFoundError, ParameterError, TooLargeError, quote
from gpu_engine.findings import units
from gpu_engine.generators import generator
from gpu_engine.matrix_io.options import chosen
from gpu_engine.parameters import parse_params
from gpu_engine.records import dumps
from gpu_engine.studies import STUDIES
from server import recorded_results
from server.db import clock
from server.documents import time_of
from server.ingest import Ingestor, emit_state
from server.jobs.queue import list_jobs
from server.models import (
    TERMINAL,
    JobRow,
    MatrixRow,
    MatrixState,
    MeasurementRow,
    RecordedResultsRow,
    RecordingRow,
    TraceRow,
)
from server.paging import LIMIT_DEFAULT, Page, decode_cursor, encode_cursor
from server.upload import Upload

ANSWER_S = 10.0
"""An ingest that takes longer than this is answered with 202."""

NAME_MAX = 200
ENTRY_BYTES = 12
"""A column of 4 bytes and a value of 8."""

QUERY_MAX = 200
ENDINGS = re.compile(
    r"(\.(mtx|mm|txt|csv|tsv|dat|net|edges|el|tar|npz|mat|hb|rb|[rp][sua]a))?(\.(gz|bz2)|\.tgz)?$", re.IGNORECASE
)
"""What a file name says about the file and not about the matrix."""

ID = re.compile(r"[A-Za-z0-9_-]{1,32}")


def _feature(name: str) -> ColumnElement[Any]:
    """A feature as a number; −1 while the matrix has none."""
    return func.coalesce(MatrixRow.features[name].as_float(), literal(-1.0, Float))


def _has_results(study: str) -> ColumnElement[bool]:
    """Whether a study says something of a matrix, measured here or recorded elsewhere."""
    here = select(MeasurementRow.id).join(JobRow, JobRow.id == MeasurementRow.job_id)
    elsewhere = select(RecordedResultsRow.id).join(RecordingRow, RecordingRow.id == RecordedResultsRow.recording_id)
    return or_(
        here.where(MeasurementRow.matrix_id == MatrixRow.id, JobRow.study == study).exists(),
        elsewhere.where(RecordedResultsRow.fingerprint == MatrixRow.fingerprint, RecordingRow.study == study).exists(),
    )


SORTS: dict[str, ColumnElement[Any]] = {
    "created_at": MatrixRow.created_at.expression,
    "name": func.lower(MatrixRow.name),
    "n_rows": MatrixRow.n_rows.expression,
    "nnz": MatrixRow.nnz.expression,
    "ave": _feature("ave"),
    "sigma": _feature("sigma"),
    "max": _feature("max"),
}
SORT_DEFAULT = "-created_at"
_NNZ, _SQUARE = MatrixRow.nnz, (MatrixRow.n_rows > 0) & (MatrixRow.n_rows == MatrixRow.n_cols)
FACETS: dict[str, dict[str, ColumnElement[bool]]] = {
    "source": {
        "mine": MatrixRow.state != MatrixState.RECORDED,
        "recorded": MatrixRow.state == MatrixState.RECORDED,
        "all": true(),
    },
    "shape": {
        "symmetric": MatrixRow.features["symmetric"].as_boolean(),
        "square": _SQUARE,
        "rectangular": MatrixRow.n_rows != MatrixRow.n_cols,
    },
    "nnz": {
        "under-100k": _NNZ < 100_000,
        "100k-10m": _NNZ.between(100_000, 10_000_000),
        "over-10m": _NNZ > 10_000_000,
    },
    "kind": {kind: MatrixRow.source["kind"].as_string() == kind for kind in ("upload", "generated", "collection")},
    "results": {study.name: _has_results(study.name) for study in STUDIES},
}
"""What tells matrices apart in a list: facet → value → who has it. Symmetric are those whose values are too."""


def list_matrices(
    session: Session,
    q: str = "",
    sort: str = SORT_DEFAULT,
    limit: int = LIMIT_DEFAULT,
    cursor: str | None = None,
    recorded: bool = False,
    **facets: str,
) -> Page[MatrixRow]:
    """Matrices whose name contains `q` in any case, or whose id or fingerprint begins with it.

    sort      a key of SORTS, with a minus before it for descending; ties by id.
    recorded  with those that came with recorded results and have no values
    facets    a key of FACETS and one of its values each, empty for any
    Raises ParameterError for an unknown sort or facet, and a cursor that is not of this list.
    """
    name, descending = sort.removeprefix("-"), sort.startswith("-")
    if name not in SORTS:
        raise ParameterError(f"Matrices cannot be sorted by {quote(sort)}; known: {', '.join(SORTS)} (or -name …).")
    key = SORTS[name]
    query = select(MatrixRow, key).where(*_matching(q), *(_facet(facet, value) for facet, value in facets.items()))
    if not recorded:
        query = query.where(MatrixRow.state != MatrixState.RECORDED)
    if cursor is not None:
        query = query.where(_after(key, descending, *_cursor(cursor, sort)))
    order = (key.desc(), MatrixRow.id.desc()) if descending else (key.asc(), MatrixRow.id.asc())
    found = session.execute(query.order_by(*order).limit(limit + 1)).all()
    rows = [row for row, _ in found[:limit]]
    more = len(found) > limit
    return Page(rows, encode_cursor(sort, found[limit - 1][1], rows[-1].id) if more else None)


def _facet(name: str, value: str) -> ColumnElement[bool]:
    """Whether a matrix has the value of a facet."""
    if value and value not in FACETS[name]:
        raise ParameterError(f"{name} is {quote(value)}; it must be one of {', '.join(FACETS[name])}.")
    return FACETS[name][value] if value else true()


def _matching(q: str) -> list[ColumnElement[bool]]:
    text = clean_name(q)[:QUERY_MAX]
    if not text:
        return []
    starts = (column.startswith(text, autoescape=True) for column in (MatrixRow.id, MatrixRow.fingerprint))
    return [or_(MatrixRow.name.icontains(text, autoescape=True), *starts)]


def _cursor(cursor: str, sort: str) -> tuple[str | float, str]:
    """The sort key and id behind a cursor of a list in this order."""
    order, key, last = decode_cursor(cursor, 3)
    # The comparison is false for NaN, infinity, and numbers past what a database holds.
    number = isinstance(key, int | float) and abs(key) < 2**63
    fits = isinstance(key, str) and key.isprintable() if sort.removeprefix("-") == "name" else number
    if order != sort or not fits or not isinstance(last, str) or not ID.fullmatch(last):
        raise ParameterError("The cursor is not one that this list gave; start again without it.")
    return key, last


def _after(key: ColumnElement[Any], descending: bool, value: Any, last: str) -> ColumnElement[bool]:
    """Rows that come after (value, last) in this order."""
    if descending:
        return or_(key < value, and_(key == value, MatrixRow.id < last))
    return or_(key > value, and_(key == value, MatrixRow.id > last))


def get_matrix(session: Session, matrix_id: str) -> MatrixRow:
    """The matrix; raises NotFoundError."""
    row = session.get(MatrixRow, matrix_id) if ID.fullmatch(matrix_id) else None
    if row is None:
        raise NotFoundError(f"There is no matrix {quote(matrix_id)}.", hint="list_matrices")
    return row


def ready_twins(session: Session, row: MatrixRow) -> list[MatrixRow]:
    """The matrices with values that equal this one, the oldest first."""
    equal = select(MatrixRow).where(MatrixRow.fingerprint == row.fingerprint, MatrixRow.state == MatrixState.READY)
    return list(session.scalars(equal.order_by(MatrixRow.created_at, MatrixRow.id)))


def with_values(session: Session, ids: Sequence[str]) -> dict[str, MatrixRow]:
    """Each of these matrices that is here with its values, as itself or as the oldest that equals it."""
    rows = {row.id: row for row in session.scalars(select(MatrixRow).where(MatrixRow.id.in_(ids)))}
    equal = select(MatrixRow).where(
        MatrixRow.fingerprint.in_([row.fingerprint for row in rows.values()]), MatrixRow.state == MatrixState.READY
    )
    newest_first = session.scalars(equal.order_by(MatrixRow.created_at.desc(), MatrixRow.id.desc()))
    oldest = {row.fingerprint: row for row in newest_first}
    here = {i: rows[i] if rows[i].state == MatrixState.READY else oldest.get(rows[i].fingerprint) for i in ids}
    return {matrix_id: row for matrix_id, row in here.items() if row}


def matrix_document(row: MatrixRow) -> dict[str, Any]:
    """The matrix in its REST form; `error` is the problem document of a failed one, else None."""
    return {
        "id": row.id,
        "name": row.name,
        "state": row.state,
        "sha256": row.sha256,
        "fingerprint": row.fingerprint or None,
        "n_rows": row.n_rows,
        "n_cols": row.n_cols,
        "nnz": row.nnz,
        "features": row.features,
        "advice": [dataclasses.asdict(advice) for advice in advise(row.features)],
        "source": row.source,
        "error": row.error or None,
        "created_at": time_of(row.created_at),
        "links": {"self": matrix_path(row.id), "events": f"/api/v1/events?topics=matrix:{row.id}"},
    }


def matrix_path(matrix_id: str) -> str:
    """Where the API serves the matrix."""
    return f"/api/v1/matrices/{matrix_id}"


def clean_name(text: str) -> str:
    """A name as it is stored and shown: printable, single spaces, at most NAME_MAX characters; never part of a path."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(printable.split())[:NAME_MAX]


@dataclass(frozen=True)
class Added:
    """A matrix that was asked for: its row, whether this call made it, and its ingest if that runs here."""

    row: MatrixRow
    created: bool
    ingest: Future[None] | None


def add_upload(ingestor: Ingestor, upload: Upload) -> Added:
    """Starts to read an upload, or finds the matrix of the same bytes and options; a failed one is read again."""
    source: dict[str, Any] = {"kind": "upload", "filename": clean_name(upload.filename), "bytes": upload.size}
    digest, options = upload.sha256, chosen(upload.options)
    if options:
        source["options"] = options
        digest = hashlib.sha256(dumps(["upload", digest, options]).encode()).hexdigest()
    name = clean_name(upload.name or ENDINGS.sub("", upload.filename)) or "matrix"
    row, created, wanted = _claim(ingestor, digest, name, source)
    if not wanted:
        return Added(row, created, ingestor.running(row.id))
    upload.path.rename(ingestor.uploads / row.id)
    return Added(row, created, ingestor.read(row.id, upload.options))


def add_generated(ingestor: Ingestor, family: str, params: Mapping[str, Any], name: str = "") -> Added:
    """Starts to generate a matrix, or finds the one of the same call; raises ParameterError for a wrong call."""
    full = generator_params(family, params, ingestor.settings.nnz_max)
    source = {"kind": "generated", "family": family, "params": full}
    digest = hashlib.sha256(dumps(["generated", family, full]).encode()).hexdigest()
    row, created, wanted = _claim(ingestor, digest, clean_name(name) or _generated_name(family, full), source)
    return Added(row, created, ingestor.generate(row.id, family, full) if wanted else ingestor.running(row.id))


def predict_generated(family: str, params: Mapping[str, Any], nnz_max: int) -> dict[str, Any]:
    """How many nonzeros a generator is expected to make of a call, and their bytes; raises as `generator_params`."""
    full = generator_params(family, params, nnz_max)
    chosen = generator(family)
    nnz = chosen.estimate_nnz(parse_params(chosen.Params, full))
    return {"family": family, "params": full, "nnz": nnz, "bytes": ENTRY_BYTES * nnz}


def generator_params(family: str, params: Mapping[str, Any], nnz_max: int) -> dict[str, Any]:
    """The parameters of a generator, defaults filled in, in its own order; raises ParameterError and TooLargeError."""
    chosen = generator(family)
    parsed = parse_params(chosen.Params, params)
    expected = chosen.estimate_nnz(parsed)
    if expected > nnz_max:
        raise TooLargeError(
            f"The matrix would have about {units.count(expected)} nonzeros; at most {units.count(nnz_max)} are allowed."
        )
    return dataclasses.asdict(parsed)


def _generated_name(family: str, params: Mapping[str, Any]) -> str:
    return clean_name(f"{family} " + " ".join(f"{name}={value}" for name, value in params.items()))


def _claim(ingestor: Ingestor, digest: str, name: str, source: dict[str, Any]) -> tuple[MatrixRow, bool, bool]:
    """The row of a source, whether it is new, and whether the caller has to fill it."""
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
            # Before the commit: a row that is there without it would be nobody's after a crash.
            ingestor.own(row.id)
            return row, created, True
    except IntegrityError:
        # The same source at the same moment: the other call made the row, so that it is there now (or gone again).
        return _claim(ingestor, digest, name, source)


async def settle(ingestor: Ingestor, added: Added) -> MatrixRow:
    """The row after up to ANSWER_S seconds of waiting for its ingest.

    Raises what went wrong with it; a row that this call made is then gone again.
    """
    if added.ingest is not None:
        await _wait(added.ingest, ANSWER_S)
        if added.ingest.done():
            return await run_in_threadpool(_conclude, ingestor, added, added.ingest)
    return added.row


async def _wait(future: Future[None], seconds: float) -> None:
    """Returns when the future is done, or after this time, without holding a thread."""
    done, loop = asyncio.Event(), asyncio.get_running_loop()

    def tell(_: Future[None]) -> None:
        with suppress(RuntimeError):  # The loop has ended, and with it whoever waited.
            loop.call_soon_threadsafe(done.set)

    future.add_done_callback(tell)
    with suppress(TimeoutError):
        await asyncio.wait_for(done.wait(), seconds)


def _conclude(ingestor: Ingestor, added: Added, ingest: Future[None]) -> MatrixRow:
    """The row after its ingest, or what went wrong."""
    error = None if ingest.cancelled() else ingest.exception()
    with ingestor.database.write() as session:
        row = session.get(MatrixRow, added.row.id)
        if error is None and row is not None:
            return row
        if added.created and row is not None and row.state == MatrixState.FAILED:
            emit_state(session, row, "deleted")
            session.delete(row)
    raise error or NotFoundError(f"The matrix {added.row.id} was deleted while it was read.")


def delete_matrix(ingestor: Ingestor, matrix_id: str, with_results: bool = False) -> None:
    """Removes a matrix and its values; with its jobs only when asked to.

    Raises NotFoundError, and ConflictError for a recorded matrix, one with jobs, and one with jobs that are not done.
    """
    with ingestor.database.write() as session:
        row = get_matrix(session, matrix_id)
        if row.state == MatrixState.RECORDED:
            raise recorded_results.refusal(row)
        _delete_jobs(session, row.id, with_results)
        emit_state(session, row, "deleted")
        session.delete(row)
    ingestor.stop(matrix_id)
    ingestor.store.delete(matrix_id)


def _delete_jobs(session: Session, matrix_id: str, with_results: bool) -> None:
    """Deletes the jobs that had no other matrix, and of the others what they say of this one."""
    jobs = list_jobs(session, matrix_id=matrix_id, limit=None).items
    if any(job.state not in TERMINAL for job in jobs):
        raise ConflictError("Jobs of this matrix are queued or running. Cancel them, then delete it.")
    if jobs and not with_results:
        raise ConflictError(f"{len(jobs)} jobs measured this matrix.", hint="delete_with_results")
    session.execute(delete(TraceRow).where(TraceRow.case_key.startswith(f"{matrix_id}|", autoescape=True)))
    session.execute(delete(MeasurementRow).where(MeasurementRow.matrix_id == matrix_id))
    for job in jobs:
        if set(job.matrix_ids) == {matrix_id}:
            session.delete(job)
