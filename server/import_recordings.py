"""Import of reference results. Every start synchronizes the database with the files of the release.

Results that a caller imported exist only in the database, and stay.
"""

import hashlib
import logging
import re
import threading
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import sqlalchemy
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from gpu_engine.errors import ConflictError, NotFoundError, ParameterError, SparsightError, quote
from gpu_engine.recordings import files as recordings
from gpu_engine.recordings import ginkgo
from gpu_engine.recordings.files import DEVICE, DEVICE_MAX, ENDING, MatrixRecord, Recording
from gpu_engine.records import as_json
from server import named_matrices
from server.catalogue import clean_name
from server.db import AWAY, Database, lock_table
from server.devices import RECORDED
from server.ingest import emit_state
from server.models import UNREAD, MatrixRow, MatrixState, RecordedResultsRow, RecordingRow

log = logging.getLogger(__name__)
UNFIT = re.compile(r"[^a-z0-9]+")
"""Characters that the name of a device cannot contain."""

IMPORTS_MAX = 100
"""Maximum number of imported sets of reference results."""
_running = threading.Event()


def is_running() -> bool:
    """Return whether this process is importing recordings now."""
    return _running.is_set()


def run(database: Database, folder: Path = recordings.RECORDED) -> None:
    """Import every file of the release that has changed, each in one transaction, and delete the results of removed
    files.

    A file that cannot be read is logged and skipped; results of its earlier version stay.
    """
    files = {f"{path.parent.name}/{path.name.removesuffix(ENDING)}": path for path in folder.glob(f"*/*{ENDING}")}
    _running.set()
    try:
        with database.read() as session:
            rows = session.scalars(select(RecordingRow).where(RecordingRow.imported.is_(False)))
            known = {row.id: row.sha256 for row in rows}
        for recording_id, path in sorted(files.items()):
            _update(database, recording_id, path, known.get(recording_id, ""))
        if gone := known.keys() - files.keys():
            with database.write() as session:
                _forget(session, gone)
                _sweep(session, _lock_matrices(session))
    except AWAY as error:
        log.warning("reference results not imported completely, the next start continues: %s", error)
    finally:
        _running.clear()


def _update(database: Database, recording_id: str, path: Path, known: str) -> None:
    """Import one file unless its results are up to date."""
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if digest == known:
            return
        recording = recordings.read(path)
        # Computed before the transaction, which on SQLite blocks every other writer.
        row, results = _row(recording_id, digest, recording), _results(recording_id, recording)
        with database.write() as session:
            keep(session, row, results, recording.matrices)
    except (SparsightError, OSError) as error:
        log.warning("cannot import the reference results %s: %s", recording_id, error)
    except IntegrityError:
        # Another server with this database imports it at the same time.
        log.info("another server has imported the reference results %s", recording_id)


def take(database: Database, data: bytes, name: str) -> tuple[RecordingRow, bool]:
    """Import the bytes of a file for the device of that name. Return the row, and whether it is new.

    data  recording, or JSON of Ginkgo's benchmark
    name  name of the device here, such as `node7`; empty: derived from the name in the file

    Raises InputError and TooLargeError for an invalid file, ParameterError for the name, and ConflictError if results
    of the release have that name.
    """
    recording = _recording(database, data, name)
    device = name or fitting(recording.device.name)
    if not DEVICE.fullmatch(device):
        raise ParameterError(
            f"Invalid device name {quote(device)}. Use lowercase letters, digits, and dashes, at "
            f"most {DEVICE_MAX} characters."
        )
    recording_id, digest = f"{device}/{recording.study}", _digest(data, recording)
    row, results = _row(recording_id, digest, recording), _results(recording_id, recording)
    row.imported = True
    try:
        with database.write() as session:
            known = session.get(RecordingRow, recording_id)
            if known is not None and not known.imported:
                raise ConflictError(f"{quote(recording_id)} is part of this release. Choose another device name.")
            if known is not None and known.sha256 == digest:
                return known, False
            if known is None and _imports(session) >= IMPORTS_MAX:
                raise ParameterError(f"Limit of {IMPORTS_MAX} imported reference results reached. Delete one first.")
            keep(session, row, results, recording.matrices)
            return row, known is None
    except IntegrityError:
        raise ConflictError("Another import of the same results is running. Try again.") from None


def _recording(database: Database, data: bytes, name: str) -> Recording:
    """Return the content of a file. Matrices that it only names are replaced by known ones of the same
    name and size.
    """
    document = recordings.document(data, "The file")
    if not ginkgo.is_benchmark(document):
        return recordings.of(document, "The file")
    recording = ginkgo.recording(document, "The file", name)
    with database.read() as session:
        return replace(recording, matrices=named_matrices.identified(session, recording.matrices))


def _digest(data: bytes, recording: Recording) -> str:
    """Return a hash of the bytes and of the matrices that the file only names, because these may be known at the next
    start.
    """
    return hashlib.sha256(b"".join((data, *(m.fingerprint.encode() for m in recording.matrices)))).hexdigest()


