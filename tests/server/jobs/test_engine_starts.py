"""An engine that does not start: job, pages, /readyz, doctor, and log say why, and the job fails with that."""

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from gpu_engine.errors import EngineUnavailableError
from server import devices, engine_faults
from server.jobs import engine_start, failed_starts
from server.jobs.dispatcher import Dispatcher
from server.jobs.dispatcher_lock import sole_dispatcher
from server.jobs.engine import Engine, EngineBrokenError
from server.jobs.engine_start import StartState
from server.jobs.failed_starts import STARTS_MAX
from server.jobs.queue import JobRequest, submit
from server.main import create_app
from server.models import EngineFaultRow, EventRow, JobRow
from server.settings import Settings
from sparsight.service_checks import check_worker_folders, examine_service
from tests.conftest import ADDRESS
from tests.server.jobs import fake_worker
from tests.server.jobs.conftest import Jobs, Worker, wait_for
from tests.server.jobs.fake_study import CPU, FAKE

CODE = EngineUnavailableError.code
REASONS = {
    "missing": "Ray cannot be imported",
    "mode": "raylet: Permission denied",
    "refuses": "RuntimeError: Failed to start GCS: The port 6379 is taken. Run `sparsight doctor`",
    "full": "Free space in /dev/shm",
    "crashes": "Signal 11 ended the process",
    "hangs": "Ray did not respond within 15 s",
    "killed": "A Ray process died before it responded",
    "imports": "cannot load a dependency of the studies: ModuleNotFoundError: No module named 'numba'",
    "silent": "its processes do not respond",
}
"""What is said of each fault of fake_worker.ENGINE_FAULTS."""


QUICK = ("mode", "killed")
LONG = pytest.mark.full("server/jobs/*", "tests/server/jobs/*")


@pytest.fixture
def kind() -> str:
    return "sqlite"


@pytest.fixture
def broken(request: pytest.FixtureRequest, jobs: Jobs) -> str:
    """The engine of this home breaks in this way."""
    (jobs.folder / f"engine-{request.param}").touch()
    return str(request.param)


@pytest.fixture
def client(jobs: Jobs) -> Iterator[TestClient]:
    with TestClient(create_app(jobs.settings), base_url=ADDRESS) as client:
        yield client


def queue_formats(jobs: Jobs, device: str = "cpu") -> JobRow:
    """A job of a study that has pages."""
    return submit(jobs.database, jobs.settings, JobRequest("formats", ("a" * 32,), device=device))[0]


def faults(jobs: Jobs) -> list[EngineFaultRow]:
    with jobs.database.read() as session:
        return engine_faults.list_faults(session)


@pytest.mark.parametrize(
    "broken", [each if each in QUICK else pytest.param(each, marks=LONG) for each in REASONS], indirect=True
)
def test_whoever_waits_is_told_why_and_the_job_fails_with_it(
    jobs: Jobs, broken: str, client: TestClient, request: pytest.FixtureRequest
) -> None:
    job, reason, begun_s = queue_formats(jobs), REASONS[broken], time.monotonic()
    worker: Worker = request.getfixturevalue("worker")
    wait_for(lambda: faults(jobs), "the first report")
    first_s = time.monotonic() - begun_s
    document = client.get(f"/api/v1/jobs/{job.id}").json()
    told = document["waiting_reason"] or document["error"]["detail"]
    assert reason in told
    ready = client.get("/readyz")
    assert (ready.status_code, ready.json()["code"], reason in ready.json()["detail"]) == (503, CODE, True)
    (device,) = (device for device in client.get("/api/v1/devices").json()["items"] if device["id"] == "cpu")
    assert (device["alive"], reason in device["fault"]) == (False, True)
    plain = reason.replace("'", "&#39;")
    for page in (f"/jobs/{job.id}", "/devices"):
        assert plain in client.get(page).text
    checks = {check.name: check for check in examine_service(jobs.settings)}
    assert (checks["Engine"].status, reason in checks["Engine"].found) == ("fail", True)
    assert reason in worker.said()
    refused = client.post("/api/v1/jobs", json={"study": "formats", "matrix_ids": ["a" * 32]})
    assert (refused.status_code, refused.json()["code"]) == (503, CODE)
    ended = jobs.wait(job, "failed")
    assert (ended.error["code"], reason in ended.error["detail"]) == (CODE, True)
    assert f"{fake_worker.STARTS_MAX} tries" in ended.error["detail"]
    # With -s: how long users wait for a word, without the pauses between tries.
    print(f"{broken}: told after {first_s:.1f} s, failed after {time.monotonic() - begun_s:.1f} s")  # noqa: T201


@pytest.mark.parametrize("broken", ["imports"], indirect=True)
def test_an_engine_that_starts_again_runs_the_job_and_nobody_is_told_of_a_fault(
    jobs: Jobs, broken: str, request: pytest.FixtureRequest
) -> None:
    job = jobs.submit(n_cases=1)
    request.getfixturevalue("worker")
    wait_for(lambda: faults(jobs), "the first report")
    (jobs.folder / f"engine-{broken}").unlink()
    jobs.wait(job, "succeeded")
    assert faults(jobs) == []


