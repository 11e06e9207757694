"""Ingests that are stopped, fail, or are not wanted any more."""

import hashlib
import threading
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import delete

from gpu_engine.errors import MatrixFileError
from server import matrix_lifecycle, sandbox
from server.db import Database
from server.fork_server import Fork
from server.main import create_app
from server.models import MatrixRow
from server.sandbox import SandboxTask
from server.settings import Settings
from server.store import Store
from tests.conftest import ADDRESS
from tests.server.test_matrices import GOOD, PATIENCE_S, until_settled, upload


def diagonal(n: int) -> bytes:
    lines = "".join(f"{row} {row} 1\n" for row in range(1, n + 1))
    return f"%%MatrixMarket matrix coordinate real general\n{n} {n} {n}\n{lines}".encode()


def test_stopping_the_service_ends_the_reading(
    settings: Settings, database: Database, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix_lifecycle, "ANSWER_S", 0.0)
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
        # Long enough to read that it is stopped before its end.
        matrix_id = upload(client, diagonal(300_000)).json()["id"]
        assert started.wait(PATIENCE_S)
    with database.read() as session:
        row = session.get_one(MatrixRow, matrix_id)
    assert (row.state, row.error["code"]) == ("failed", "unavailable")
    assert store.ids() == set()


def test_a_failed_matrix_is_read_anew(client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with database.write() as session:
        row = MatrixRow(id="old", name="h", state="failed", sha256="", error={"status": 503}, created_at=1.0)
        monkeypatch.setattr(matrix_lifecycle, "ANSWER_S", PATIENCE_S)
        row.sha256 = hashlib.sha256(GOOD).hexdigest()
        session.add(row)
    answer = upload(client, GOOD)
    assert (answer.status_code, answer.json()["id"], answer.json()["error"]) == (200, "old", None)
    assert until_settled(client, "old")["state"] == "ready"


def test_a_full_disk_is_not_the_files_fault(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_lifecycle, "ANSWER_S", PATIENCE_S)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Store, "commit", full)
    answer = upload(client, GOOD)
    assert (answer.status_code, answer.json()["code"]) == (507, "disk_full")
    assert client.get("/api/v1/matrices").json()["items"] == []


def test_a_matrix_deleted_at_the_last_moment_leaves_no_arrays(
    client: TestClient, database: Database, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix_lifecycle, "ANSWER_S", PATIENCE_S)
    run = sandbox.run

    def run_and_delete(*args: Any) -> None:
        run(*args)
        with database.write() as session:
            session.execute(delete(MatrixRow))

    monkeypatch.setattr(sandbox, "run", run_and_delete)
    answer = upload(client, GOOD)
    assert (answer.status_code, "deleted while it was being read" in answer.json()["detail"]) == (404, True)
    assert store.ids() == set()


def test_an_upload_deleted_while_it_waits_is_never_read(
    client: TestClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix_lifecycle, "ANSWER_S", 0.0)
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
