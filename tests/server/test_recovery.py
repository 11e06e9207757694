"""What becomes of ingests whose server, process or database went away."""

import contextlib
import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select, update
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.orm import Session

from server import ingest, matrix_lifecycle, sandbox
from server.db import Database, clock
from server.ingest import LOST_S, Ingestor, emit_state, recover
from server.main import create_app
from server.migrate import migrate
from server.models import EventRow, MatrixRow
from server.sandbox import SandboxTask
from server.settings import Settings
from server.store import Store
from server.upload import Upload
from tests.battery import BATTERY
from tests.conftest import ADDRESS, AddMatrix
from tests.postgres import fresh
from tests.server.test_matrices import GOOD, PATIENCE_S, until_settled, upload


def test_what_a_crash_left_is_cleared_at_the_next_start(
    settings: Settings, database: Database, store: Store, add_matrix: AddMatrix
) -> None:
    kept = add_matrix(BATTERY["identity"](), "kept")
    with database.write() as session:
        session.add(MatrixRow(id="half", name="h", state="ingesting", sha256="e" * 64, created_at=1.0))
    add_matrix(BATTERY["identity"](), "orphan", id="orphan")
    with database.write() as session:
        session.delete(session.get_one(MatrixRow, "orphan"))
    (settings.home / "uploads").mkdir()
    (settings.home / "uploads" / "half").write_bytes(GOOD)
    with TestClient(create_app(settings), base_url=ADDRESS) as client:
        document = client.get("/api/v1/matrices/half").json()
        assert (document["state"], document["error"]["status"]) == ("failed", 503)
        assert "Upload it again" in document["error"]["detail"]
        assert client.get(f"/api/v1/matrices/{kept}").json()["state"] == "ready"
    assert store.ids() == {kept}
    assert list((settings.home / "uploads").iterdir()) == []


def test_a_second_server_leaves_the_work_of_the_first_alone(settings: Settings, database: Database) -> None:
    first, second = create_app(settings), create_app(settings)
    with TestClient(first, base_url=ADDRESS):
        with database.write() as session:
            session.add(MatrixRow(id="half", name="h", state="ingesting", sha256="e" * 64, created_at=1.0))
        with TestClient(second, base_url=ADDRESS) as client:
            assert client.get("/api/v1/matrices/half").json()["state"] == "ingesting"


class Outage:
    """The database is away for so many writes, from the moment on at which a file was read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, writes: int, too_late: bool = False) -> None:
        """too_late  it takes the writes, and is away before it says so."""
        self.failed = 0
        self.files: list[bool] = []
        self.begun = threading.Event()
        run, write = sandbox.run, Database.write

        def run_then_lose(task: SandboxTask, *args: Any) -> None:
            self.file = Path(task.path)
            try:
                run(task, *args)
            finally:
                self.begun.set()

        @contextlib.contextmanager
        def lost(database: Database) -> Iterator[Session]:
            away = threading.current_thread().name.startswith("ingest") and self.failed < writes
            self.failed += away
            if away:
                self.files.append(self.file.exists())
            if away and not too_late:
                raise OperationalError("COMMIT", None, Exception("the server closed the connection"))
            with write(database) as session:
                yield session
            if away:
                raise OperationalError("COMMIT", None, Exception("the server closed the connection"))

        monkeypatch.setattr(sandbox, "run", run_then_lose)
        monkeypatch.setattr(Database, "write", lost)
        monkeypatch.setattr(ingest, "RETRY_S", 0.0)


@pytest.mark.parametrize("too_late", [False, True])
@pytest.mark.parametrize(("content", "state"), [(GOOD, "ready"), (b"no matrix", "failed")])
def test_the_end_of_an_ingest_is_written_once_the_database_is_back(
    app: FastAPI,
    client: TestClient,
    settings: Settings,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes,
    state: str,
    too_late: bool,
) -> None:
    monkeypatch.setattr(matrix_lifecycle, "ANSWER_S", 0.0)
    outage = Outage(monkeypatch, writes=3, too_late=too_late)
    matrix_id = upload(client, content).json()["id"]
    assert until_settled(client, matrix_id)["state"] == state
    assert outage.files == [True] * 3
    app.state.ingestor.close()
    assert store.ids() == ({matrix_id} if state == "ready" else set())
    assert list((settings.home / "uploads").iterdir()) == []


def test_an_ingest_that_never_got_its_end_written_is_begun_anew(
    settings: Settings, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database is away until the service has stopped: the next start finds the row by its file."""
    monkeypatch.setattr(matrix_lifecycle, "ANSWER_S", 0.0)
    with pytest.MonkeyPatch.context() as patch, TestClient(create_app(settings), base_url=ADDRESS) as client:
        outage = Outage(patch, writes=10**9)
        matrix_id = upload(client, GOOD).json()["id"]
        assert outage.begun.wait(PATIENCE_S)
    assert [file.name for file in (settings.home / "uploads").iterdir()] == [matrix_id]
    with TestClient(create_app(settings), base_url=ADDRESS) as client:
        assert client.get(f"/api/v1/matrices/{matrix_id}").json()["state"] == "failed"
        assert upload(client, GOOD).json()["id"] == matrix_id
        assert until_settled(client, matrix_id)["state"] == "ready"
    assert store.ids() == {matrix_id}


