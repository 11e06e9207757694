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
from sqlalchemy import Connection

from gpu_engine.errors import ConflictError, UnavailableError, quote
from server.db import POSTGRES, Database

LOCK = 0x5350_4152  # "SPAR": any number that other programs of the same Postgres do not lock
NEWEST = "head"


def migrate(url: str, revision: str = NEWEST) -> None:
    """Upgrades the database to a revision; raises ConflictError when a newer release has written it."""
    with _locked(url) as (connection, config):
        _refuse_newer(connection, config)
        command.upgrade(config, revision)


def downgrade(url: str, revision: str) -> None:
    """Takes the database back to a revision, `base` for none; its data of later ones is lost."""
    with _locked(url) as (connection, config):
        _refuse_newer(connection, config)
        command.downgrade(config, revision)


def check_current(database: Database) -> None:
    """Raises UnavailableError unless the database has the schema of this release."""
    with database.engine.connect() as connection:
        found = MigrationContext.configure(connection).get_current_heads()
    if found != (_head(),):
        raise UnavailableError(
            f"The schema of the database is {quote(', '.join(found) or 'missing')}, this release needs {_head()!r}. "
            "Run `sparsight migrate`."
        )


@contextmanager
def _locked(url: str) -> Iterator[tuple[Connection, Config]]:
    """A connection in a transaction that no second migration shares, and Alembic's configuration for it."""
    database = Database(url)
    sqlite = database.engine.dialect.name == "sqlite"
    try:
        with database.engine.connect() as connection, _folder() as folder:
            if sqlite:
                # Batch mode drops tables, which would delete every row that refers to them; no-op in a transaction.
                _ignore_foreign_keys(connection)
            # On SQLite the transaction itself is the lock.
            connection = connection.execution_options(sparsight_write=True)
            with connection.begin():
                if not sqlite:
                    _wait_for_ever(connection)
                    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")
                yield connection, _config(folder, connection)
                if sqlite and connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall():
                    raise ConflictError("The migration would leave rows that refer to nothing; nothing was changed.")
    finally:
        database.close()


def _wait_for_ever(connection: Connection) -> None:
    # A migration of a large table takes what it takes, and so does the one that another process runs before.
    for name in POSTGRES:
        connection.exec_driver_sql(f"SET LOCAL {name} = 0")


def _ignore_foreign_keys(connection: Connection) -> None:
    driver: Any = connection.connection.driver_connection
    driver.execute("PRAGMA foreign_keys=OFF").close()


def _refuse_newer(connection: Connection, config: Config) -> None:
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    for revision in MigrationContext.configure(connection).get_current_heads():
        if revision not in known:
            raise ConflictError(
                f"The database has the schema {quote(revision)} of a newer release. Install that release, "
                "or restore the backup made before it."
            )


def _config(folder: Path, connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


@cache
def _head() -> str:
    """The newest revision of this release."""
    with _folder() as folder:
        return str(ScriptDirectory.from_config(_config(folder)).get_current_head())


@contextmanager
def _folder() -> Iterator[Path]:
    """The folder of the revisions: inside the installed package, beside it in a checkout."""
    packed = files("server") / "migrations"
    with as_file(packed if packed.is_dir() else files("server") / ".." / "migrations") as folder:
        yield folder
