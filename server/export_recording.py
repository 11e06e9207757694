"""Export of the results of a device, so that services without that device can show them."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine.errors import NotFoundError, quote
from gpu_engine.recordings.files import MatrixRecord, Recording, collected, generated, kind_of, uploaded
from gpu_engine.records import Trace, profile_from_json, trace_from_json
from gpu_engine.studies import parse_measurement, study
from server import devices
from server.models import DeviceRow, JobRow, MatrixRow, MeasurementRow, TraceRow


def of_device(session: Session, study_name: str, device_id: str) -> Recording:
    """Return the newest measurement of each case of a study on a device. Raises NotFoundError if there is none.

    The matrix measured last represents all equal matrices.
    """
    name, device = study(study_name).name, session.get(DeviceRow, device_id)
    rows = list(_newest(session, name, device_id).values())
    if device is None or not rows:
        raise NotFoundError(f"No {name} results on {quote(device_id)}. GET /api/v1/devices lists all devices.")
    known = {
        row.id: row for row in session.scalars(select(MatrixRow).where(MatrixRow.id.in_({m.matrix_id for m in rows})))
    }
    last = {known[m.matrix_id].fingerprint: m.matrix_id for m in rows if m.matrix_id in known}
    newest = [m for m in rows if m.matrix_id in last.values()]
    return Recording(
        name,
        datetime.fromtimestamp(max(m.created_at for m in newest), UTC).isoformat(timespec="seconds"),
        devices.device_info(device),
        profile_from_json(device.profile) if device.profile else None,
        tuple(_record(known[matrix_id]) for matrix_id in last.values()),
        tuple(parse_measurement(m.record) for m in newest),
        tuple(_traces(session, {(m.job_id, m.case_key): m for m in newest})),
    )


def _newest(session: Session, study_name: str, device_id: str) -> dict[str, MeasurementRow]:
    """Return the newest measurement of each case."""
    query = (
        select(MeasurementRow)
        .join(JobRow, JobRow.id == MeasurementRow.job_id)
        .where(JobRow.study == study_name, MeasurementRow.device == device_id)
        .order_by(MeasurementRow.id)
    )
    return {row.case_key: row for row in session.scalars(query)}


def _traces(session: Session, newest: Mapping[tuple[str, str], MeasurementRow]) -> Iterator[Trace]:
    rows = session.scalars(select(TraceRow).where(TraceRow.job_id.in_({job_id for job_id, _ in newest})))
    return (trace_from_json(row.record) for row in rows if (row.job_id, row.case_key) in newest)


def _record(row: MatrixRow) -> MatrixRecord:
    source = {
        "generated": lambda: generated(row.source["generator"], row.source["params"]),
        "collection": lambda: collected(row.source["name"]),
        "upload": lambda: uploaded(row.source["filename"]),
    }[kind_of(row.source)]()
    return MatrixRecord(row.id, row.name, row.fingerprint, row.n_rows, row.n_cols, row.nnz, dict(row.features), source)
