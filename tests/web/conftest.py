"""A service that has measured something: matrices, devices, and jobs in several states, without a worker."""

import functools
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.records import BandwidthPoint, DeviceInfo, DeviceProfile, Measurement, Trace, as_json
from gpu_engine.text.units import THIN
from server import devices
from server.db import Database
from server.events import emit
from server.models import TERMINAL, JobRow, JobState, MatrixRow, MatrixState, TraceRow
from tests.battery import BATTERY
from tests.samples.formats import HOSTILE, study_of
from tests.samples.rows import measurement_row
from tests.samples.studies import records_of

CPU = DeviceInfo("cpu", "cpu", "A laptop's processor", 16 * 10**9, 32 * 10**6, details={"cores": "2"})
GPU = DeviceInfo("cuda:0", "cuda", "NVIDIA H200", 139 * 2**30, 60 * 10**6, "GPU-1", {"driver": "580.1"})
ON_GPU = "NVIDIA H200 (cuda:0)"
"""What pages call the GPU."""

ON_EVERY_PAGE = {"request", "path", "event", "signed_in", "start_worker"}
"""What every template is given beside the fields of its context."""

PROFILE = DeviceProfile(
    "cpu",
    CPU.name,
    32 * 10**6,
    (BandwidthPoint(10**6, 9e10, 1.2e11), BandwidthPoint(10**9, 2e10, 2.4e10)),
    "2026-11-21T02:00:00+00:00",
)


@dataclass(frozen=True)
class Lab:
    """Ids of what the service holds."""

    database: Database
    matrix: str
    hostile: str
    ingesting: str
    failed_matrix: str
    succeeded: str
    on_gpu: str
    running: str
    queued: str
    failed: str


@pytest.fixture
def lab(database: Database, add_matrix: Callable[..., str]) -> Lab:
    """Everything that a page can show, at once."""
    matrix = add_matrix(sample_matrix(), "cnr-2000", "m1")
    hostile = add_matrix(sample_matrix(), HOSTILE, "m2")
    devices.register(database, [CPU, GPU])
    with database.write() as session:
        devices.store_profile(session, PROFILE)
        for place, (state, error) in enumerate(
            ((MatrixState.INGESTING, {}), (MatrixState.FAILED, {"detail": "Line 3: odd."}))
        ):
            session.add(
                MatrixRow(
                    id=f"{state}", name=f"{state}.mtx", state=state, sha256=f"{state}", error=error, created_at=place
                )
            )
    cpu, gpu = study_of(matrix), study_of(matrix, "cuda:0", 0.01)
    return Lab(
        database,
        matrix,
        hostile,
        MatrixState.INGESTING,
        MatrixState.FAILED,
        succeeded=add_job(database, "j1", "cpu", JobState.SUCCEEDED, [*cpu, *study_of(hostile)]),
        on_gpu=add_job(database, "j2", "cuda:0", JobState.SUCCEEDED, gpu),
        failed=add_job(
            database, "j3", "cpu", JobState.FAILED, [], (matrix,), {"code": "x", "detail": "The device failed."}
        ),
        running=add_job(database, "j4", "cpu", JobState.RUNNING, cpu[:3], attempt=2),
        queued=add_job(database, "j5", "cpu", JobState.QUEUED, [], (hostile,)),
    )


@functools.cache
def sample_matrix() -> CsrMatrix:
    """A small matrix with rows of several lengths."""
    return BATTERY["power_law"]()


def add_job(
    database: Database,
    job_id: str,
    device: str,
    state: JobState,
    measurements: Sequence[Measurement],
    matrices: Sequence[str] = (),
    error: dict[str, Any] | None = None,
    attempt: int = 1,
    study: str = "formats",
    traces: Sequence[Trace] = (),
    params: Mapping[str, Any] | None = None,
) -> str:
    """A job of 16 cases (or as many as it has measured) with these measurements and traces."""
    start = time.time() - 600 + int(job_id[1:])
    with database.write() as session:
        job = JobRow(
            id=job_id,
            study=study,
            params=dict(params or {"kernels": [], "rounds": 15}),
            matrix_ids=list(matrices or dict.fromkeys(m.matrix_id for m in measurements)),
            device=device,
            state=state,
            attempt=attempt,
            cases_total=max(16, len(measurements)),
            estimate_s=80.0,
            error=error or {},
            created_at=start,
            started_at=None if state == JobState.QUEUED else start + 1,
            finished_at=start + 61 if state in TERMINAL else None,
        )
        session.add(job)
        session.flush()
        for measurement in measurements:
            _insert(session, job, measurement)
        session.add_all(TraceRow(job_id=job.id, case_key=trace.case, record=as_json(trace)) for trace in traces)
    return job_id


def add_study(
    database: Database,
    study: str,
    job_id: str,
    matrices: Sequence[str],
    device: str = "cpu",
    state: JobState = JobState.SUCCEEDED,
) -> str:
    """A job of any study with its sample records of these matrices."""
    measurements, traces = records_of(study, matrices, device)
    return add_job(database, job_id, device, state, measurements, study=study, traces=traces)


def add_measurement(database: Database, job_id: str, measurement: Measurement) -> None:
    """Commits a measurement as a dispatcher does, event included."""
    with database.write() as session:
        _insert(session, session.scalars(select(JobRow).where(JobRow.id == job_id)).one(), measurement)


def _insert(session: Session, job: JobRow, m: Measurement) -> None:
    job.cases_done += 1
    job.progress = float(job.cases_done)
    session.add(measurement_row(job.id, m, time.time()))
    emit(session, f"job:{job.id}", "measurement", {"case": m.case})


def get(client: TestClient, url: str) -> Any:
    """A page as a browser asks for it; its `context` is what the template was given."""
    return client.get(url, headers={"Accept": "text/html"})


def words(text: str) -> str:
    """The text of a page as it is read."""
    text = re.sub(r"<[^>]+>", "", text).replace(THIN, " ")
    return re.sub(r"\s+", " ", text)
