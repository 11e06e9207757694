"""The database as it is opened."""

import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import event, text

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
