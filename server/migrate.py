"""Migrations: bring a database to the schema of this release in one transaction that only one process runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, func, inspect, select

from gpu_engine.errors import ConflictError, UnavailableError, quote
from server.db import POSTGRES, Database, check_whole, clock
from server.devices import ALIVE_S
from server.models import Base, DeviceRow

LOCK = 0x5350_4152  # "SPAR": any number that other programs of the same Postgres do not lock
NEWEST = "head"
OWNERS = "0004"
"""First revision in which devices store their owner."""


def migrate(url: str, revision: str = NEWEST, check_workers: bool = True) -> None:
    """Upgrade the database to a revision.

    check_workers  False if its rows came from a backup, because their heartbeats are then outdated

    Raises ConflictError if a newer release or another program wrote the database, a new one is not in UTF8, or a worker
    of the previous release is running. Raises UnavailableError if the database cannot be used.
    """
    with _locked(url) as (connection, config):
        _refuse_newer(connection)
        if not MigrationContext.configure(connection).get_current_heads():
            _refuse_foreign(connection)
            _refuse_encoding(connection)
        if check_workers:
            _refuse_worker(connection)
        command.upgrade(config, revision)


def downgrade(url: str, revision: str) -> None:
    """Take the database back to a revision, or to `base` for none. Data of later revisions is lost."""
    with _locked(url) as (connection, config):
        _refuse_newer(connection)
        command.downgrade(config, revision)


def check_current(database: Database) -> None:
    """Raise UnavailableError unless the database is usable and has the schema of this release."""
    with database.usable(), database.engine.connect() as connection:
        revisions = MigrationContext.configure(connection).get_current_heads()
    if newer := _newer(revisions):
        raise UnavailableError(newer)
    if revisions != (_known()[0],):
        raise UnavailableError(
            f"The schema of the database is {quote(', '.join(revisions) or 'missing')}, but this "
            f"release needs {_known()[0]!r}. Run `sparsight migrate`."
        )


@contextmanager
def _locked(url: str) -> Iterator[tuple[Connection, Config]]:
    """Yield a connection in a transaction that excludes other migrations, and the Alembic configuration for it."""
    database = Database(url)
    sqlite = database.engine.dialect.name == "sqlite"
    try:
        with database.usable(), database.engine.connect() as connection, _folder() as folder:
            if sqlite:
                # Batch mode drops tables, which would delete all rows that refer to them. No effect in a transaction.
                _ignore_foreign_keys(connection)
            # On SQLite the transaction itself is the lock.
            connection = connection.execution_options(sparsight_write=True)
            with connection.begin():
                if not sqlite:
                    wait_for_ever(connection)
                    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")
                check_whole(database, connection)
                yield connection, _config(folder, connection)
                if sqlite and connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall():
                    raise ConflictError("The migration would leave rows with invalid references. Nothing was changed.")
    finally:
        database.close()


def wait_for_ever(connection: Connection) -> None:
    """Remove the time limits from this Postgres transaction."""
    # A migration of a large table takes long, and so may a migration of another process that runs first.
    for name in POSTGRES:
        connection.exec_driver_sql(f"SET LOCAL {name} = 0")


def _ignore_foreign_keys(connection: Connection) -> None:
    driver: Any = connection.connection.driver_connection
    driver.execute("PRAGMA foreign_keys=OFF").close()


def check_known(schemas: tuple[str, ...]) -> None:
    """Raise ConflictError if this release does not know one of these revisions."""
    if newer := _newer(schemas):
        raise ConflictError(newer)


def _refuse_newer(connection: Connection) -> None:
    check_known(MigrationContext.configure(connection).get_current_heads())


def _newer(revisions: tuple[str, ...]) -> str:
    """Return an error message about revisions that this release does not know; empty if it knows all."""
    unknown = [revision for revision in revisions if revision not in _known()]
    if not unknown:
        return ""
    return (
        f"The database has the schema {quote(unknown[0])} of a newer release or of another "
        "program. Install that release, or restore the backup made before it."
    )


def _refuse_foreign(connection: Connection) -> None:
    """Raise ConflictError if tables of another program have the names of Sparsight tables."""
    foreign = sorted(set(inspect(connection).get_table_names()) & set(Base.metadata.tables))
    if foreign:
        raise ConflictError(
            f"The database contains tables of another program: {', '.join(foreign)}. Use a "
            "separate database, and set it in SPARSIGHT_DATABASE_URL."
        )


def _refuse_encoding(connection: Connection) -> None:
    """Raise ConflictError if a Postgres database cannot store all characters."""
    if connection.dialect.name != "postgresql":
        return
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    if encoding != "UTF8":
        raise ConflictError(
            f"The database has the encoding {encoding}, but names and results need UTF8. Create "
            "it again with `createdb --encoding=UTF8 --template=template0 NAME`."
        )


def _refuse_worker(connection: Connection) -> None:
    """Raise ConflictError if a worker is running, which would continue to write records of the old schema.

    A worker checks the schema only at its start.
    """
    revisions = MigrationContext.configure(connection).get_current_heads()
    if revisions in ((), (_known()[0],)) or revisions[0] in _known()[_known().index(OWNERS) + 1 :]:
        return
    offered = select(DeviceRow.id).where(DeviceRow.owner != "", func.abs(clock() - DeviceRow.seen_at) < ALIVE_S)
    device = connection.scalar(offered.order_by(DeviceRow.id).limit(1))
    if device is not None:
        raise ConflictError(
            f"A worker of another release still offers the device {quote(device)}. Nothing was "
            "changed. Stop all workers (`docker compose stop worker`, or their systemd units), "
            f"then try again. After a worker was killed, wait {ALIVE_S:.0f} s."
        )


def _config(folder: Path, connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


@cache
def _known() -> tuple[str, ...]:
    """Return the revisions of this release, the newest first."""
    with _folder() as folder:
        return tuple(script.revision for script in ScriptDirectory.from_config(_config(folder)).walk_revisions())


@contextmanager
def _folder() -> Iterator[Path]:
    """Yield the folder of the revisions: inside the installed package, or next to it in a checkout."""
    packed = files("server") / "migrations"
    with as_file(packed if packed.is_dir() else files("server") / ".." / "migrations") as folder:
        yield folder
