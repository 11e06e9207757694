"""Estimates of run times: the estimate of the study, corrected by the times of similar jobs on the device."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine.errors import SparsightError
from gpu_engine.parameters import parse_params
from gpu_engine.records import DeviceInfo, MatrixInfo
from gpu_engine.studies.base import Study
from server.models import JobRow, JobState, MatrixRow

JOBS_MAX = 30
"""Number of last jobs of a study and device that are used."""

OTHER_SETTINGS, OTHER_MATRICES = 1.0, 0.7
"""Distance of two jobs that differ in these only. A factor e in seconds, or 2 in cases, has an equal distance."""

ALIKE = 0.5
"""Distance at which a job has the weight 1/e."""

DOUBT = 0.01
"""Weight of the study's own estimate, relative to an identical job."""

SHORTEST_S = 1e-3
"""Minimum estimate in seconds."""

COMPILE_S = {"cpu": 12.0}
"""Seconds for which the first job of a study compiles its kernels, by backend; measured: 7 to 16 s on a CPU. Kernels of
GPUs are compiled at installation, or one by one.
"""


@dataclass(frozen=True, slots=True)
class Expected:
    """Known properties of a job that determine its run time.

    study_s  estimate of its study in seconds
    """

    study_s: float
    cases: int
    params: Mapping[str, Any]
    matrix_ids: tuple[str, ...]

    def distance(self, other: "Expected") -> float:
        """Return the distance of two jobs of one study and device."""
        distance = abs(math.log(self.study_s / other.study_s)) + abs(math.log(self.cases / other.cases))
        distance += OTHER_SETTINGS * (self.params != other.params)
        return distance + OTHER_MATRICES * (self.matrix_ids != other.matrix_ids)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Ended job and its run time in seconds."""

    expected: Expected
    taken_s: float


def expected(study: Study, params: Any, matrices: Sequence[MatrixInfo], device: DeviceInfo, cases: int) -> Expected:
    """Return the known properties of a job before it runs."""
    study_s = max(study.estimate_s(params, matrices, device), SHORTEST_S)
    return Expected(study_s, max(cases, 1), asdict(params), tuple(matrix.id for matrix in matrices))


def outcomes(session: Session, study: Study, device: DeviceInfo) -> tuple[Outcome, ...]:
    """Return the outcomes of the last jobs of that study and device that succeeded at the first attempt and were not
    stopped early.
    """
    query = (
        select(JobRow)
        .where(JobRow.study == study.name, JobRow.device == device.id, JobRow.state == JobState.SUCCEEDED)
        .where(JobRow.attempt == 1, JobRow.stop_requested.is_(False), JobRow.finished_at > JobRow.started_at)
        .order_by(JobRow.created_at.desc())
        .limit(JOBS_MAX)
    )
    jobs = session.scalars(query).all()
    first = jobs[-1].id if 0 < len(jobs) < JOBS_MAX else ""
    ids = {matrix_id for job in jobs for matrix_id in job.matrix_ids}
    rows = session.scalars(select(MatrixRow).where(MatrixRow.id.in_(ids)))
    known = {row.id: MatrixInfo(row.id, row.name, row.n_rows, row.n_cols, row.nnz) for row in rows}
    return tuple(_outcomes(study, device, jobs, known, first))


def _outcomes(
    study: Study, device: DeviceInfo, jobs: Sequence[JobRow], known: Mapping[str, MatrixInfo], first: str
) -> Iterator[Outcome]:
    """Yield the outcomes of these jobs; first: id of the job that compiled the kernels."""
    for job in jobs:
        matrices = [known[matrix_id] for matrix_id in job.matrix_ids if matrix_id in known]
        if len(matrices) < len(job.matrix_ids):
            # Its estimate is no longer known.
            continue
        try:
            params = parse_params(study.Params, job.params)
        except SparsightError:
            # An earlier release had other parameters.
            continue
        taken_s = (job.finished_at or 0.0) - (job.started_at or 0.0)
        features = expected(study, params, matrices, device, job.cases_total)
        if job.id == first:
            features = replace(features, study_s=features.study_s + compile_s(device, ()))
        yield Outcome(features, taken_s)


def compile_s(device: DeviceInfo, known: Sequence[Outcome]) -> float:
    """Return the seconds for which a job compiles kernels: only the first one of a study and device does."""
    return 0.0 if known else COMPILE_S.get(device.backend, 0.0)


def corrected(job: Expected, known: Sequence[Outcome]) -> float:
    """Return the estimated seconds of a job: the study's estimate times a factor. Similar jobs count more.

    The factor is the weighted geometric mean of actual over estimated times, and of 1.
    """
    weights = [math.exp(-job.distance(other.expected) / ALIKE) for other in known]
    logarithms = [math.log(other.taken_s / other.expected.study_s) for other in known]
    correction = sum(weight * value for weight, value in zip(weights, logarithms, strict=True))
    return job.study_s * math.exp(correction / (sum(weights) + DOUBT))
