import contextlib
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import pytest
from alembic.autogenerate import compare_metadata
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from sqlalchemy import JSON, Column, String, create_engine, insert, inspect, select, text, update

from gpu_engine.errors import ConflictError, UnavailableError
from server.db import Database, clock
from server.migrate import _locked, check_current, downgrade, migrate
from server.models import Base, DeviceRow, EventCounterRow
from tests.postgres import DATABASES, fresh
from tests.server import stored_rows
from tests.server.stored_rows import tables_of


@pytest.fixture(params=DATABASES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'a.db'}"
    return fresh(request.getfixturevalue("postgres"))


def differences(url: str) -> list[object]:
    database = Database(url)
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        found = list(compare_metadata(context, Base.metadata))
    database.close()
    return found


def test_the_newest_revision_is_the_models(url: str) -> None:
    migrate(url)
    assert differences(url) == []


def test_the_comparison_would_notice(url: str) -> None:
    migrate(url)
    database = Database(url)
    with database.write() as session:
        session.execute(text("ALTER TABLE jobs DROP COLUMN message"))
    database.close()
    assert [finding[0] for finding in differences(url)] == ["add_column"]  # type: ignore[index]


def test_a_new_database_in_another_encoding_is_refused(postgres: str) -> None:
    with pytest.raises(ConflictError, match=r"LATIN1.*--encoding=UTF8"):
        migrate(fresh(postgres, "template0 ENCODING 'LATIN1' LOCALE 'C'"))


def test_no_schema_changes_under_a_worker(url: str) -> None:
    migrate(url, "0012")
    database = Database(url)
    with database.write() as session:
        session.add(DeviceRow(id="cpu", info={}, profile={}, owner="a", seen_at=session.scalar(select(clock()))))
    with pytest.raises(ConflictError, match=r"'cpu'.*stop worker"):
        migrate(url)
    with database.write() as session:
        assert session.scalar(text("SELECT version_num FROM alembic_version")) == "0012"
        # Withdrawn, as a worker leaves it that was told to stop.
        session.execute(update(DeviceRow).values(seen_at=0.0))
    migrate(url)
    check_current(database)
    database.close()


def test_a_backup_of_a_running_worker_is_migrated(url: str) -> None:
    migrate(url, "0012")
    database = Database(url)
    with database.write() as session:
        session.add(DeviceRow(id="cpu", info={}, profile={}, owner="a", seen_at=session.scalar(select(clock()))))
    migrate(url, check_workers=False)
    check_current(database)
    database.close()


def test_migrating_again_changes_nothing(url: str) -> None:
    migrate(url)
    database = Database(url)
    with database.write() as session:
        session.execute(select(EventCounterRow)).scalar_one().value = 7
    migrate(url)
    with database.read() as session:
        assert session.execute(select(EventCounterRow.id, EventCounterRow.value)).all() == [(1, 7)]
    check_current(database)
    database.close()


def test_downgrade_to_nothing_and_back(url: str) -> None:
    migrate(url)
    downgrade(url, "base")
    database = Database(url)
    assert inspect(database.engine).get_table_names() == ["alembic_version"]
    with pytest.raises(UnavailableError, match="sparsight migrate"):
        check_current(database)
    migrate(url)
    check_current(database)
    database.close()


def test_many_at_a_time_make_one_schema(url: str) -> None:
    failures: list[BaseException] = []

    def run() -> None:
        try:
            migrate(url)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert differences(url) == []


def test_a_newer_schema_is_refused_with_a_sentence(url: str) -> None:
    migrate(url)
    database = Database(url)
    with database.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(ConflictError, match="'9999' of a newer release"):
        migrate(url)
    with pytest.raises(UnavailableError, match="'9999'"):
        check_current(database)
    with database.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '0002'"))
    database.close()


def fill(url: str) -> None:
    """A row in every table of the first release, each referring to the one before."""
    database = Database(url)
    tables = tables_of(database)
    given = {"job_id": "j", "matrix_id": "m", "retry_of": None, "version_num": "0001"}
    with database.write() as session:
        for table in tables.sorted_tables:
            if table.name in ("alembic_version", "event_counter"):
                continue
            row = {column.name: given.get(column.name, sample(table.name, column)) for column in table.columns}
            session.execute(insert(table).values(row))
    database.close()


def sample(table: str, column: Column[Any]) -> Any:
    if column.name == "id" and isinstance(column.type, String):
        return table[0]
    if isinstance(column.type, JSON):
        return RECORD if (table, column.name) == ("measurements", "record") else {"a": 1}
    return "x" if isinstance(column.type, String) else 1


RECORD = {"case": "m|csr/scalar|warm|", "state": "x"}
"""Of a measurement: a later release gives it another shape, which test_details_migration.py is about."""

