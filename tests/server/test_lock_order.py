"""Calls that write at once: none waits for another in a circle, no job outlives its matrix."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Barrier, Event, Thread
from typing import Any

import pytest
from sqlalchemy import select, update

from gpu_engine.errors import ParameterError, SparsightError
from gpu_engine.recordings import files as recordings
from gpu_engine.records import Case, DeviceInfo, DeviceProfile, Measurement, Progress
from server import devices, import_recordings, matrix_lifecycle, matrix_sets, quotas, retention
from server.db import Database
from server.ingest import Ingestor, recover
from server.jobs import failed_starts, queue
from server.jobs import lease as leases
from server.jobs.lease import Lease
from server.jobs.queue import JobRequest
from server.migrate import migrate
from server.models import (
    LOCK_ORDER,
    TERMINAL,
    Base,
    EventCounterRow,
    JobRow,
    JobState,
    MatrixRow,
    MatrixState,
    TokenRow,
)
from server.roles import Caller, Role
from server.settings import Settings
from server.store import Store
from tests.lock_order import watched
from tests.postgres import fresh
from tests.samples.recording import sample
from tests.server.jobs.fake_study import CPU, FAKE, FakeDetails

A, B = "a" * 32, "b" * 32
TIMES = 4
GPU = DeviceInfo("cuda:0", "cuda", "A GPU", 2**36, 2**26, "GPU-1")
EVER = 10**9


class Desk:
    """A database with two matrices, a job of each state, two devices, a token; and the calls that write."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.database = database
        self.settings = settings
        self.ingestor = Ingestor(settings, database, Store(settings.resolved_store))
        self.ingestor.uploads.mkdir(exist_ok=True)
        self.numbers = count()
        self.fill()

    def fill(self) -> None:
        """What calls may have deleted is there again."""
        with self.database.write() as session:
            for name in (A, B):
                row = session.get(MatrixRow, name) or MatrixRow(id=name, name=name, sha256=name * 2, created_at=1.0)
                row.state, row.n_rows, row.n_cols, row.nnz = MatrixState.READY, 1, 1, 1
                session.add(row)
            row = session.get(MatrixRow, "ingesting") or MatrixRow(id="ingesting", name="i", sha256="i", created_at=1.0)
            row.state = MatrixState.INGESTING
            session.add(row)
            session.execute(update(JobRow).where(JobRow.state == JobState.QUEUED).values(state=JobState.CANCELLED))
            session.execute(update(JobRow).where(JobRow.state == JobState.RUNNING).values(state=JobState.CANCELLED))
            if session.scalar(select(TokenRow).where(TokenRow.name == "t")) is None:
                session.add(TokenRow(id="t", name="t", hash="t", role=Role.SUBMIT, created_at=0.0, queued_jobs=EVER))
        devices.register(self.database, [CPU, GPU], "me", ["me"])
        self.running = self.submit()
        leases.claim(self.database, "me", ["cpu"], 60)
        self.over = self.submit(B)
        queue.cancel(self.database, self.over.id)
        self.again, _ = queue.retry(self.database, self.settings, self.over.id, studies=FAKE)
        queue.cancel(self.database, self.again.id)
        self.queued = self.submit()
        self.set_id = matrix_sets.save(self.database, [A, B])[0].id
        self.lease = Lease(self.running.id, self.attempt(self.running))

    def attempt(self, job: JobRow) -> int:
        with self.database.read() as session:
            return queue.get_job(session, job.id).attempt

    def submit(self, matrix: str = A) -> JobRow:
        request = JobRequest("fake", (matrix,), {"n_cases": 2}, "cpu")
        caller = Caller("t", Role.SUBMIT, "t")
        return queue.submit(self.database, self.settings, request, studies=FAKE, caller=caller)[0]

    def measure(self) -> None:
        case = Case(A, f"fake/k{next(self.numbers)}", "warm")
        leases.measured(self.database, self.lease, Measurement.of(case, "cpu", FakeDetails, median_s=1.0))

    def sweep(self) -> None:
        """Retention of everything that is over."""
        retention._sweep_age(self.ingestor, -10.0)

    def delete(self) -> None:
        """Deletes the first matrix, once its jobs are over."""
        with self.database.read() as session:
            jobs = session.scalars(select(JobRow.id).where(JobRow.state.not_in(TERMINAL))).all()
        for job in jobs:
            with suppress(SparsightError):
                queue.cancel(self.database, job)
        matrix_lifecycle.delete_matrix(self.ingestor, A, with_results=True)

    def import_recording(self, name: str) -> None:
        import_recordings.take(self.database, recordings.dump(sample(0.01 * (1 + next(self.numbers))), name), name)

    @property
    def calls(self) -> dict[str, Callable[[], Any]]:
        d, s = self.database, self.settings
        profile = DeviceProfile("cpu", CPU.name, 1, (), "2026-01-01T00:00:00+00:00")
        return {
            "submit": self.submit,
            "submit B": lambda: self.submit(B),
            "retry": lambda: queue.retry(d, s, self.over.id, studies=FAKE),
            "delete": self.delete,
            "delete B": lambda: matrix_lifecycle.delete_matrix(self.ingestor, B, with_results=True),
            "cancel": lambda: queue.cancel(d, self.queued.id),
            "cancel running": lambda: queue.cancel(d, self.running.id),
            "annotate": lambda: queue.annotate(d, self.over.id, ["tag"]),
            "save set": lambda: matrix_sets.save(d, [A, B], f"set {next(self.numbers)}"),
            "delete set": lambda: matrix_sets.delete_set(d, self.set_id),
            "claim": lambda: leases.claim(d, "me", ["cpu"], 60),
            "beat": lambda: leases.renew_leases(d, "me", [self.running.id], ["cuda:0", "cpu"], 60),
            "progress": lambda: leases.progressed(d, self.lease, "case", Progress(0.5, "half")),
            "measure": self.measure,
            "profile": lambda: leases.profiled(d, self.lease, profile),
            "die": lambda: leases.died(d, self.lease, "case"),
            "release": lambda: leases.release(d, self.lease, "case"),
            "finish": lambda: leases.finish(d, self.lease, JobState.SUCCEEDED, 1.0),
            "requeue": lambda: leases.requeue_lost(d, 60, ["me"]),
            "register": lambda: devices.register(d, [GPU, CPU], "me", ["me"]),
            "withdraw": lambda: devices.withdraw(d, ["cuda:0", "cpu"], "me"),
            "finish ingest": lambda: self.ingestor._fail("ingesting", SparsightError("no")),
            "delete ingest": lambda: matrix_lifecycle.delete_matrix(self.ingestor, "ingesting"),
            "recover": lambda: recover(d, self.ingestor.store, self.ingestor.uploads),
            "retention": self.sweep,
            "charge": lambda: quotas.charge_upload(d, Caller("t", Role.SUBMIT, "t"), 1),
            "import": lambda: self.import_recording("one"),
            "import again": lambda: self.import_recording("two"),
            "forget": lambda: import_recordings.delete(d, "one/formats"),
            "fault": lambda: failed_starts.store_failure(d, s, "Ray is gone."),
        }


