"""A database with two matrices and a CPU, and one Ray for all tests that run a process."""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from sqlalchemy import func, select, text

from server import devices
from server.db import Database, clock
from server.jobs.dispatcher import Dispatcher
from server.jobs.engine import Engine
from server.jobs.queue import JobRequest, get_job, submit
from server.migrate import _known
from server.models import Base, EventCounterRow, JobRow, MatrixRow, MeasurementRow
from server.settings import Settings
from tests.postgres import DATABASES, fresh
from tests.server.jobs.fake_study import CPU, FAKE

ROOT = Path(__file__).parents[3]
PATIENCE_S = 180.0
"""A state that is not there by then will never be."""


def wait_for(condition: Callable[[], object], what: str) -> None:
    """Returns once the condition holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"waited {PATIENCE_S:.0f} s for {what}")
        threading.Event().wait(0.02)


@pytest.fixture(params=DATABASES)
def kind(request: pytest.FixtureRequest) -> str:
    """Every test of the queue runs on both databases; modules that start processes say which of theirs do."""
    return str(request.param)


@pytest.fixture
def settings(request: pytest.FixtureRequest, tmp_path: Path, kind: str) -> Settings:
    url = fresh(request.getfixturevalue("postgres")) if kind == "postgres" else ""
    return Settings(home=tmp_path, database_url=url, lease_seconds=60)


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    database = Database(settings.resolved_database_url)
    Base.metadata.create_all(database.engine)
    fill(database)
    yield database
    database.close()


def fill(database: Database) -> None:
    """What migrations leave in new tables, in less time; two matrices and a CPU."""
    with database.write() as session:
        session.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
        session.execute(text("INSERT INTO alembic_version VALUES (:newest)"), {"newest": _known()[0]})
        session.add(EventCounterRow(id=1, value=0))
    add_rows(database)


def add_rows(database: Database) -> None:
    """Two matrices and a CPU."""
    with database.write() as session:
        for name in ("a", "b"):
            now = session.execute(select(clock())).scalar_one()
            row = MatrixRow(id=name * 32, name=name, state="ready", sha256=name * 64, created_at=now)
            row.n_rows = row.n_cols = row.nnz = 1
            session.add(row)
    devices.register(database, [CPU])


class Jobs:
    """Short words for what the tests do with a queue of fake studies."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.database = database
        self.settings = settings
        self.folder = settings.home

    def submit(self, matrices: str = "a", device: str = "cpu", **params: object) -> JobRow:
        ids = tuple(name * 32 for name in matrices)
        request = JobRequest("fake", ids, {"folder": str(self.folder), **params}, device)
        return submit(self.database, self.settings, request, studies=FAKE)[0]

    def get(self, job: JobRow) -> JobRow:
        with self.database.read() as session:
            return get_job(session, job.id)

    def wait(self, job: JobRow, state: str) -> JobRow:
        wait_for(lambda: self.get(job).state == state, f"the job to be {state}; it is {self.get(job).state}")
        return self.get(job)

    def records(self, job: JobRow) -> list[tuple[str, str]]:
        """(kernel, state) of every measurement, in the order in which they were committed."""
        with self.database.read() as session:
            rows = session.execute(
                select(MeasurementRow.kernel, MeasurementRow.state)
                .where(MeasurementRow.job_id == job.id)
                .order_by(MeasurementRow.id)
            )
            return [(row.kernel, row.state) for row in rows]

    def count(self, table: type) -> int:
        with self.database.read() as session:
            return int(session.scalar(select(func.count()).select_from(table)) or 0)

    def hold(self, number: int) -> Path:
        """The case of this number blocks until the file that is returned is gone."""
        path = self.folder / f"hold-{number}"
        path.touch()
        return path

    def begun(self) -> list[tuple[int, int]]:
        """(process, case) of every case that a process has begun."""
        log = self.folder / "log"
        lines = log.read_text().splitlines() if log.exists() else []
        return [(int(line.split()[0]), int(line.split()[1])) for line in lines]

    def wait_begun(self, number: int, times: int = 1) -> int:
        """The process that began the case for the n-th time."""
        wait_for(lambda: [case for _, case in self.begun()].count(number) >= times, f"case {number} to begin")
        return [process for process, case in self.begun() if case == number][times - 1]


@pytest.fixture
def jobs(database: Database, settings: Settings) -> Jobs:
    return Jobs(database, settings)


class Worker:
    """A worker process and everything under it."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._home = settings.home
        environment = {**os.environ, "SPARSIGHT_HOME": str(self._home), "TMPDIR": str(folder)}
        environment["SPARSIGHT_DATABASE_URL"] = settings.database_url
        command = [sys.executable, "-m", "tests.server.jobs.fake_worker"]
        with (self._home / "worker.log").open("ab") as log:
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

    def said(self) -> str:
        """What all workers of this home have logged."""
        return (self._home / "worker.log").read_text()

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
        # StudyData where the test fails.
        sys.stdout.write(worker.said())


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    with tempfile.TemporaryDirectory(prefix="sparsight-", ignore_cleanup_errors=True) as folder:
        engine = Engine(Settings(home=Path(folder)), [CPU], Path(folder) / "ray")
        before = dict(os.environ)
        engine.start()
        # Ray has read what is meant for it; other tests must not.
        os.environ.clear()
        os.environ.update(before)
        yield engine
        engine.stop()


@pytest.fixture
def dispatching(jobs: Jobs, engine: Engine) -> Callable[..., object]:
    """A context in which a dispatcher serves the queue."""

    @contextmanager
    def serve(engine: Engine = engine, first_event_s: float = 60.0) -> Iterator[Dispatcher]:
        dispatcher = Dispatcher(jobs.settings, jobs.database, engine, [CPU], FAKE, first_event_s)
        thread = threading.Thread(target=dispatcher.run)
        thread.start()
        try:
            yield dispatcher
        finally:
            dispatcher.stop()
            thread.join()

    return serve
