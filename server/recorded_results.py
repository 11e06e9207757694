"""Reference results: devices that are not available here, and their results joined with matrices by fingerprint.

They do not belong to a job: no worker measured them, and queue and history do not contain them.
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
    """Return whether the id is of a device with reference results only."""
    return device_id.startswith(RECORDED)


def device_ids(session: Session, study: str, matrix_id: str = "") -> tuple[str, ...]:
    """Return the devices with reference results of a study, and of one matrix if it is given.

    Devices of the release come first, sorted by their number of matrices, then by their memory, so that all pages
    begin with the same one.
    """
    matrices = select(func.count()).where(RecordedResultsRow.recording_id == RecordingRow.id)
    most = matrices.correlate(RecordingRow).scalar_subquery().desc()
    query = select(RecordingRow.device).where(RecordingRow.study == study)
    memory = RecordingRow.info["memory_bytes"].as_integer().desc()
    query = query.order_by(RecordingRow.imported, most, memory, RecordingRow.created_at, RecordingRow.device)
    if matrix_id:
        query = query.join(RecordedResultsRow).join(
            MatrixRow, (MatrixRow.fingerprint == RecordedResultsRow.fingerprint) & (MatrixRow.id == matrix_id)
        )
    return tuple(session.scalars(query))


def studies_and_devices(session: Session) -> list[tuple[str, str]]:
    """Return each study with reference results, with its device, by device."""
    pairs = select(RecordingRow.study, RecordingRow.device).distinct().order_by(RecordingRow.device)
    return [(study, device) for study, device in session.execute(pairs)]


def list_devices(session: Session) -> list[DeviceRow]:
    """Return the devices with reference results as device rows. They are not stored, because no worker ever offered
    them.

    Devices of the release come first.
    """
    newest = {row.device: row for row in session.scalars(select(RecordingRow).order_by(RecordingRow.created_at))}
    rows = sorted(newest.values(), key=lambda row: row.imported)
    return [DeviceRow(id=row.device, info=row.info, profile=row.profile, seen_at=0.0) for row in rows]


def matrix_ids(session: Session, study: str, devices: Sequence[str], local_ids: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the reference matrices with results of a study on these devices, in the order of their import.

    local_ids  matrices here that replace the reference matrices that they equal
    """
    twin = aliased(MatrixRow)
    known = select(twin.fingerprint).where(twin.id.in_(local_ids), twin.fingerprint.is_not(None))
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
    """Return the reference results of these matrices on these devices, found by fingerprint.

    They are sorted by matrix in the given order, with the id that each matrix has here.
    """
    return [m for rows in _measured(session, study, matrices, devices) for m in rows]


def devices_of(session: Session, study: str, matrices: Sequence[str], devices: Sequence[str]) -> list[str]:
    """Return the device of each reference result of these matrices on these devices."""
    return [device for _, device in _results(session, study, matrices, devices)]


READ_MAX = 512
"""Number of matrices whose parsed results are cached; pages show at most a hundred of one device."""

_read: dict[tuple[str, ...], tuple[Measurement, ...]] = {}
"""Cache key → parsed results. The key is the file, the matrix in it, and the ids of matrix and device here."""


def _measured(
    session: Session, study: str, matrices: Sequence[str], devices: Sequence[str]
) -> Iterator[tuple[Measurement, ...]]:
    """Yield the measurements of each matrix and device. They are parsed from JSON once, because a page and its figures
    all need them.
    """
    keys = RecordedResultsRow.id, RecordingRow.sha256, RecordedResultsRow.fingerprint
    for matrix_id, device, row_id, *file in _results(session, study, matrices, devices, *keys):
        key = (*file, matrix_id, device)
        known = _read.get(key)
        if known is None:
            column = session.scalars(select(RecordedResultsRow.measurements).where(RecordedResultsRow.id == row_id))
            known = _read[key] = tuple(_renamed(fields, matrix_id, device) for fields in column.one())
        yield known
    while len(_read) > READ_MAX:
        _read.pop(next(iter(_read)), None)


def traces(session: Session, study: str, matrices: Sequence[str], devices: Sequence[str]) -> Traces:
    """Return the traces of the measurements from `measurements`, by device and case."""
    columns = RecordedResultsRow.measurements, RecordedResultsRow.traces
    traces_by_case: Traces = {}
    for matrix_id, device, measured, traced in _results(session, study, matrices, devices, *columns):
        for fields in traced:
            case = matrix_id + fields["case"].removeprefix(measured[0]["matrix_id"])
            traces_by_case[device, case] = trace_from_json({**fields, "case": case})
    return traces_by_case


def results_of(session: Session, matrix_id: str, study: str = "") -> tuple[list[Measurement], Traces]:
    """Return all reference results of a matrix, of one study if it is given, device by device."""
    studies = session.scalars(select(RecordingRow.study).distinct().order_by(RecordingRow.study)).all()
    records: list[Measurement] = []
    traced: Traces = {}
    for name in (name for name in studies if study in ("", name)):
        devices = device_ids(session, name, matrix_id)
        records += measurements(session, name, [matrix_id], devices)
        traced |= traces(session, name, [matrix_id], devices)
    return records, traced


def _results(session: Session, study: str, matrices: Sequence[str], devices: Sequence[str], *columns: Any) -> list[Any]:
    """Yield (matrix, device, the columns) of the reference results, matrix by matrix in the given order.

    Of equal matrices the first one gets them, so that each result counts once.
    """
    query = (
        select(RecordedResultsRow.id, MatrixRow.id, RecordingRow.device, *columns)
        .join(RecordedResultsRow, RecordedResultsRow.fingerprint == MatrixRow.fingerprint)
        .join(RecordingRow)
        .where(MatrixRow.id.in_(matrices), RecordingRow.study == study, RecordingRow.device.in_(devices))
        .order_by(RecordedResultsRow.id)
    )
    rows: dict[int, Any] = {}
    for result_id, *row in sorted(session.execute(query), key=lambda row: matrices.index(row[1])):
        rows.setdefault(result_id, row)
    return list(rows.values())


def _renamed(fields: dict[str, Any], matrix_id: str, device: str) -> Measurement:
    """Return a measurement of a file with the ids of its matrix and device here."""
    m = parse_measurement(fields)
    case = dataclasses.replace(Case.parse(m.case), matrix_id=matrix_id).key
    return dataclasses.replace(m, case=case, matrix_id=matrix_id, device=device)


def generate_call(row: MatrixRow) -> dict[str, Any]:
    """Return the body of the request that generates a reference matrix here; empty if it is not generated."""
    if kind_of(row.source) != "generated":
        return {}
    return {"generator": row.source["generator"], **row.source["params"], "name": row.name}


def refusal(row: MatrixRow) -> ConflictError:
    """Return why a reference matrix cannot be used, and what to do instead."""
    why = f"The matrix {row.id} only has reference results. Without its values it can be neither measured nor deleted."
    if kind_of(row.source) == "upload":
        return ConflictError(f"{why} Upload its file {quote(row.source['filename'])} to measure it here.")
    if kind_of(row.source) != "generated":
        name = row.source.get("name")
        return ConflictError(
            f"{why} Download {name} from the SuiteSparse Matrix Collection to measure it here.", hint="fetch_matrix"
        )
    params = row.source["params"].items()
    values = ",".join(f"{name}={value if isinstance(value, str) else dumps(value)}" for name, value in params)
    return ConflictError(f"{why} It is {row.source['generator']}:{values}.", hint="generate_matrix")
