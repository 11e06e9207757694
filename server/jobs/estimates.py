"""How long a job will take: what its study expects, corrected by what jobs like it have taken on that device."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine.errors import SparsightError
from gpu_engine.parameters import parse_params
from gpu_engine.records import DeviceInfo, MatrixInfo
from gpu_engine.studies.base import Study
from server.models import JobRow, JobState, MatrixRow

JOBS_MAX = 30
"""So many of the last jobs of a study and device are looked at."""

OTHER_SETTINGS, OTHER_MATRICES = 1.0, 0.7
"""How far apart two jobs are by these alone; so far are those of e and of twice as many cases or seconds."""

ALIKE = 0.5
"""A job that is so far apart counts 1/e of one that is the same."""

DOUBT = 0.01
"""The study's own word counts as much as this share of a job that is the same."""

SHORTEST_S = 1e-3
"""Whatever a study says, a job takes so long."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What tells how long a job takes.

    study_s  seconds that its study expects
    """

    study_s: float
    cases: int
    params: Mapping[str, Any]
    matrix_ids: tuple[str, ...]

    def distance(self, other: "Expected") -> float:
        """How far apart two jobs of one study and device are."""
        found = abs(math.log(self.study_s / other.study_s)) + abs(math.log(self.cases / other.cases))
        found += OTHER_SETTINGS * (self.params != other.params)
        return found + OTHER_MATRICES * (self.matrix_ids != other.matrix_ids)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A job that is over, and the seconds that it took."""

    expected: Expected
    taken_s: float


def expected(study: Study, params: Any, matrices: Sequence[MatrixInfo], device: DeviceInfo, cases: int) -> Expected:
    """What is known of a job before it runs."""
    study_s = max(study.estimate_s(params, matrices, device), SHORTEST_S)
    return Expected(study_s, max(cases, 1), asdict(params), tuple(matrix.id for matrix in matrices))


def outcomes(session: Session, study: Study, device: DeviceInfo) -> tuple[Outcome, ...]:
    """Of the last jobs of that study there, which ran through at the first attempt and were not told to end."""
    query = (
        select(JobRow)
        .where(JobRow.study == study.name, JobRow.device == device.id, JobRow.state == JobState.SUCCEEDED)
        .where(JobRow.attempt == 1, JobRow.stop_requested.is_(False), JobRow.finished_at > JobRow.started_at)
        .order_by(JobRow.created_at.desc())
        .limit(JOBS_MAX)
    )
    jobs = session.scalars(query).all()
    ids = {matrix_id for job in jobs for matrix_id in job.matrix_ids}
    rows = session.scalars(select(MatrixRow).where(MatrixRow.id.in_(ids)))
    known = {row.id: MatrixInfo(row.id, row.name, row.n_rows, row.n_cols, row.nnz) for row in rows}
    return tuple(_outcomes(study, device, jobs, known))


def _outcomes(
    study: Study, device: DeviceInfo, jobs: Sequence[JobRow], known: Mapping[str, MatrixInfo]
) -> Iterator[Outcome]:
    for job in jobs:
        matrices = [known[matrix_id] for matrix_id in job.matrix_ids if matrix_id in known]
        if len(matrices) < len(job.matrix_ids):
            # Nobody knows any more what was expected of it.
            continue
        try:
            params = parse_params(study.Params, job.params)
        except SparsightError:
            # An earlier release took other parameters.
            continue
        taken_s = (job.finished_at or 0.0) - (job.started_at or 0.0)
        yield Outcome(expected(study, params, matrices, device, job.cases_total), taken_s)


def corrected(job: Expected, known: Sequence[Outcome]) -> float:
    """Seconds that a job takes: the study's word times what jobs took over it, the more alike the more they count.

    The factor is the weighted geometric mean of theirs and of 1.
    """
    weights = [math.exp(-job.distance(other.expected) / ALIKE) for other in known]
    logarithms = [math.log(other.taken_s / other.expected.study_s) for other in known]
    told = sum(weight * value for weight, value in zip(weights, logarithms, strict=True))
    return job.study_s * math.exp(told / (sum(weights) + DOUBT))