LATER = ("recordings", "recorded_results", "tokens", "sessions", "audit", "matrix_sets", "engine_faults")
"""Tables that a later release added."""

LATER_COLUMNS = (
    ("case_deaths", "losses"),
    ("devices", "owner"),
    ("jobs", "enough"),
    ("jobs", "interim"),
    ("jobs", "note"),
    ("jobs", "stop_requested"),
    ("jobs", "tags"),
    ("jobs", "token_id"),
    ("measurements", "record"),
)


def contents(url: str) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table but Alembic's own, without what a later release added."""
    found = {name: rows for name, rows in stored_rows.contents(url).items() if name not in LATER}
    for table, column in LATER_COLUMNS:
        for row in found[table]:
            row.pop(column, None)
    return found


def test_every_row_survives_the_way_up_down_and_up_again(url: str) -> None:
    migrate(url, "0001")
    fill(url)
    before = contents(url)
    assert all(len(rows) == 1 for rows in before.values())
    assert len(before) == 8
    migrate(url)
    assert contents(url) == before
    downgrade(url, "0001")
    assert contents(url) == before
    migrate(url)
    assert contents(url) == before
    assert differences(url) == []


@pytest.mark.parametrize("parent", ["jobs", "matrices"])
def test_rows_survive_a_migration_that_makes_their_parent_anew(url: str, parent: str) -> None:
    # SQLite's batch mode drops the old table; with foreign keys on, that would delete every row that refers to it.
    migrate(url, "0001")
    fill(url)
    before = contents(url)
    recreate: Literal["always", "auto"] = "always" if url.startswith("sqlite") else "auto"
    with _locked(url) as (connection, _):
        operations = Operations(MigrationContext.configure(connection))
        with operations.batch_alter_table(parent, recreate=recreate) as batch:
            batch.alter_column("state", nullable=True)
    assert contents(url) == before


KILLED = """
import os, signal, sys
from server import migrate
upgrade = migrate.command.upgrade
def die(*given):
    upgrade(*given)
    os.kill(os.getpid(), signal.SIGKILL)
migrate.command.upgrade = die
migrate.migrate(sys.argv[1])
"""
"""A migration that is killed after its last statement, before its commit."""


def test_a_killed_migration_leaves_the_old_schema_with_every_row(url: str) -> None:
    migrate(url, "0001")
    fill(url)
    before = contents(url)
    ended = subprocess.run([sys.executable, "-c", KILLED, url], cwd=Path(__file__).parents[2], check=False)
    assert ended.returncode == -signal.SIGKILL
    with closing(Database(url)) as database, pytest.raises(UnavailableError, match="schema of the database is '0001'"):
        check_current(database)
    assert contents(url) == before
    migrate(url)
    assert contents(url) == before
    assert differences(url) == []


@contextlib.contextmanager
def sql_ascii(server: str) -> Iterator[str]:
    """The URL of a database as `initdb` makes them under LANG=C."""
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        made = "ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        connection.exec_driver_sql(f"CREATE DATABASE bytes {made}")
        yield engine.url.set(database="bytes").render_as_string(hide_password=False)
        connection.exec_driver_sql("DROP DATABASE bytes WITH (FORCE)")
    engine.dispose()


def test_a_database_that_keeps_bytes_for_texts_is_refused_with_a_sentence(postgres: str) -> None:
    with sql_ascii(postgres) as url, contextlib.closing(Database(url)) as database:
        calls: tuple[Callable[[], None], ...] = (
            lambda: migrate(url),
            lambda: check_current(database),
            database.check_whole,
        )
        for call in calls:
            with pytest.raises(UnavailableError, match=r"SQL_ASCII.*createdb --encoding=UTF8"):
                call()


def damage(file: Path) -> None:
    """Has an index say what its table does not, as a copy does of a file that is written meanwhile."""
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE a (x TEXT)")
        connection.execute("CREATE INDEX ix_a ON a (x)")
        connection.execute("INSERT INTO a VALUES ('x')")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET sql = 'CREATE INDEX ix_a ON a (upper(x))' WHERE name = 'ix_a'")


@pytest.mark.parametrize("large", [False, True])
def test_a_damaged_database_is_noticed_at_a_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool) -> None:
    file = tmp_path / "a.db"
    migrate(url := f"sqlite:///{file}")
    damage(file)
    if large:
        # Nobody waits for all of it to be read.
        monkeypatch.setattr("server.db.CHECKED_BYTES", 0)
        migrate(url)
        return
    with contextlib.closing(Database(url)) as database:
        calls: tuple[Callable[[], None], ...] = (lambda: migrate(url), database.check_whole)
        for call in calls:
            with pytest.raises(UnavailableError, match=r"is damaged: .* Restore a backup"):
                call()
