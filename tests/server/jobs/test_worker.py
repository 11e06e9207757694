"""The worker process: a dispatcher that dies is followed by another, and nothing is left behind."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from server.jobs.worker import EXIT_OCCUPIED
from server.models import DeviceRow
from server.settings import Settings
from tests.postgres import DATABASES
from tests.server.jobs.conftest import PATIENCE_S, Jobs, wait_for

ROOT = Path(__file__).parents[3]
ALL_OK = [(f"fake/k{i}", "ok") for i in range(4)]


@pytest.fixture
def kind() -> str:
    return "sqlite"


class Worker:
    """A worker process and everything under it."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        home = settings.home
        environment = {**os.environ, "SPARSIGHT_HOME": str(home), "TMPDIR": str(folder)}
        environment["SPARSIGHT_DATABASE_URL"] = settings.database_url
        command = [sys.executable, "-m", "tests.server.jobs.fake_worker"]
        with (home / "worker.log").open("ab") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=log, stdout=log)
        self._seen: dict[int, psutil.Process] = {}

    def family(self) -> dict[int, psutil.Process]:
        """Every process that was ever seen under the worker, the worker included."""
        if self.process.poll() is None:
            top = psutil.Process(self.process.pid)
            self._seen |= {process.pid: process for process in (top, *top.children(recursive=True))}
        return self._seen

    def dispatcher(self) -> int:
        """The one child of the worker that dispatches."""
        return next(p.pid for p in psutil.Process(self.process.pid).children() if "dispatch" in p.cmdline())

    def left(self) -> list[str]:
        """Names of what was ever seen and still runs."""
        names = []
        for process in self._seen.values():
            # One that ends while it is asked is not left.
            with suppress(psutil.NoSuchProcess):
                if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                    names.append(process.name())
        return names

    def kill_all(self) -> None:
        for process in self.family().values():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.wait()


@pytest.fixture
def folder() -> Iterator[Path]:
    """Ray's files; a path short enough for its sockets."""
    with tempfile.TemporaryDirectory(prefix="s", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def worker(jobs: Jobs, folder: Path) -> Iterator[Worker]:
    worker = Worker(jobs.settings, folder)
    try:
        yield worker
    finally:
        worker.kill_all()
        # Shown where the test fails.
        sys.stdout.write((jobs.folder / "worker.log").read_text())


@pytest.mark.parametrize("kind", DATABASES)
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

    second = Worker(jobs.settings, folder)
    assert second.process.wait(PATIENCE_S) == EXIT_OCCUPIED

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


def test_everything_dies_with_a_killed_worker(jobs: Jobs, worker: Worker) -> None:
    jobs.hold(0)
    jobs.submit()
    jobs.wait_begun(0)
    assert len(worker.family()) > 5
    os.kill(worker.process.pid, signal.SIGKILL)
    worker.process.wait()
    # Two idle agents of Ray try for a minute to tell its dead server, then end too.
    wait_for(lambda: all(name.endswith("Agent") for name in worker.left()), "the processes to end")