def test_the_same_bytes_revive_a_row_that_nobody_reads(
    client: TestClient, database: Database, store: Store, add_matrix: AddMatrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where its arrays are there already; one of which something was said lately is another server's."""
    monkeypatch.setattr(matrix_lifecycle, "ANSWER_S", PATIENCE_S)
    for name in ("lost", "taken"):
        add_matrix(BATTERY["identity"](), id=name)
    with database.write() as session:
        for name, content in (("lost", GOOD), ("taken", GOOD + b" ")):
            row = session.get_one(MatrixRow, name)
            row.state, row.sha256 = "ingesting", hashlib.sha256(content).hexdigest()
        emit_state(session, row)
    assert upload(client, GOOD).json()["id"] == "lost"
    assert client.get("/api/v1/matrices/lost").json()["state"] == "ready"
    assert upload(client, GOOD + b" ").status_code == 202


def test_recover_on_an_empty_home(settings: Settings, database: Database, store: Store) -> None:
    ingestor = Ingestor(settings, database, store)
    ingestor.open()
    recover(database, store, ingestor.uploads)
    ingestor.close()
    assert store.ids() == set()


def test_a_server_recovers_its_own_ingests_and_no_other_homes(postgres: str, tmp_path: Path, store: Store) -> None:
    url = fresh(postgres)
    migrate(url)
    shared = Database(url)
    uploads = tmp_path / "uploads"
    uploads.mkdir()
    (uploads / "mine").touch()
    with shared.write() as session:
        for name in ("mine", "other", "lost", "ahead"):
            row = MatrixRow(id=name, name=name, state="ingesting", sha256=name, created_at=1.0)
            session.add(row)
            emit_state(session, row)
    with shared.write() as session:
        session.execute(update(EventRow).where(EventRow.topic == "matrix:lost").values(created_at=clock() - LOST_S))
        # Written before the clock was put back.
        ahead = update(EventRow).where(EventRow.topic == "matrix:ahead")
        session.execute(ahead.values(created_at=clock() + LOST_S + 60))
    recover(shared, store, uploads)
    with shared.read() as session:
        states = {row.id: row.state for row in session.scalars(select(MatrixRow))}
    assert states == {"mine": "failed", "other": "ingesting", "lost": "failed", "ahead": "failed"}
    shared.close()


class Killed(BaseException):
    """Where a process would end."""


@pytest.mark.parametrize("kind", ["upload", "generated"])
def test_a_server_that_is_killed_once_the_row_is_there_leaves_one_that_the_next_start_ends(
    kind: str, postgres: str, tmp_path: Path, settings: Settings, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose row it was, homes that share a Postgres know by the file alone."""
    url = fresh(postgres)
    migrate(url)
    shared = Database(url)
    ingestor = Ingestor(settings, shared, store)
    ingestor.open()
    sent = tmp_path / "sent"
    sent.write_bytes(GOOD)

    def killed(*_: object) -> None:
        raise Killed

    monkeypatch.setattr(Path, "rename", killed)
    monkeypatch.setattr(Ingestor, "generate", killed)
    begun = {
        "upload": lambda: matrix_lifecycle.add_upload(ingestor, Upload(sent, "0" * 64, len(GOOD), "good.mtx", "")),
        "generated": lambda: matrix_lifecycle.add_generated(ingestor, "stencil", {"nx": 4, "ny": 3}),
    }
    with pytest.raises(Killed):
        begun[kind]()
    recover(shared, store, ingestor.uploads)
    with shared.read() as session:
        assert [row.state for row in session.scalars(select(MatrixRow))] == ["failed"]
    assert list(ingestor.uploads.iterdir()) == []
    ingestor.close()
    shared.close()


class RefusedOnce:
    """The first write raises an error at its commit, or once that is done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kind: type[DBAPIError], too_late: bool) -> None:
        write, errors = Database.write, iter([kind("COMMIT", None, Exception("refused"))])

        @contextlib.contextmanager
        def refusing(database: Database) -> Iterator[Session]:
            error = next(errors, None)
            with write(database) as session:
                yield session
                if error is not None and not too_late:
                    raise error
            if error is not None:
                raise error

        monkeypatch.setattr(Database, "write", refusing)


@pytest.fixture
def ingestor(settings: Settings, database: Database, store: Store) -> Iterator[Ingestor]:
    opened = Ingestor(settings, database, store)
    opened.open()
    yield opened
    opened.close()


def test_a_matrix_whose_row_the_database_refuses_leaves_no_file(
    ingestor: Ingestor, monkeypatch: pytest.MonkeyPatch
) -> None:
    RefusedOnce(monkeypatch, OperationalError, too_late=False)
    with pytest.raises(OperationalError):
        matrix_lifecycle.add_generated(ingestor, "stencil", {"nx": 4, "ny": 3})
    assert list(ingestor.uploads.iterdir()) == []


def test_a_row_that_is_refused_for_another_of_the_same_source_leaves_no_file(
    ingestor: Ingestor, monkeypatch: pytest.MonkeyPatch
) -> None:
    RefusedOnce(monkeypatch, IntegrityError, too_late=False)
    added = matrix_lifecycle.add_generated(ingestor, "stencil", {"nx": 4, "ny": 3})
    assert added.ingest is not None
    added.ingest.result(PATIENCE_S)
    assert list(ingestor.uploads.iterdir()) == []


def test_a_row_that_is_there_although_the_answer_was_lost_keeps_its_file(
    ingestor: Ingestor, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By that file the next start of this server knows whose it was."""
    RefusedOnce(monkeypatch, OperationalError, too_late=True)
    with pytest.raises(OperationalError):
        matrix_lifecycle.add_generated(ingestor, "stencil", {"nx": 4, "ny": 3})
    with database.read() as session:
        (row,) = session.scalars(select(MatrixRow))
    assert ([file.name for file in ingestor.uploads.iterdir()], row.state) == ([row.id], "ingesting")


def test_a_database_that_refuses_a_row_is_asked_three_times(
    client: TestClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever index or counter of it is damaged; of a race the third try knows the end."""
    writes = 0

    def refuse(*_: Any) -> None:
        nonlocal writes
        writes += 1
        raise IntegrityError("INSERT", {}, Exception("UNIQUE constraint failed: events.id"))

    monkeypatch.setattr(matrix_lifecycle, "emit_state", refuse)
    answer = upload(client, GOOD)
    assert (answer.status_code, answer.json()["code"], writes) == (503, "unavailable", 1 + matrix_lifecycle.RACES)
    assert "sparsight doctor" in answer.json()["detail"]
    assert list((settings.home / "uploads").iterdir()) == []
