"""The database as it is opened."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import OperationalError

from server import db
from server.db import Database


def test_a_new_connection_waits_for_a_lock_before_its_first_statement(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    waits: list[Any] = []

    def look(connection: sqlite3.Connection, _: Any) -> None:
        waits.append(connection.execute("PRAGMA busy_timeout").fetchone())

    event.listen(database.engine, "connect", look, insert=True)
    with database.read() as session:
        session.execute(text("SELECT 1"))
    database.close()
    assert waits == [(30_000,)]


def test_who_has_read_keeps_no_writer_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(db, "BUSY_S", 0)
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    with database.write() as session:
        session.execute(text("CREATE TABLE a (b INTEGER)"))
    with database.read() as reading:
        assert reading.scalar(text("SELECT count(*) FROM a")) == 0
        with database.write() as session:
            session.execute(text("INSERT INTO a VALUES (1)"))
        assert reading.scalar(text("SELECT count(*) FROM a")) == 1
    database.close()


def test_writers_of_a_process_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite itself lets nobody wait here."""
    with monkeypatch.context() as impatient:
        impatient.setattr(db, "BUSY_S", 0)
        database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    with database.write() as session:
        session.execute(text("CREATE TABLE a (b INTEGER)"))

    def write(number: int) -> None:
        with database.write() as session:
            session.execute(text("INSERT INTO a VALUES (:b)"), {"b": number})

    with ThreadPoolExecutor(8) as writers:
        list(writers.map(write, range(100)))
    with database.read() as session:
        assert sorted(session.scalars(text("SELECT b FROM a"))) == list(range(100))
    database.close()


def test_a_writer_whose_turn_does_not_come_gives_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(db, "BUSY_S", 0)
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    with database.write(), pytest.raises(OperationalError, match="database is locked"), database.write():
        pass
    with database.write() as session:
        session.execute(text("CREATE TABLE a (b INTEGER)"))
    database.close()
