import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import pytest
from alembic.autogenerate import compare_metadata
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from sqlalchemy import JSON, Column, MetaData, String, insert, inspect, select, text

from gpu_engine.errors import ConflictError, UnavailableError
from server.db import Database
from server.migrate import _locked, check_current, downgrade, migrate
from server.models import Base, EventCounterRow
from tests.postgres import DATABASES, fresh


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
    tables = MetaData()
    tables.reflect(database.engine)
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

LATER = ("recordings", "recorded_results", "tokens", "sessions", "audit", "matrix_sets")
"""Tables that a later release added."""

LATER_COLUMNS = (
    ("case_deaths", "losses"),
    ("devices", "owner"),
    ("jobs", "enough"),
    ("jobs", "interim"),
    ("jobs", "note"),
    ("jobs", "tags"),
    ("jobs", "token_id"),
    ("measurements", "record"),
)


def contents(url: str) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table but Alembic's own, without what a later release added."""
    database = Database(url)
    tables = MetaData()
    tables.reflect(database.engine)
    with database.read() as session:
        found = {
            name: [dict(row) for row in session.execute(select(table)).mappings()]
            for name, table in tables.tables.items()
            if name not in ("alembic_version", *LATER)
        }
    database.close()
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
