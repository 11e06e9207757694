"""What a job is expected to take: the study's own word, corrected by jobs of its size on the same device."""

import time
from dataclasses import asdict
from typing import Any

import pytest

from gpu_engine.records import DeviceInfo, MatrixInfo
from gpu_engine.studies.formats import FormatsParams, FormatsStudy
from server import devices
from server.db import Database
from server.jobs import estimates, queue
from server.jobs.estimates import COMPILE_S, Expected, Outcome, compile_s, corrected
from server.jobs.queue import JobRequest
from server.models import JobRow, JobState
from server.settings import Settings
from tests.battery import BATTERY
from tests.conftest import AddMatrix

CPU = DeviceInfo("cpu", "cpu", "A processor", 2**34, 2**25)
STUDY = FormatsStudy()


def job(study_s: float, cases: int = 8, settings: str = "", matrix: str = "m") -> Expected:
    return Expected(study_s, cases, {"settings": settings}, (matrix,))


def test_without_jobs_the_study_is_believed() -> None:
    assert corrected(job(12.0), ()) == 12.0


def test_only_the_first_job_of_a_cpu_compiles() -> None:
    assert compile_s(CPU, ()) == COMPILE_S["cpu"]
    assert compile_s(CPU, [Outcome(job(1.0), 1.0)]) == 0.0
    assert compile_s(DeviceInfo("cuda:0", "cuda", "A GPU", 2**34, 2**25), ()) == 0.0


def test_the_same_job_is_believed_almost_wholly() -> None:
    assert corrected(job(10.0), [Outcome(job(10.0), 5.0)]) == pytest.approx(5.0, rel=0.01)


@pytest.mark.parametrize(
    ("near", "far"),
    [
        (job(10.0), job(1000.0)),
        (job(10.0), job(10.0, cases=80)),
        (job(10.0, matrix="other"), job(10.0, settings="others")),
        (job(11.0), job(10.0, matrix="other", settings="others")),
    ],
)
def test_jobs_that_are_more_alike_count_more(near: Expected, far: Expected) -> None:
    """A small job is mostly start-up, a large one products: a study may have one too high and the other too low."""
    known = [Outcome(near, near.study_s / 4), Outcome(far, far.study_s * 4)]
    assert corrected(job(10.0), known) < 10.0 < corrected(far, known)


@pytest.fixture
def matrix(add_matrix: AddMatrix, database: Database) -> str:
    devices.register(database, [CPU])
    return add_matrix(BATTERY["band"](), "band", "m1")


def over(database: Database, job_id: str, matrix: str, taken_s: float, **fields: Any) -> None:
    now = time.time()
    known = {
        "study": "formats",
        "params": asdict(FormatsParams()),
        "matrix_ids": [matrix],
        "device": "cpu",
        "state": JobState.SUCCEEDED,
        "attempt": 1,
        "cases_total": 42,
        "created_at": now,
        "started_at": now,
        "finished_at": now + taken_s,
    }
    with database.write() as session:
        session.add(JobRow(id=job_id, **(known | fields)))


def test_a_submission_is_expected_to_take_what_others_took(database: Database, settings: Settings, matrix: str) -> None:
    first, _ = queue.submit(database, settings, JobRequest("formats", (matrix,), {}, "cpu"))
    info = MatrixInfo(matrix, "band", *BATTERY["band"]().shape, BATTERY["band"]().nnz)
    assert first.estimate_s == STUDY.estimate_s(FormatsParams(), [info], CPU) + COMPILE_S["cpu"]
    for number in range(5):
        over(database, f"j{number}", matrix, first.estimate_s / 4)
    second, _ = queue.submit(database, settings, JobRequest("formats", (matrix,), {}, "cpu"))
    assert second.estimate_s == pytest.approx(first.estimate_s / 4, rel=0.1)


@pytest.mark.parametrize(
    "fields",
    [
        {"device": "cuda:0"},
        {"study": "pagerank"},
        {"state": JobState.FAILED},
        {"attempt": 2},
        {"stop_requested": True},
        {"params": {"kernels": 7}},
        {"matrix_ids": ["gone"]},
        {"finished_at": 1.0},
    ],
    ids=str,
)
def test_what_tells_nothing_of_a_job_is_left_out(database: Database, matrix: str, fields: dict[str, Any]) -> None:
    over(database, "j1", matrix, 5.0, **fields)
    with database.read() as session:
        assert estimates.outcomes(session, STUDY, CPU) == ()


def test_the_time_of_the_first_job_says_little_of_the_next_one(
    database: Database, settings: Settings, matrix: str
) -> None:
    info = MatrixInfo(matrix, "band", *BATTERY["band"]().shape, BATTERY["band"]().nnz)
    study_s = STUDY.estimate_s(FormatsParams(), [info], CPU)
    over(database, "first", matrix, study_s + COMPILE_S["cpu"])
    again, _ = queue.submit(database, settings, JobRequest("formats", (matrix,), {}, "cpu"))
    assert again.estimate_s == pytest.approx(study_s)
