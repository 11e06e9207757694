"""Histories: the measurements of each case of a matrix over all jobs that took them."""

from collections.abc import Collection, Iterable, Sequence

from sqlalchemy import Text, cast, func, select, true
from sqlalchemy.orm import Session

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.history.change_points import History, history
from gpu_engine.findings.history.records import Taken
from gpu_engine.records import TIMED
from gpu_engine.studies.results import busy_cases
from server.models import JobRow, MeasurementRow
from server.results import parse

NEWEST = 500
"""Most measurements of a case on a device; older ones are left out."""


def read(
    session: Session,
    study: str,
    matrix_id: str,
    caches: Sequence[str],
    device: str | None = None,
    job_ids: Sequence[str] | None = None,
) -> list[Taken]:
    """The newest measurements with a time of each case of a matrix in these cache states, the oldest first.

    device, job_ids  of these alone; None: of all
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
    return [Taken(job_id, at, parse(text)) for job_id, at, text in rows]


def histories(taken: Iterable[Taken], kernels: Collection[str] = ()) -> list[History]:
    """The history of every case of one place; kernels: of these alone, where there are any."""
    cases: dict[str, list[Taken]] = {}
    for each in taken:
        if not kernels or each.measurement.kernel in kernels:
            cases.setdefault(each.measurement.case, []).append(each)
    return [history(own) for own in cases.values()]


def busy(taken: Iterable[Taken]) -> list[Taken]:
    """Return those that do not count because the machine was busy; of that all kernels of a job tell."""
    jobs: dict[str, list[Taken]] = {}
    for each in taken:
        jobs.setdefault(each.job_id, []).append(each)
    doubtful = {job_id: busy_cases(StudyData([each.measurement for each in own])) for job_id, own in jobs.items()}
    return [e for own in jobs.values() for e in own if (e.measurement.device, e.measurement.case) in doubtful[e.job_id]]
