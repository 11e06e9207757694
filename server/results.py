"""Results: committed measurements and traces as records, and as CSV; routes, figures and pages read them here."""

import dataclasses
from collections.abc import Sequence

from sqlalchemy import func, null, select
from sqlalchemy.orm import Session

from gpu_engine.records import Measurement, Trace, as_json, measurement_from_json, trace_from_json
from server.answers import csv_of
from server.models import JobRow, MeasurementRow, TraceRow

CSV_COLUMNS = tuple(f.name for f in dataclasses.fields(Measurement) if f.name not in ("environment", "samples_s"))


def measurements(
    session: Session,
    job_ids: Sequence[str] = (),
    matrix_ids: Sequence[str] = (),
    devices: Sequence[str] = (),
    samples: bool = False,
) -> list[Measurement]:
    """The measurements of these jobs, matrices and devices (empty: of all), in the order they were committed.

    Raw samples are left out unless asked for: they are most of the bytes.
    """
    query = select(MeasurementRow.record, MeasurementRow.samples_s if samples else null())
    wanted = (
        (MeasurementRow.job_id, job_ids),
        (MeasurementRow.matrix_id, matrix_ids),
        (MeasurementRow.device, devices),
    )
    for column, values in wanted:
        if values:
            query = query.where(column.in_(values))
    rows = session.execute(query.order_by(MeasurementRow.id))
    return [measurement_from_json({**record, "samples_s": taken or ()}) for record, taken in rows]


def traces(session: Session, job_ids: Sequence[str]) -> list[Trace]:
    """The traces of these jobs, in the order they were committed."""
    records = session.scalars(select(TraceRow.record).where(TraceRow.job_id.in_(job_ids)).order_by(TraceRow.id))
    return [trace_from_json(record) for record in records]


def version(session: Session, job: JobRow) -> str:
    """Changes whenever the results of the job do."""
    count, last = session.execute(
        select(func.count(), func.max(MeasurementRow.id)).where(MeasurementRow.job_id == job.id)
    ).one()
    return f"{job.id}-{count}-{last or 0}"


def csv_text(found: Sequence[Measurement]) -> str:
    """The measurements as CSV with a header, without samples and environment; no cell is a formula."""
    return csv_of([as_json(measurement) for measurement in found], CSV_COLUMNS)
