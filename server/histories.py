"""Histories: the measurements of each case of a matrix on one device, over all jobs that took them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.history.change_points import History, history
from gpu_engine.findings.history.records import Taken
from gpu_engine.records import TIMED, Measurement
from gpu_engine.studies import parse_measurement
from gpu_engine.studies.results import busy_measurements
from server.models import JobRow, MeasurementRow

NEWEST = 500
"""Most measurements of a case; older ones are left out."""


@dataclass(frozen=True, slots=True)
class Place:
    """Whose cases are followed: a study of a matrix on a device."""

    study: str
    matrix_id: str
    device: str


def histories(session: Session, place: Place, cache: str, kernels: Sequence[str] = ()) -> list[History]:
    """The history of every case of a place in one cache state; kernels: of these alone, where there are any."""
    return [history(taken) for taken in _taken(session, place, cache, kernels)]


def busy(
    session: Session, place: Place, cache: str, known: Sequence[History], kernels: Sequence[str] = ()
) -> dict[str, list[Measurement]]:
    """Return by job the measurements that do not count because the machine was busy.

    known  the histories of the place, of these kernels alone where there are any: of a busy machine all of them tell
    """
    by_job: dict[str, list[Measurement]] = {}
    for own in _taken(session, place, cache) if kernels else [each.taken for each in known]:
        for taken in own:
            by_job.setdefault(taken.job_id, []).append(taken.measurement)
    doubtful = {job_id: busy_measurements(StudyData(own)) for job_id, own in by_job.items()}
    return {job_id: own for job_id, own in doubtful.items() if own}


def _taken(session: Session, place: Place, cache: str, kernels: Sequence[str] = ()) -> list[list[Taken]]:
    """Return the newest measurements of each case, the oldest first."""
    number = func.row_number().over(
        partition_by=MeasurementRow.case_key, order_by=(MeasurementRow.created_at.desc(), MeasurementRow.id.desc())
    )
    inner = _of_place(select(MeasurementRow.id, number.label("number")), place, cache)
    if kernels:
        inner = inner.where(MeasurementRow.kernel.in_(kernels))
    newest = inner.subquery()
    rows = session.execute(
        select(MeasurementRow.case_key, MeasurementRow.job_id, MeasurementRow.created_at, MeasurementRow.record)
        .join(newest, newest.c.id == MeasurementRow.id)
        .where(newest.c.number <= NEWEST)
        .order_by(MeasurementRow.created_at, MeasurementRow.id)
    )
    found: dict[str, list[Taken]] = {}
    for key, job_id, at, record in rows:
        found.setdefault(key, []).append(Taken(job_id, at, parse_measurement({**record, "samples_s": ()})))
    return list(found.values())


def kernels_of(session: Session, place: Place, cache: str) -> tuple[str, ...]:
    """The kernels that have a time there, by name."""
    query = _of_place(select(MeasurementRow.kernel), place, cache)
    return tuple(session.scalars(query.distinct().order_by(MeasurementRow.kernel)))


def _of_place(query: Select[Any], place: Place, cache: str) -> Select[Any]:
    return query.join(JobRow, JobRow.id == MeasurementRow.job_id).where(
        JobRow.study == place.study,
        MeasurementRow.matrix_id == place.matrix_id,
        MeasurementRow.device == place.device,
        MeasurementRow.cache == cache,
        MeasurementRow.state.in_(TIMED),
    )
