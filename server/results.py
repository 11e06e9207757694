"""Results: committed measurements and traces, as records and as CSV. Routes, figures, and pages read them here."""

import dataclasses
import json
from collections.abc import Iterable, Sequence
from functools import lru_cache

from sqlalchemy import Text, cast, func, select
from sqlalchemy.orm import Session

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.records import MIXTURE, Case, Measurement, Trace, as_json, trace_from_json
from gpu_engine.studies import parse_measurement
from gpu_engine.studies.results import busy_cases
from server.models import JobRow, MatrixRow, MeasurementRow, TraceRow
from server.responses import flatten, to_csv

Traces = dict[tuple[str, str], Trace]
"""Traces by device and case."""

NOT_IN_CSV = ("environment", "samples_s")
CACHE_SIZE = 2**13
"""Number of measurements cached as objects: those of a page of a hundred matrices."""

COLUMNS = tuple(f.name for f in dataclasses.fields(Measurement) if f.name not in (*NOT_IN_CSV, "axes", "details"))
"""Columns of the CSV that all studies share; `axes.…` and `details.…` follow."""


def measurements(
    session: Session,
    job_ids: Sequence[str] = (),
    matrix_ids: Sequence[str] = (),
    devices: Sequence[str] = (),
    caches: Sequence[str] = (),
    samples: bool = False,
) -> list[Measurement]:
    """Return the measurements of these jobs, matrices, devices, and cache states (empty: all), in the order of commits.

    Raw samples are included only on request, because they are most of the bytes. Without them a record is the same
    cached object, for which rankings are cached too.
    """
    record = cast(MeasurementRow.record, Text)
    query = select(record, MeasurementRow.samples_s) if samples else select(record)
    filters = (
        (MeasurementRow.job_id, job_ids),
        (MeasurementRow.matrix_id, matrix_ids),
        (MeasurementRow.device, devices),
        (MeasurementRow.cache, caches),
    )
    for column, values in filters:
        if values:
            query = query.where(column.in_(values))
    rows = session.execute(query.order_by(MeasurementRow.id))
    if samples:
        return [dataclasses.replace(parse(text), samples_s=tuple(samples_s or ())) for text, samples_s in rows]
    return [parse(text) for (text,) in rows]


@lru_cache(maxsize=CACHE_SIZE)
def parse(text: str) -> Measurement:
    """Return the measurement of a record without samples. The cache key is its text, so that a changed row is parsed
    again.
    """
    return parse_measurement({**json.loads(text), "samples_s": ()})


def states(session: Session, job_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return the number of measurements by job id and state."""
    query = select(MeasurementRow.job_id, MeasurementRow.state, func.count())
    counts: dict[str, dict[str, int]] = {}
    if not job_ids:
        return counts
    for job_id, state, number in session.execute(
        query.where(MeasurementRow.job_id.in_(job_ids)).group_by(MeasurementRow.job_id, MeasurementRow.state)
    ):
        counts.setdefault(job_id, {})[state] = number
    return counts


def cases_by_matrix(session: Session, job_id: str) -> dict[str, int]:
    """Return the number of records of a job by matrix."""
    counts = select(MeasurementRow.matrix_id, func.count()).where(MeasurementRow.job_id == job_id)
    return {row[0]: row[1] for row in session.execute(counts.group_by(MeasurementRow.matrix_id))}


def common_cases(session: Session, job_id: str, others: Sequence[str]) -> dict[str, int]:
    """Return the number of cases that each of these jobs has in common with a job, by job id."""
    case_keys = select(MeasurementRow.case_key).where(MeasurementRow.job_id == job_id)
    query = select(MeasurementRow.job_id, func.count()).where(
        MeasurementRow.job_id.in_(others), MeasurementRow.case_key.in_(case_keys)
    )
    return {row[0]: row[1] for row in session.execute(query.group_by(MeasurementRow.job_id))}


def mixtures(session: Session, job_ids: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the mixtures with results in these jobs: job id → mixture → the matrix that its cases belong to."""
    query = select(MeasurementRow.job_id, MeasurementRow.case_key).where(
        MeasurementRow.job_id.in_(job_ids), MeasurementRow.case_key.contains(f"{MIXTURE}=", autoescape=True)
    )
    mixtures_by_job: dict[str, dict[str, str]] = {}
    for job_id, key in session.execute(query.order_by(MeasurementRow.id)):
        case = Case.parse(key)
        mixtures_by_job.setdefault(job_id, {})[dict(case.axes)[MIXTURE]] = case.matrix_id
    return mixtures_by_job


def traces(session: Session, jobs: Sequence[JobRow]) -> Traces:
    """Return the traces of these jobs, in the order they were committed."""
    devices = {job.id: job.device for job in jobs}
    query = select(TraceRow.job_id, TraceRow.record).where(TraceRow.job_id.in_(devices)).order_by(TraceRow.id)
    traced = ((devices[job_id], trace_from_json(record)) for job_id, record in session.execute(query))
    return {(device, trace.case): trace for device, trace in traced}


def study_data(session: Session, measured: Sequence[Measurement], traced: Traces | None = None) -> StudyData:
    """Return measurements and traces with the features of their matrices."""
    known = matrix_features(session, dict.fromkeys(m.matrix_id for m in measured))
    return StudyData(measured, known, traces=traced or {})


def matrix_features(session: Session, ids: Iterable[str]) -> dict[str, MatrixFeatures]:
    """Return the features by matrix id; a deleted matrix is named as deleted."""
    known = {row.id: row for row in session.scalars(select(MatrixRow).where(MatrixRow.id.in_(set(ids))))}
    return {i: MatrixFeatures.of(known[i]) if i in known else MatrixFeatures(f"deleted matrix {i[:8]}") for i in ids}


def version(session: Session, job: JobRow) -> str:
    """Return a text that changes with the results of the job."""
    count, last = session.execute(
        select(func.count(), func.max(MeasurementRow.id)).where(MeasurementRow.job_id == job.id)
    ).one()
    return f"{job.id}-{count}-{last or 0}"


def csv_text(data: StudyData) -> str:
    """Return the measurements as CSV with a header, without samples and environment. No cell is a formula.

    `busy`: whether the timings are too noisy to count.
    """
    doubtful = busy_cases(data)
    rows = [
        flatten({k: v for k, v in as_json(m).items() if k not in NOT_IN_CSV} | {"busy": (m.device, m.case) in doubtful})
        for m in data.measurements
    ]
    return to_csv(rows, tuple(dict.fromkeys((*COLUMNS, "busy", *(name for row in rows for name in row)))))