@pytest.fixture(scope="module")
def desk(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    url = fresh(postgres)
    migrate(url)
    database = Database(url)
    home: Path = tmp_path_factory.mktemp("home")
    yield Desk(database, Settings(home=home, database_url=url))
    database.close()


def run_together(desk: Desk, first: str, second: str) -> list[str]:
    """What went wrong as two threads made these calls at once, each many times."""
    wrong: list[str] = []
    calls, barrier = desk.calls, Barrier(2)

    def work(name: str) -> None:
        barrier.wait()
        for _ in range(TIMES):
            try:
                calls[name]()
            except SparsightError:
                continue
            except Exception as error:
                wrong.append(f"{first} × {second}: {name}: {type(error).__name__} {str(error).splitlines()[0]}")

    threads = [Thread(target=work, args=(name,)) for name in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong + [f"{first} × {second}: the job {job} has no matrix" for job in orphans(desk.database)]


def orphans(database: Database) -> list[str]:
    """The jobs that are not over, and of which a matrix is gone."""
    with database.read() as session:
        there = set(session.scalars(select(MatrixRow.id)))
        jobs = session.scalars(select(JobRow).where(JobRow.state.not_in(TERMINAL))).all()
    return [job.id for job in jobs if not there.issuperset(job.matrix_ids)]


CALLS = (
    "submit", "submit B", "retry", "delete", "delete B", "cancel", "cancel running", "annotate", "save set",
    "delete set", "claim", "beat", "progress", "measure", "profile", "die", "release", "finish", "requeue", "register",
    "withdraw", "finish ingest", "delete ingest", "recover", "retention", "charge", "import", "import again", "forget",
    "fault",
)  # fmt: skip
QUICK = ("delete B", "retention", "import")
"""The calls that lock most."""

DEAR = pytest.mark.full("server/*", "tests/server/test_lock_order.py")


@pytest.mark.parametrize("first", [each if each in QUICK else pytest.param(each, marks=DEAR) for each in CALLS])
def test_no_two_calls_wait_for_each_other(desk: Desk, first: str) -> None:
    assert tuple(desk.calls) == CALLS
    wrong: list[str] = []
    for second in CALLS[CALLS.index(first) :]:
        desk.fill()
        wrong += run_together(desk, first, second)
    assert wrong == []


def test_a_job_that_comes_while_its_matrix_is_deleted_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.fill()
    queue.cancel(desk.database, desk.queued.id)
    queue.cancel(desk.database, desk.running.id)
    looked, go_on = Event(), Event()
    delete_jobs = matrix_lifecycle._delete_jobs

    def pause(*given: Any) -> None:
        delete_jobs(*given)
        looked.set()
        go_on.wait(10)

    monkeypatch.setattr(matrix_lifecycle, "_delete_jobs", pause)
    deleting = Thread(target=desk.calls["delete"])
    deleting.start()
    assert looked.wait(10)
    ended: list[object] = []

    def submit() -> None:
        try:
            ended.append(desk.submit())
        except ParameterError as error:
            ended.append(error)

    submitting = Thread(target=submit)
    submitting.start()
    submitting.join(1)
    go_on.set()
    submitting.join()
    deleting.join()
    assert [type(each) for each in ended] == [ParameterError]
    assert orphans(desk.database) == []


def test_every_table_has_its_place_in_the_order() -> None:
    assert sorted((*LOCK_ORDER, "audit")) == sorted(Base.metadata.tables)


@pytest.mark.out_of_order
def test_a_lock_out_of_order_is_noticed(either_database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.lock_order.is_of_the_service", lambda: True)
    with watched() as wrong:
        with either_database.write() as session:
            session.execute(update(JobRow).values(note=""))
            session.execute(update(EventCounterRow).values(value=EventCounterRow.value + 1))
        assert wrong == []
        with either_database.write() as session:
            session.execute(update(EventCounterRow).values(value=EventCounterRow.value + 1))
            session.scalars(select(JobRow).with_for_update())
    assert wrong == ["jobs after event_counter"]
