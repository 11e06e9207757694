"""What recordings brought: devices that are not here, and their results joined with matrices by fingerprint.

Nothing here is a job: no worker measured it, and neither the queue nor its history knows of it.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased

from gpu_engine.errors import ConflictError, quote
from gpu_engine.recordings.files import kind_of
from gpu_engine.records import Case, Measurement, dumps, trace_from_json
from gpu_engine.studies import parse_measurement
from server.devices import RECORDED
from server.models import DeviceRow, MatrixRow, MatrixState, RecordedResultsRow, RecordingRow
from server.results import Traces


def is_recorded(device_id: str) -> bool:
    """Whether the id is of a device whose results were recorded elsewhere."""
    return device_id.startswith(RECORDED)


def device_ids(session: Session, study: str, matrix_id: str = "") -> tuple[str, ...]:
    """The recorded devices with results of a study, of one matrix if it is named.

    Those of the release come first, of these what has most matrices, then what was recorded first.
    """
    matrices = select(func.count()).where(RecordedResultsRow.recording_id == RecordingRow.id)
    most = matrices.correlate(RecordingRow).scalar_subquery().desc()
    query = select(RecordingRow.device).where(RecordingRow.study == study)
    query = query.order_by(RecordingRow.imported, most, RecordingRow.created_at, RecordingRow.device)
    if matrix_id:
        query = query.join(RecordedResultsRow).join(
            MatrixRow, (MatrixRow.fingerprint == RecordedResultsRow.fingerprint) & (MatrixRow.id == matrix_id)
        )
    return tuple(session.scalars(query))


def studies_and_devices(session: Session) -> list[tuple[str, str]]:
    """Each study of a recording with the device that it was recorded on, by device."""
    pairs = select(RecordingRow.study, RecordingRow.device).distinct().order_by(RecordingRow.device)
    return [(study, device) for study, device in session.execute(pairs)]


def list_devices(session: Session) -> list[DeviceRow]:
    """The recorded devices, as rows of the table of devices, which none of them is in: no worker ever offers one.

    Those of the release come first.
    """
    newest = {row.device: row for row in session.scalars(select(RecordingRow).order_by(RecordingRow.created_at))}
    rows = sorted(newest.values(), key=lambda row: row.imported)
    return [DeviceRow(id=row.device, info=row.info, profile=row.profile, seen_at=0.0) for row in rows]


def matrix_ids(session: Session, study: str, devices: Sequence[str], own: Sequence[str] = ()) -> tuple[str, ...]:
    """The recorded matrices with results of a study on these devices, in the order of their recordings.

    own  matrices that stand for the recorded ones that they equal
    """
    twin = aliased(MatrixRow)
    known = select(twin.fingerprint).where(twin.id.in_(own), twin.fingerprint.is_not(None))
    query = (
        select(MatrixRow.id)
        .join(RecordedResultsRow, RecordedResultsRow.fingerprint == MatrixRow.fingerprint)
        .join(RecordingRow)
        .where(MatrixRow.state == MatrixState.RECORDED, RecordingRow.study == study, RecordingRow.device.in_(devices))
        .where(MatrixRow.fingerprint.not_in(known))
        .order_by(RecordedResultsRow.id)
    )
    return tuple(dict.fromkeys(session.scalars(query)))


def measurements(session: Session, study: str, matrices: Sequence[str], devices: Sequence[str]) -> list[Measurement]:
    """What was recorded on these devices of these matrices: of any matrix with the fingerprint of a recorded one.

    Matrix by matrix in the order given, each under the id that it has here.
    """
    return [m for rows in _measured(session, study, matrices, devices) for m in rows]


def devices_of(session: Session, study: str, matrices: Sequence[str], devices: Sequence[str]) -> list[str]:
    """The device of each result that was recorded of these matrices, among these devices."""
    return [device for _, device in _results(session, study, matrices, devices)]


READ_MAX = 512
"""Of how many matrices what was read is kept: no page shows more than a hundred of one recording."""

_read: dict[tuple[str, ...], tuple[Measurement, ...]] = {}
"""By all that it depends on: the file, the matrix in it, and the ids that matrix and device have here."""


def _measured(
    session: Session, study: str, matrices: Sequence[str], devices: Sequence[str]
) -> Iterator[tuple[Measurement, ...]]:
    """The measurements of each matrix and device, read from JSON once: a page and its figures all ask for them."""
    keys = RecordedResultsRow.id, RecordingRow.sha256, RecordedResultsRow.fingerprint
    for matrix_id, device, row_id, *file in _results(session, study, matrices, devices, *keys):
        key = (*file, matrix_id, device)
        known = _read.get(key)
        if known is None:
            found = session.scalars(select(RecordedResultsRow.measurements).where(RecordedResultsRow.id == row_id))
            known = _read[key] = tuple(_renamed(fields, matrix_id, device) for fields in found.one())
        yield known
    while len(_read) > READ_MAX:
        _read.pop(next(iter(_read)), None)


def traces(session: Session, study: str, matrices: Sequence[str], devices: Sequence[str]) -> Traces:
    """The traces of what `measurements` has, by device and case."""
    columns = RecordedResultsRow.measurements, RecordedResultsRow.traces
    found: Traces = {}
    for matrix_id, device, measured, traced in _results(session, study, matrices, devices, *columns):
        for fields in traced:
            case = matrix_id + fields["case"].removeprefix(measured[0]["matrix_id"])
            found[device, case] = trace_from_json({**fields, "case": case})
    return found


def results_of(session: Session, matrix_id: str, study: str = "") -> tuple[list[Measurement], Traces]:
    """All that was recorded of a matrix, of one study if it is named, device by device."""
    studies = session.scalars(select(RecordingRow.study).distinct().order_by(RecordingRow.study)).all()
    found: list[Measurement] = []
    traced: Traces = {}
    for name in (name for name in studies if study in ("", name)):
        devices = device_ids(session, name, matrix_id)
        found += measurements(session, name, [matrix_id], devices)
        traced |= traces(session, name, [matrix_id], devices)
    return found, traced


def _results(session: Session, study: str, matrices: Sequence[str], devices: Sequence[str], *columns: Any) -> list[Any]:
    """(matrix, device, the columns) of the recorded results, matrix by matrix in the order given.

    Of matrices that are equal the first one has them: what was recorded once counts once.
    """
    query = (
        select(RecordedResultsRow.id, MatrixRow.id, RecordingRow.device, *columns)
        .join(RecordedResultsRow, RecordedResultsRow.fingerprint == MatrixRow.fingerprint)
        .join(RecordingRow)
        .where(MatrixRow.id.in_(matrices), RecordingRow.study == study, RecordingRow.device.in_(devices))
        .order_by(RecordedResultsRow.id)
    )
    found: dict[int, Any] = {}
    for result_id, *row in sorted(session.execute(query), key=lambda row: matrices.index(row[1])):
        found.setdefault(result_id, row)
    return list(found.values())


def _renamed(fields: dict[str, Any], matrix_id: str, device: str) -> Measurement:
    """A measurement of a file under the ids that its matrix and device have here."""
    m = parse_measurement(fields)
    case = dataclasses.replace(Case.parse(m.case), matrix_id=matrix_id).key
    return dataclasses.replace(m, case=case, matrix_id=matrix_id, device=device)


def generate_call(row: MatrixRow) -> dict[str, Any]:
    """The body of the call that generates a recorded matrix here; empty for one that is not generated."""
    if kind_of(row.source) != "generated":
        return {}
    return {"generator": row.source["generator"], **row.source["params"], "name": row.name}


def refusal(row: MatrixRow) -> ConflictError:
    """Why nothing can be done with a recorded matrix, and what to do instead."""
    why = f"The matrix {row.id} came with recorded results and has no values; it can be neither measured nor deleted."
    if kind_of(row.source) == "upload":
        return ConflictError(f"{why} Upload its file, {quote(row.source['filename'])}, to measure it here.")
    if kind_of(row.source) != "generated":
        name = row.source.get("name")
        return ConflictError(f"{why} It is {name} of the SuiteSparse Matrix Collection.", hint="fetch_matrix")
    params = row.source["params"].items()
    values = ",".join(f"{name}={value if isinstance(value, str) else dumps(value)}" for name, value in params)
    return ConflictError(f"{why} It is {row.source['family']}:{values}.", hint="generate_matrix")
