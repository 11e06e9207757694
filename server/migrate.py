"""Migrations: brings a database to the schema of this release, in one transaction that only one process runs."""

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
"""The revision from which on devices say whose they are."""


def migrate(url: str, revision: str = NEWEST, check_workers: bool = True) -> None:
    """Upgrades the database to a revision.

    check_workers  False where its rows came from a backup, and what they say of workers is of another day

    Raises ConflictError where a newer release or another program has written it, it is new and not in UTF8, or a worker
    of the release before is still running, and UnavailableError where it cannot be used.
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
    """Takes the database back to a revision, `base` for none; its data of later ones is lost."""
    with _locked(url) as (connection, config):
        _refuse_newer(connection)
        command.downgrade(config, revision)


def check_current(database: Database) -> None:
    """Raises UnavailableError unless the database can be used and has the schema of this release."""
    with database.usable(), database.engine.connect() as connection:
        found = MigrationContext.configure(connection).get_current_heads()
    if newer := _newer(found):
        raise UnavailableError(newer)
    if found != (_known()[0],):
        raise UnavailableError(
            f"The schema of the database is {quote(', '.join(found) or 'missing')}, this release needs "
            f"{_known()[0]!r}. Run `sparsight migrate`."
        )


@contextmanager
def _locked(url: str) -> Iterator[tuple[Connection, Config]]:
    """A connection in a transaction that no second migration shares, and Alembic's configuration for it."""
    database = Database(url)
    sqlite = database.engine.dialect.name == "sqlite"
    try:
        with database.usable(), database.engine.connect() as connection, _folder() as folder:
            if sqlite:
                # Batch mode drops tables, which would delete every row that refers to them; no-op in a transaction.
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
                    raise ConflictError("The migration would leave rows that refer to nothing; nothing was changed.")
    finally:
        database.close()


def wait_for_ever(connection: Connection) -> None:
    """Takes the limits of time from this transaction of Postgres."""
    # A migration of a large table takes what it takes, and so does the one that another process runs before.
    for name in POSTGRES:
        connection.exec_driver_sql(f"SET LOCAL {name} = 0")


def _ignore_foreign_keys(connection: Connection) -> None:
    driver: Any = connection.connection.driver_connection
    driver.execute("PRAGMA foreign_keys=OFF").close()


def check_known(schemas: tuple[str, ...]) -> None:
    """Raises ConflictError where these are revisions that this release does not know."""
    if newer := _newer(schemas):
        raise ConflictError(newer)


def _refuse_newer(connection: Connection) -> None:
    check_known(MigrationContext.configure(connection).get_current_heads())


def _newer(found: tuple[str, ...]) -> str:
    """What is said of revisions that this release does not know; empty: it knows them."""
    unknown = [revision for revision in found if revision not in _known()]
    if not unknown:
        return ""
    return (
        f"The database has the schema {quote(unknown[0])} of a newer release, or of another program. Install "
        "that release, or restore the backup made before it."
    )


def _refuse_foreign(connection: Connection) -> None:
    """Raises ConflictError where tables that no migration has made have the names of ours."""
    foreign = sorted(set(inspect(connection).get_table_names()) & set(Base.metadata.tables))
    if foreign:
        raise ConflictError(
            f"The database holds tables of another program: {', '.join(foreign)}. Give Sparsight a database of its own "
            "with SPARSIGHT_DATABASE_URL."
        )


def _refuse_encoding(connection: Connection) -> None:
    """Raises ConflictError for a database of Postgres that does not hold every character."""
    if connection.dialect.name != "postgresql":
        return
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    if encoding != "UTF8":
        raise ConflictError(
            f"The database has the encoding {encoding}; names and results need UTF8. Create it anew: "
            "`createdb --encoding=UTF8 --template=template0 NAME`."
        )


def _refuse_worker(connection: Connection) -> None:
    """Raises ConflictError where the schema will change under a worker, which would go on to write records of its own.

    A worker looks at the schema when it starts, and no more.
    """
    found = MigrationContext.configure(connection).get_current_heads()
    if found in ((), (_known()[0],)) or found[0] in _known()[_known().index(OWNERS) + 1 :]:
        return
    offered = select(DeviceRow.id).where(DeviceRow.owner != "", func.abs(clock() - DeviceRow.seen_at) < ALIVE_S)
    device = connection.scalar(offered.order_by(DeviceRow.id).limit(1))
    if device is not None:
        raise ConflictError(
            f"A worker of another release still offers {quote(device)}; nothing was changed. Stop all workers "
            "(`docker compose stop worker`, or their systemd units), then try again. "
            f"After a worker was killed, wait {ALIVE_S:.0f} s."
        )


def _config(folder: Path, connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


@cache
def _known() -> tuple[str, ...]:
    """The revisions of this release, the newest first."""
    with _folder() as folder:
        return tuple(script.revision for script in ScriptDirectory.from_config(_config(folder)).walk_revisions())


@contextmanager
def _folder() -> Iterator[Path]:
    """The folder of the revisions: inside the installed package, beside it in a checkout."""
    packed = files("server") / "migrations"
    with as_file(packed if packed.is_dir() else files("server") / ".." / "migrations") as folder:
        yield folder
