import contextlib
import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import delete, select, update
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from gpu_engine.errors import InputError, MatrixFileError, ParameterError, TooLargeError
from gpu_engine.matrix_io import ReadLimits
from server import catalogue, ingest, sandbox
from server.db import Database, clock
from server.forks import Fork
from server.ingest import LOST_S, Ingestor, emit_state, recover
from server.main import create_app
from server.migrate import migrate
from server.models import EventRow, MatrixRow
from server.sandbox import SandboxTask
from server.settings import Settings
from server.store import FILES, META, Store
from server.upload import Upload
from tests.battery import BATTERY
from tests.conftest import ADDRESS, AddMatrix
from tests.postgres import fresh
from tests.server.test_matrices import GOOD, PATIENCE_S, until_settled, upload


def ignore(_: Fork) -> None:
    pass


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def a_task(tmp_path: Path, memory_bytes: int = 4 * 2**30, seconds: float = PATIENCE_S) -> SandboxTask:
    file = tmp_path / "good.mtx"
    file.write_bytes(GOOD)
    return SandboxTask(memory_bytes, seconds, ReadLimits(), path=str(file))


@pytest.mark.parametrize(
    ("signal", "kind", "sentence"),
    [
        (11, MatrixFileError, "crashed"),
        (6, MatrixFileError, "crashed"),
        (9, TooLargeError, "memory"),
        (24, TooLargeError, "took more"),
    ],
)
def test_whatever_ends_the_process_is_the_files_fault(
    tmp_path: Path, folder: Path, signal: int, kind: type[InputError], sentence: str
) -> None:
    with pytest.raises(kind, match=sentence):
        sandbox.run(a_task(tmp_path), folder, lambda process: process.send_signal(signal))


def test_a_process_that_takes_too_long_is_ended(tmp_path: Path, folder: Path) -> None:
    seen: list[Fork] = []
    with pytest.raises(TooLargeError, match="SPARSIGHT_INGEST_SECONDS"):
        sandbox.run(a_task(tmp_path, seconds=0.001), folder, seen.append)
    assert seen[0].poll() == -9


def test_a_fork_server_goes_on_after_whatever_its_process_did(tmp_path: Path, folder: Path) -> None:
    """Also after one whose time was over at once; the server forks, and does no task itself."""
    parents: list[int] = []

    def look(process: Fork) -> None:
        parents.append(int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[1]))

    for seconds in (0.0, PATIENCE_S, 0.0, PATIENCE_S):
        with pytest.raises(TooLargeError) if not seconds else contextlib.nullcontext():
            sandbox.run(a_task(tmp_path, seconds=seconds), folder, look)
    assert len({*parents}) == 1
    assert parents[0] != os.getpid()
    assert sorted(entry.name for entry in folder.iterdir()) == sorted(FILES)


def test_a_fork_server_that_was_ended_is_replaced(tmp_path: Path, folder: Path) -> None:
    sandbox.run(a_task(tmp_path), folder, ignore)
    for server in sandbox._idle:
        server._process.kill()
        server._process.wait()
    sandbox.run(a_task(tmp_path), folder, ignore)
    assert (folder / META).exists()


def test_a_process_without_memory_says_so(tmp_path: Path, folder: Path) -> None:
    task = SandboxTask(600 * 2**20, PATIENCE_S, ReadLimits(), family="stencil", params={"nx": 4000, "ny": 4000})
    with pytest.raises((TooLargeError, ParameterError), match=r"memory|smaller"):
        sandbox.run(task, folder, ignore)


