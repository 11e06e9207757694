"""`sparsight doctor` of a service in use: what stands still is found, and so is what is damaged."""

import sqlite3
import tempfile
from pathlib import Path

import pytest
from sqlalchemy import select

from gpu_engine.records import DeviceInfo
from server import devices
from server.db import Database, clock
from server.events import emit
from server.models import JobRow, MatrixRow
from server.settings import Settings
from sparsight.doctor_check import Check
from sparsight.service_checks import check_worker_folders, examine_service
from tests.postgres import fresh

CPU = DeviceInfo("cpu", "cpu", "A processor", 2**34, 2**25)


def found(settings: Settings) -> dict[str, Check]:
    return {check.name: check for check in examine_service(settings)}


def add_job(database: Database, device: str, state: str = "queued") -> None:
    with database.write() as session:
        session.add(JobRow(id=device + state, study="formats", device=device, state=state, created_at=0.0))


def test_a_service_at_rest_is_well(settings: Settings, database: Database) -> None:
    devices.register(database, [CPU])
    add_job(database, "cpu")
    add_job(database, "cpu", "running")
    assert [(c.name, c.status, c.found) for c in examine_service(settings)] == [
        ("Integrity", "ok", "the database is intact"),
        ("Engine", "ok", "no worker reports a fault"),
        ("Queue", "ok", "1 queued, 1 running; available devices: cpu"),
        ("Uploads", "ok", "the server is reading 0 matrices"),
    ]


def test_jobs_that_nobody_will_run_are_named(settings: Settings, database: Database) -> None:
    devices.register(database, [CPU])
    add_job(database, "cpu")
    add_job(database, "gpu1/cuda:0")
    check = found(settings)["Queue"]
    assert (check.status, check.found) == (
        "warn",
        "queued jobs need devices that no worker provides: 1 for gpu1/cuda:0",
    )
    assert check.advice


def test_matrices_that_nobody_reads_are_counted(settings: Settings, database: Database) -> None:
    with database.write() as session:
        now = session.execute(select(clock())).scalar_one()
        for name in ("lost", "read"):
            session.add(MatrixRow(id=name, name=name, state="ingesting", sha256=name * 16, created_at=now))
        emit(session, "matrix:read", "state", {})
    check = found(settings)["Uploads"]
    assert (check.status, check.found) == ("warn", "1 uploads were interrupted")


def test_a_damaged_database_fails(settings: Settings, home: Path) -> None:
    with sqlite3.connect(home / "sparsight.db") as connection:
        connection.execute("PRAGMA writable_schema = ON")
        # An index without the entries of its table.
        root = "(SELECT rootpage FROM sqlite_schema WHERE name = 'ix_jobs_study')"
        connection.execute("INSERT INTO event_counter VALUES (7, 7)")
        connection.execute(f"UPDATE sqlite_schema SET rootpage = {root} WHERE name = 'event_counter'")
    connection.close()
    check = found(settings).get("Integrity")
    assert check is not None
    assert (check.status, "restore" in check.advice) == ("fail", True)


def test_postgres_is_asked_about_the_queue_alone(settings: Settings, postgres: str) -> None:
    from server.migrate import migrate

    url = fresh(postgres)
    migrate(url)
    checks = found(settings.model_copy(update={"database_url": url}))
    assert {name: check.status for name, check in checks.items()} == dict.fromkeys(
        ("Integrity", "Engine", "Queue", "Uploads"), "ok"
    )


def test_without_a_database_there_is_nothing_to_look_at(tmp_path: Path) -> None:
    assert found(Settings(home=tmp_path / "none")) == {}
    assert not (tmp_path / "none").exists()


def test_a_folder_of_a_worker_that_others_enter_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr("server.private_folders.SOCKET_BYTES", 1000)
    folder = tmp_path / "sparsight-x"
    folder.mkdir(mode=0o700)
    assert check_worker_folders().status == "ok"
    folder.chmod(0o777)
    check = check_worker_folders()
    assert (check.status, str(folder) in check.found, bool(check.advice)) == ("warn", True, True)
