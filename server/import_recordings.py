"""Imports recordings: at every start the files that came with the product and the database are made to agree.

What somebody has imported lies in the database alone, and stays.
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
"""What the name of a device has none of."""

IMPORTS_MAX = 100
"""Most recordings that are imported at a time."""
_running = threading.Event()


def is_running() -> bool:
    """Whether this process is importing recordings now."""
    return _running.is_set()


def run(database: Database, folder: Path = recordings.RECORDED) -> None:
    """Imports every recording whose file has changed, each in one transaction, and forgets those whose file is gone.

    A file that cannot be read is logged and skipped; what an earlier one of its name brought stays.
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
        log.warning("Not all recordings are imported, the database does not answer; the next start goes on: %s", error)
    finally:
        _running.clear()


def _update(database: Database, recording_id: str, path: Path, known: str) -> None:
    """Imports one file unless it is the one that is known already."""
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if digest == known:
            return
        recording = recordings.read(path)
        # Made before the transaction, which on SQLite keeps every other writer waiting.
        row, results = _row(recording_id, digest, recording), _results(recording_id, recording)
        with database.write() as session:
            keep(session, row, results, recording.matrices)
    except (SparsightError, OSError) as error:
        log.warning("The recording %s is not imported: %s", recording_id, error)
    except IntegrityError:
        # Another server of this database imports it at the same moment.
        log.info("The recording %s has been imported by another server.", recording_id)


def take(database: Database, data: bytes, name: str) -> tuple[RecordingRow, bool]:
    """Imports the bytes of a file as of the device of that name; the recording, and whether it is a new one.

    data  of a recording, or JSON of Ginkgo's benchmark
    name  of the device here, `node7`; empty: made of the name that the recording has of it

    Raises InputError and TooLargeError for a file that holds no recording, ParameterError for the name, ConflictError
    where a recording of the release has that name.
    """
    recording = _recording(database, data, name)
    device = name or fitting(recording.device.name)
    if not DEVICE.fullmatch(device):
        raise ParameterError(
            f"name is {quote(device)}; the name of a device has small letters, digits and dashes, at most {DEVICE_MAX}."
        )
    recording_id, digest = f"{device}/{recording.study}", _digest(data, recording)
    row, results = _row(recording_id, digest, recording), _results(recording_id, recording)
    row.imported = True
    try:
        with database.write() as session:
            known = session.get(RecordingRow, recording_id)
            if known is not None and not known.imported:
                raise ConflictError(f"{quote(recording_id)} came with this release. Give the device another name.")
            if known is not None and known.sha256 == digest:
                return known, False
            if known is None and _imports(session) >= IMPORTS_MAX:
                raise ParameterError(f"{IMPORTS_MAX} recordings are imported, as many as are kept; delete one first.")
            keep(session, row, results, recording.matrices)
            return row, known is None
    except IntegrityError:
        raise ConflictError("Somebody else imports the same at this moment. Try again.") from None


def _recording(database: Database, data: bytes, name: str) -> Recording:
    """What the bytes of a file hold; matrices that it only names are those known by the same name and sizes."""
    document = recordings.document(data, "The file")
    if not ginkgo.is_benchmark(document):
        return recordings.of(document, "The file")
    found = ginkgo.recording(document, "The file", name)
    with database.read() as session:
        return replace(found, matrices=named_matrices.identified(session, found.matrices))


def _digest(data: bytes, recording: Recording) -> str:
    """Of the bytes and of the matrices they are of: those that a file only names may be known by the next time."""
    return hashlib.sha256(b"".join((data, *(m.fingerprint.encode() for m in recording.matrices)))).hexdigest()


def fitting(name: str) -> str:
    """The name of a device in the letters that ids have: `nvidia-h200`."""
    return UNFIT.sub("-", name.lower()).strip("-")[:DEVICE_MAX]


def delete(database: Database, recording_id: str) -> None:
    """Forgets a recording that was imported; raises NotFoundError, ConflictError for one of the release."""
    with database.write() as session:
        row = session.get(RecordingRow, recording_id)
        if row is None:
            raise NotFoundError(f"There is no recording {quote(recording_id)}.")
        if not row.imported:
            raise ConflictError(f"{quote(recording_id)} came with this release, and comes again at the next start.")
        _forget(session, [recording_id])
        _sweep(session, _lock_matrices(session))


def _imports(session: Session) -> int:
    query = select(sqlalchemy.func.count()).select_from(RecordingRow).where(RecordingRow.imported.is_(True))
    return session.scalar(query) or 0


def keep(
    session: Session, row: RecordingRow, results: Sequence[RecordedResultsRow], matrices: Iterable[MatrixRecord]
) -> None:
    """Keeps a recording in place of what there is of its id."""
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
    """Deletes recordings with their results; from now on no other transaction imports or forgets any."""
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
    """What it says of each matrix, in its order."""
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
    """Return the recorded matrices that no recording has any more; they and those of these ids are locked."""
    session.flush()
    recorded, known = MatrixRow.state == MatrixState.RECORDED, select(RecordedResultsRow.fingerprint)
    concerned = recorded & (MatrixRow.fingerprint.not_in(known) | MatrixRow.id.in_(brought))
    rows = session.scalars(select(MatrixRow).where(concerned).order_by(MatrixRow.id).with_for_update()).all()
    return [row for row in rows if row.id not in brought]


def _keep(session: Session, matrix_id: str, matrix: MatrixRecord, recording: RecordingRow) -> None:
    """The row of a recorded matrix, which recordings of several devices share: what is imported leaves it as it is."""
    row = session.get(MatrixRow, matrix_id)
    if row is not None and recording.imported:
        return
    row = row or MatrixRow(id=matrix_id, created_at=recording.created_at or time.time())
    row.name, row.state, row.fingerprint = clean_name(matrix.name), MatrixState.RECORDED, matrix.fingerprint
    # Not the digest of the generator's call: that is for the matrix which the call makes here.
    row.sha256 = hashlib.sha256(f"recorded {matrix.fingerprint}".encode()).hexdigest()
    row.n_rows, row.n_cols, row.nnz = matrix.n_rows, matrix.n_cols, matrix.nnz
    row.features, row.source = dict(matrix.features), dict(matrix.source)
    session.add(row)
    session.flush()
    emit_state(session, row)


def _sweep(session: Session, orphans: Iterable[MatrixRow]) -> None:
    """Removes the recorded matrices that no recording has any more."""
    for row in orphans:
        emit_state(session, row, "deleted")
        session.delete(row)