def test_a_worker_without_a_place_for_its_folder_says_so(
    jobs: Jobs, client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No device is known of it: /readyz, the page of devices, and the doctor name the reason."""
    long = tmp_path / ("x" * 80)
    long.mkdir()
    devices.withdraw(jobs.database, ["cpu"])
    worker = Worker(jobs.settings, long)
    assert worker.process.wait() != 0
    ready = client.get("/readyz").json()
    assert (ready["code"], str(long) in ready["detail"]) == (CODE, True)
    assert str(long) in client.get("/devices").text
    assert "is too long for Ray's sockets" in worker.said()
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(long))
    assert (check_worker_folders().status, str(long) in check_worker_folders().found) == ("fail", True)


def test_jobs_of_other_workers_go_on(jobs: Jobs) -> None:
    """A fault is of the devices of one home alone, and its report changes what waits for these."""
    with sole_dispatcher(jobs.settings.home, "mine", Event()) as dead:
        devices.register(jobs.database, [CPU], "mine", dead or ())
    other = replace(CPU, id="gpu-2/cpu")
    devices.register(jobs.database, [other], "theirs")
    mine, theirs = jobs.submit(), jobs.submit(device=other.id)
    for tries in range(1, STARTS_MAX + 1):
        assert (jobs.get(mine).state, jobs.get(theirs).state) == ("queued", "queued")
        assert failed_starts.store_failure(jobs.database, jobs.settings, "Ray is gone.") == tries
    assert (jobs.get(mine).state, jobs.get(theirs).state) == ("failed", "queued")
    with jobs.database.read() as session:
        assert devices.alive(session, devices.list_devices(session)) == {other.id}
        told = session.scalars(select(EventRow).where(EventRow.topic == f"job:{mine.id}")).all()
    assert [event.data["state"] for event in told] == ["queued"] * STARTS_MAX + ["failed"]
    failed_starts.forget(jobs.database, jobs.settings)
    assert faults(jobs) == []


def test_a_fault_of_which_nothing_is_heard_is_over(jobs: Jobs) -> None:
    failed_starts.store_failure(jobs.database, jobs.settings, "Ray is gone.")
    with jobs.database.write() as session:
        session.scalars(select(EngineFaultRow)).one().seen_at -= engine_faults.FAULT_S
    assert faults(jobs) == []
    assert failed_starts.store_failure(jobs.database, jobs.settings, "Ray is gone.") == 1


def test_a_job_on_a_device_that_nobody_offers_says_so(jobs: Jobs, client: TestClient) -> None:
    job = queue_formats(jobs)
    assert client.get(f"/api/v1/jobs/{job.id}").json()["waiting_reason"] is None
    devices.withdraw(jobs.database, ["cpu"])
    assert "CPU is unavailable" in client.get(f"/api/v1/jobs/{job.id}").json()["waiting_reason"]


def test_a_job_for_which_no_process_ever_starts_fails_with_the_reason(jobs: Jobs) -> None:
    job = jobs.submit()
    dispatcher = Dispatcher(jobs.settings, jobs.database, DeafEngine(), [CPU], FAKE)
    for _ in range(STARTS_MAX):
        assert jobs.get(job).state == "queued"
        dispatcher._step()
        dispatcher._runs[0].join()
    ended = jobs.get(job)
    assert (ended.state, ended.error["code"], "Ray is deaf" in ended.error["detail"]) == ("failed", CODE, True)


class DeafEngine(Engine):
    """Ray starts, and takes no work."""

    def __init__(self) -> None:
        """Of no host."""

    def start(self) -> None:
        """It is."""

    def stop(self) -> None:
        """As well."""

    def cluster(self) -> None:
        """There is none."""

    def submit(self, task: object) -> object:  # type: ignore[override]
        raise EngineBrokenError("Ray is deaf")


def test_what_a_dispatcher_told_says_why_it_ended(tmp_path: Path) -> None:
    now_s = time.monotonic()
    assert engine_start.read(tmp_path, now_s).state == StartState.STARTING
    assert "status 1" in engine_start.failure(engine_start.read(tmp_path, now_s), 1)
    assert "Signal 9" in engine_start.failure(engine_start.read(tmp_path, now_s), -9)
    late = engine_start.read(tmp_path, now_s - engine_start.START_S - 1)
    assert (late.is_overdue, "did not respond" in engine_start.failure(late, -9)) == (True, True)
    for state in (StartState.IDLE, StartState.READY):
        engine_start.tell(tmp_path, state)
        report = engine_start.read(tmp_path, now_s - engine_start.START_S - 1)
        assert (report.state, report.is_overdue, engine_start.failure(report, -9)) == (state, False, "")
    engine_start.tell(tmp_path, StartState.FAILED, "No room.")
    assert engine_start.failure(engine_start.read(tmp_path, now_s), 1) == "No room."
    assert os.listdir(tmp_path) == [engine_start.FILE]


def test_a_report_that_the_database_does_not_take_costs_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    starts = failed_starts.FailedStarts(Settings(home=tmp_path, database_url=f"sqlite:///{tmp_path}/none/a.db"))
    starts.report("Ray is gone.")
    starts.clear()
    assert "Ray is gone." in caplog.text
