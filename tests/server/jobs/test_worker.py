"""The worker process: a dispatcher that dies is followed by another, and nothing is left behind."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from server.jobs.runner import CRASHES
from server.models import DeviceRow
from tests.server.jobs.conftest import PATIENCE_S, Jobs, Worker, wait_for

ALL_OK = [(f"fake/k{i}", "ok") for i in range(4)]

SERVICE_CHANGED = pytest.mark.full("server/*", "sparsight/*", "tests/server/*")


@pytest.fixture
def kind() -> str:
    return "sqlite"


@pytest.mark.parametrize("kind", [pytest.param("sqlite", marks=SERVICE_CHANGED), "postgres"])
def test_a_killed_dispatcher_is_followed_by_another_that_resumes_the_job(
    jobs: Jobs, worker: Worker, folder: Path
) -> None:
    job, hold = jobs.submit(), jobs.hold(2)
    orphan = jobs.wait_begun(2)
    worker.family()
    os.kill(worker.dispatcher(), signal.SIGKILL)
    assert jobs.wait_begun(2, times=2) != orphan
    assert not psutil.pid_exists(orphan)
    hold.unlink()
    ended = jobs.wait(job, "succeeded")
    assert jobs.records(job) == ALL_OK
    assert ended.attempt == 2
    assert [case for _, case in jobs.begun()] == [0, 1, 2, 2, 3]

    jobs.hold(9)
    stopped = jobs.submit(n_cases=10)
    jobs.wait_begun(9)
    worker.family()
    worker.process.terminate()
    assert worker.process.wait(PATIENCE_S) == 0
    assert worker.left() == []
    assert list(folder.iterdir()) == []
    assert jobs.get(stopped).state == "queued"
    assert len(jobs.records(stopped)) == 9
    with jobs.database.read() as session:
        assert session.get_one(DeviceRow, "cpu").seen_at == 0.0


def test_a_worker_waits_for_the_one_that_serves_its_home_and_takes_over(
    jobs: Jobs, worker: Worker, folder: Path
) -> None:
    hold = jobs.hold(0)
    job = jobs.submit(n_cases=1)
    first = jobs.wait_begun(0)
    (crash,) = (jobs.folder / CRASHES).iterdir()
    second = Worker(jobs.settings, folder)
    try:
        wait_for(lambda: "waiting until it ends" in worker.said(), "the second worker to say that it waits")
        os.kill(worker.process.pid, signal.SIGKILL)
        worker.process.wait()
        assert jobs.wait_begun(0, times=2) != first
        assert not crash.exists()
        hold.unlink()
        jobs.wait(job, "succeeded")
        assert worker.said().count("waiting until it ends") == 1
    finally:
        second.kill_all()


def test_everything_dies_with_a_killed_worker(jobs: Jobs, worker: Worker) -> None:
    jobs.hold(0)
    jobs.submit()
    jobs.wait_begun(0)
    assert len(worker.family()) > 5
    os.kill(worker.process.pid, signal.SIGKILL)
    worker.process.wait()
    # Two idle agents of Ray try for a minute to tell its dead server, then end too.
    wait_for(lambda: all(name.endswith("Agent") for name in worker.left()), "the processes to end")
