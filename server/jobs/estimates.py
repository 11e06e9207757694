"""How long a job will take: what its study expects, corrected by what jobs like it have taken on that device."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine.errors import SparsightError
from gpu_engine.parameters import parse_params
from gpu_engine.records import DeviceInfo, MatrixInfo
from gpu_engine.studies.base import Study
from server.models import JobRow, JobState, MatrixRow

JOBS_MAX = 30
"""So many of the last jobs of a study and device are looked at."""

ALIKE = math.log(3.0)
"""A job that was expected to take this many times as long, as a logarithm, counts 1/e of one of the same size."""

DOUBT = 0.3
"""The study's own word counts as much as this share of a job of the same size."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A job that is over: what its study expects of it now, and what it took, in seconds."""

    expected_s: float
    taken_s: float


def outcomes(session: Session, study: Study, device: DeviceInfo) -> tuple[Outcome, ...]:
    """Of the last jobs of that study there, which ran through at the first attempt and were not told to end."""
    query = (
        select(JobRow)
        .where(JobRow.study == study.name, JobRow.device == device.id, JobRow.state == JobState.SUCCEEDED)
        .where(JobRow.attempt == 1, JobRow.enough.is_(False), JobRow.started_at.is_not(None))
        .order_by(JobRow.created_at.desc())
        .limit(JOBS_MAX)
    )
    jobs = session.scalars(query).all()
    ids = {matrix_id for job in jobs for matrix_id in job.matrix_ids}
    rows = session.scalars(select(MatrixRow).where(MatrixRow.id.in_(ids)))
    known = {row.id: MatrixInfo(row.id, row.name, row.n_rows, row.n_cols, row.nnz) for row in rows}
    return tuple(_outcomes(study, device, jobs, known))


def _outcomes(
    study: Study, device: DeviceInfo, jobs: Sequence[JobRow], known: dict[str, MatrixInfo]
) -> Iterator[Outcome]:
    for job in jobs:
        matrices = [known[matrix_id] for matrix_id in job.matrix_ids if matrix_id in known]
        taken_s = (job.finished_at or 0.0) - (job.started_at or 0.0)
        if len(matrices) < len(job.matrix_ids) or taken_s <= 0.0:
            # Nobody knows any more what was expected of it, or the clock was put back.
            continue
        try:
            expected_s = study.estimate_s(parse_params(study.Params, job.params), matrices, device)
        except SparsightError:
            # An earlier release took other parameters.
            continue
        if expected_s > 0.0:
            yield Outcome(expected_s, taken_s)


def corrected(expected_s: float, known: Sequence[Outcome]) -> float:
    """What a job takes of which its study expects so many seconds: the nearer others are in size, the more they count.

    The factor is the weighted geometric mean of theirs and of 1.
    """
    if expected_s <= 0.0:
        return expected_s
    weights = [math.exp(-abs(math.log(expected_s / other.expected_s)) / ALIKE) for other in known]
    logarithms = [math.log(other.taken_s / other.expected_s) for other in known]
    told = sum(weight * value for weight, value in zip(weights, logarithms, strict=True))
    return expected_s * math.exp(told / (sum(weights) + DOUBT))