def fitting(name: str) -> str:
    """Return the name of a device in characters that ids allow, such as `nvidia-h200`."""
    return UNFIT.sub("-", name.lower()).strip("-")[:DEVICE_MAX]


def delete(database: Database, recording_id: str) -> None:
    """Delete imported reference results. Raises NotFoundError, and ConflictError for results of the release."""
    with database.write() as session:
        row = session.get(RecordingRow, recording_id)
        if row is None:
            raise NotFoundError(f"Unknown reference results {quote(recording_id)}.")
        if not row.imported:
            raise ConflictError(f"{quote(recording_id)} is part of this release and cannot be deleted.")
        _forget(session, [recording_id])
        _sweep(session, _lock_matrices(session))


def _imports(session: Session) -> int:
    query = select(sqlalchemy.func.count()).select_from(RecordingRow).where(RecordingRow.imported.is_(True))
    return session.scalar(query) or 0


def keep(
    session: Session, row: RecordingRow, results: Sequence[RecordedResultsRow], matrices: Iterable[MatrixRecord]
) -> None:
    """Store reference results, replacing those with the same id."""
    _forget(session, [row.id])
    session.add(row)
    session.flush()
    session.add_all(results)
    brought = {_matrix_id(matrix): matrix for matrix in matrices}
    orphans = _lock_matrices(session, brought)
    for matrix_id, matrix in sorted(brought.items()):
        _keep(session, matrix_id, matrix, row)
    _sweep(session, orphans)


def _forget(session: Session, ids: Collection[str]) -> None:
    """Delete reference results. Until the transaction ends, no other one can import or delete any."""
    lock_table(session, RecordingRow)
    session.execute(sqlalchemy.delete(RecordingRow).where(RecordingRow.id.in_(ids)))


def _row(recording_id: str, digest: str, recording: Recording) -> RecordingRow:
    device = RECORDED + recording_id.partition("/")[0]
    profile = as_json(recording.profile) | {"device": device} if recording.profile else {}
    return RecordingRow(
        id=recording_id,
        sha256=digest,
        study=recording.study,
        device=device,
        info=as_json(recording.device) | {"id": device, "name": f"{recording.device.name} (recorded)", "uuid": ""},
        profile=profile,
        created_at=datetime.fromisoformat(recording.created_at).timestamp() if recording.created_at else 0.0,
    )


def _results(recording_id: str, recording: Recording) -> list[RecordedResultsRow]:
    """Return the rows with the results of each matrix, in order."""
    rows = {
        matrix.id: RecordedResultsRow(
            recording_id=recording_id, fingerprint=matrix.fingerprint, measurements=[], traces=[]
        )
        for matrix in recording.matrices
    }
    for m in recording.measurements:
        rows[m.matrix_id].measurements.append(as_json(m))
    matrix_of = {m.case: m.matrix_id for m in recording.measurements}
    for trace in recording.traces:
        rows[matrix_of[trace.case]].traces.append(as_json(trace))
    return list(rows.values())


def _matrix_id(matrix: MatrixRecord) -> str:
    return f"recorded-{matrix.fingerprint.removeprefix(UNREAD)[:16]}"


def _lock_matrices(session: Session, brought: Collection[str] = ()) -> list[MatrixRow]:
    """Return the reference matrices without results. Lock them and the matrices of these ids."""
    session.flush()
    recorded, known = MatrixRow.state == MatrixState.RECORDED, select(RecordedResultsRow.fingerprint)
    concerned = recorded & (MatrixRow.fingerprint.not_in(known) | MatrixRow.id.in_(brought))
    rows = session.scalars(select(MatrixRow).where(concerned).order_by(MatrixRow.id).with_for_update()).all()
    return [row for row in rows if row.id not in brought]


def _keep(session: Session, matrix_id: str, matrix: MatrixRecord, recording: RecordingRow) -> None:
    """Return the row of a reference matrix. Results of several devices share it, so that an import does
    not change it.
    """
    row = session.get(MatrixRow, matrix_id)
    if row is not None and recording.imported:
        return
    row = row or MatrixRow(id=matrix_id, created_at=recording.created_at or time.time())
    row.name, row.state, row.fingerprint = clean_name(matrix.name), MatrixState.RECORDED, matrix.fingerprint
    # Not the digest of the generator call, which identifies a matrix generated on this server.
    row.sha256 = hashlib.sha256(f"recorded {matrix.fingerprint}".encode()).hexdigest()
    row.n_rows, row.n_cols, row.nnz = matrix.n_rows, matrix.n_cols, matrix.nnz
    row.features, row.source = dict(matrix.features), dict(matrix.source)
    session.add(row)
    session.flush()
    emit_state(session, row)


def _sweep(session: Session, orphans: Iterable[MatrixRow]) -> None:
    """Delete the reference matrices without results."""
    for row in orphans:
        emit_state(session, row, "deleted")
        session.delete(row)
