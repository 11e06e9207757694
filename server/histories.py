"""Histories: the measurements of each case of a matrix over all jobs."""

from collections.abc import Collection, Iterable, Sequence

from sqlalchemy import Text, cast, func, select, true
from sqlalchemy.orm import Session

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.history.change_points import History, history
from gpu_engine.findings.history.records import HistoryPoint
from gpu_engine.records import TIMED
from gpu_engine.studies.results import busy_cases
from server.models import JobRow, MeasurementRow
from server.results import parse

NEWEST = 500
"""Maximum number of measurements of a case on a device; older ones are omitted."""


def read(
    session: Session,
    study: str,
    matrix_id: str,
    caches: Sequence[str],
    device: str | None = None,
    job_ids: Sequence[str] | None = None,
) -> list[HistoryPoint]:
    """Return the newest timed measurements of each case of a matrix in these cache states, the oldest first.

    device, job_ids  restrict the measurements; None: all
    """
    case = MeasurementRow.device, MeasurementRow.case_key
    newest_first = MeasurementRow.created_at.desc(), MeasurementRow.id.desc()
    inner = (
        select(MeasurementRow.id, func.row_number().over(partition_by=case, order_by=newest_first).label("number"))
        .join(JobRow, JobRow.id == MeasurementRow.job_id)
        .where(
            JobRow.study == study,
            MeasurementRow.matrix_id == matrix_id,
            MeasurementRow.cache.in_(caches),
            MeasurementRow.state.in_(TIMED),
            true() if device is None else MeasurementRow.device == device,
            true() if job_ids is None else MeasurementRow.job_id.in_(job_ids),
        )
        .subquery()
    )
    rows = session.execute(
        select(MeasurementRow.job_id, MeasurementRow.created_at, cast(MeasurementRow.record, Text))
        .join(inner, inner.c.id == MeasurementRow.id)
        .where(inner.c.number <= NEWEST)
        .order_by(MeasurementRow.created_at, MeasurementRow.id)
    )
    return [HistoryPoint(job_id, at, parse(text)) for job_id, at, text in rows]


def histories(points: Iterable[HistoryPoint], kernels: Collection[str] = ()) -> list[History]:
    """Return the history of every case on one device, in one cache state. `kernels`: only these, if given."""
    cases: dict[str, list[HistoryPoint]] = {}
    for each in points:
        if not kernels or each.measurement.kernel in kernels:
            cases.setdefault(each.measurement.case, []).append(each)
    return [history(case_points) for case_points in cases.values()]


def busy(points: Iterable[HistoryPoint]) -> list[HistoryPoint]:
    """Return the measurements that do not count because their timings are noisy. All kernels of a job are judged
    together.
    """
    jobs: dict[str, list[HistoryPoint]] = {}
    for each in points:
        jobs.setdefault(each.job_id, []).append(each)
    noisy = {job_id: busy_cases(StudyData([point.measurement for point in of_job])) for job_id, of_job in jobs.items()}
    return [
        point
        for of_job in jobs.values()
        for point in of_job
        if (point.measurement.device, point.measurement.case) in noisy[point.job_id]
    ]