def test_the_process_has_no_secrets(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARSIGHT_TOKEN", "hunter2")
    environment: list[bytes] = []
    sandbox.run(
        a_task(tmp_path),
        folder,
        lambda process: environment.append(Path(f"/proc/{process.pid}/environ").read_bytes()),
    )
    assert environment
    assert b"hunter2" not in environment[0]


def test_the_process_is_limited(tmp_path: Path, folder: Path) -> None:
    """The limits of the child, read from outside until it ends: it sets them one by one, so the last reading counts."""
    limits: dict[str, str] = {}
    watchers: list[threading.Thread] = []

    def look(process: Fork) -> None:
        def watch() -> None:
            with contextlib.suppress(OSError):
                while process.poll() is None:
                    text = Path(f"/proc/{process.pid}/limits").read_text()
                    if "4294967296" in text:
                        limits.update({line[:26].strip(): line[26:].split()[0] for line in text.splitlines()})

        watchers.append(threading.Thread(target=watch))
        watchers[0].start()

    sandbox.run(a_task(tmp_path, memory_bytes=2**32), folder, look)
    watchers[0].join()
    assert limits["Max address space"] == limits["Max file size"] == "4294967296"
    assert limits["Max core file size"] == "0"


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
        assert "Send it again" in document["error"]["detail"]
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


def test_stopping_the_service_ends_the_reading(
    settings: Settings, database: Database, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "ANSWER_S", 0.0)
    started = threading.Event()
    run = sandbox.run

    def slow(task: SandboxTask, folder: Path, tell: object) -> None:
        def stopped(process: Fork) -> None:
            process.send_signal(19)  # It will never get on by itself.
            tell(process)  # type: ignore[operator]
            started.set()

        run(task, folder, stopped)

    monkeypatch.setattr(sandbox, "run", slow)
    with TestClient(create_app(settings), base_url=ADDRESS) as client:
        matrix_id = upload(client, GOOD).json()["id"]
        assert started.wait(PATIENCE_S)
    with database.read() as session:
        row = session.get_one(MatrixRow, matrix_id)
    assert (row.state, row.error["code"]) == ("failed", "unavailable")
    assert store.ids() == set()


def test_a_failed_matrix_is_read_anew(client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with database.write() as session:
        row = MatrixRow(id="old", name="h", state="failed", sha256="", error={"status": 503}, created_at=1.0)
        monkeypatch.setattr(catalogue, "ANSWER_S", PATIENCE_S)
        row.sha256 = hashlib.sha256(GOOD).hexdigest()
        session.add(row)
    answer = upload(client, GOOD)
    assert (answer.status_code, answer.json()["id"], answer.json()["error"]) == (200, "old", None)
    assert until_settled(client, "old")["state"] == "ready"


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
    monkeypatch.setattr(catalogue, "ANSWER_S", 0.0)
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
    monkeypatch.setattr(catalogue, "ANSWER_S", 0.0)
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
    monkeypatch.setattr(catalogue, "ANSWER_S", PATIENCE_S)
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


def test_a_full_disk_is_not_the_files_fault(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "ANSWER_S", PATIENCE_S)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Store, "commit", full)
    answer = upload(client, GOOD)
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert client.get("/api/v1/matrices").json()["items"] == []


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
        for name in ("mine", "other", "lost"):
            row = MatrixRow(id=name, name=name, state="ingesting", sha256=name, created_at=1.0)
            session.add(row)
            emit_state(session, row)
        session.execute(update(EventRow).where(EventRow.topic == "matrix:lost").values(created_at=clock() - LOST_S))
    recover(shared, store, uploads)
    with shared.read() as session:
        states = {row.id: row.state for row in session.scalars(select(MatrixRow))}
    assert states == {"mine": "failed", "other": "ingesting", "lost": "failed"}
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
        "upload": lambda: catalogue.add_upload(ingestor, Upload(sent, "0" * 64, len(GOOD), "good.mtx", "")),
        "generated": lambda: catalogue.add_generated(ingestor, "stencil", {"nx": 4, "ny": 3}),
    }
    with pytest.raises(Killed):
        begun[kind]()
    recover(shared, store, ingestor.uploads)
    with shared.read() as session:
        assert [row.state for row in session.scalars(select(MatrixRow))] == ["failed"]
    assert list(ingestor.uploads.iterdir()) == []
    ingestor.close()
    shared.close()


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that nobody has buried yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_process_dies_with_the_server(tmp_path: Path, folder: Path) -> None:
    """A server that is killed takes its readers along, also one that has only just begun."""
    code = """if True:
        import os, sys
        from pathlib import Path
        from gpu_engine.matrix_io import ReadLimits
        from server import sandbox
        task = sandbox.SandboxTask(2**32, 600.0, ReadLimits(), family="delaunay", params={"n": 2_000_000})
        def started(process):
            print(process.pid, flush=True)
            os.kill(os.getpid(), 9)
        sandbox.run(task, Path(sys.argv[1]), started)
    """
    kept = {"NUMBA_CACHE_DIR": os.environ["NUMBA_CACHE_DIR"], "PATH": ""}
    environment = {"PYTHONPATH": str(Path(sandbox.__file__).parent.parent), **kept}
    command = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == -9
    deadline = time.monotonic() + PATIENCE_S
    while is_alive(int(done.stdout)):
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)
    assert not (folder / META).exists()


def test_a_matrix_deleted_at_the_last_moment_leaves_no_arrays(
    client: TestClient, database: Database, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "ANSWER_S", PATIENCE_S)
    run = sandbox.run

    def run_and_delete(*args: Any) -> None:
        run(*args)
        with database.write() as session:
            session.execute(delete(MatrixRow))

    monkeypatch.setattr(sandbox, "run", run_and_delete)
    answer = upload(client, GOOD)
    assert (answer.status_code, "deleted while it was read" in answer.json()["detail"]) == (404, True)
    assert store.ids() == set()


def test_an_upload_deleted_while_it_waits_is_never_read(
    client: TestClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "ANSWER_S", 0.0)
    go_on, read = threading.Event(), []

    def block(task: SandboxTask, *_: Any) -> None:
        read.append(Path(task.path).name)
        go_on.wait(PATIENCE_S)
        raise MatrixFileError("No matrix.")

    monkeypatch.setattr(sandbox, "run", block)
    first, second, third = (upload(client, GOOD + b" " * n).json()["id"] for n in range(3))
    assert client.delete(f"/api/v1/matrices/{third}").status_code == 204
    assert not (settings.home / "uploads" / third).exists()
    go_on.set()
    for matrix_id in (first, second):
        assert until_settled(client, matrix_id)["state"] == "failed"
    assert sorted(read) == sorted([first, second])
