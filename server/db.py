"""Database access: engines, transactions, and the clock of the database. SQLite and Postgres behave alike through this
module.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Float, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, InterfaceError, InternalError, OperationalError, SQLAlchemyError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import DeclarativeBase, Session
from sqlalchemy.sql.functions import FunctionElement

from gpu_engine.errors import InputError, UnavailableError

WAL_SAFE = (3, 51, 3)
"""First version of SQLite that cannot corrupt a WAL database written by several processes."""

AWAY = (OperationalError, InterfaceError, InternalError)
"""Errors of a lost connection, a restart, a deadlock, or a lock timeout. The transaction can be tried again."""

CHECKED_BYTES = 2**30
"""Largest SQLite file in bytes that is checked for damage; a longer check would block writers."""

INDEXES_CHECKED_BYTES = 2**28
"""Largest SQLite file in bytes whose tables are compared with their indexes."""

DAMAGE_CHARS = 200

BUSY_S = 30
"""Seconds that a writer waits for other writers of this process, and then SQLite for a lock of another process.

The second wait applies from the first statement of a connection.
"""

CONNECT_S = 5
POSTGRES = {
    "statement_timeout": "60s",
    "lock_timeout": "15s",
    "idle_in_transaction_session_timeout": "60s",
}
"""Time limits of every session, so that a client that hangs or was disconnected does not hold a lock forever."""


class clock(FunctionElement[float]):  # noqa: N801 (reads as an SQL function)
    """SQL function of the database's time in seconds since 1970, so that leases never compare the clocks of workers."""

    type = Float()
    inherit_cache = True
    name = "clock"


@compiles(clock, "sqlite")
def _sqlite_clock(_element: Any, _compiler: Any, **_options: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(clock, "postgresql")
def _postgres_clock(_element: Any, _compiler: Any, **_options: Any) -> str:
    return "extract(epoch from clock_timestamp())::double precision"


class Database:
    """Open database. Writers take the write lock at the start of their transaction; readers never do."""

    def __init__(self, url: str, observe: Callable[[str, float], None] = lambda _kind, _seconds: None) -> None:
        """Open the database; raise InputError without quoting the URL, which may contain a password.

        url      for SQLAlchemy
        observe  gets the kind of each transaction, `read` or `write`, and its seconds
        """
        self._observe = observe
        self._writing = threading.Lock()
        sqlite = url.startswith("sqlite")
        options = " ".join(f"-c {name}={value}" for name, value in POSTGRES.items())
        # Text is always UTF-8; `_check_encoding` rejects a database that cannot store it.
        postgres = {"connect_timeout": CONNECT_S, "options": options, "client_encoding": "utf8"}
        arguments = {"timeout": BUSY_S} if sqlite else postgres
        try:
            self.engine: Engine = create_engine(url, pool_pre_ping=not sqlite, connect_args=arguments)
        except (ArgumentError, ValueError, ImportError):
            raise InputError(
                "SPARSIGHT_DATABASE_URL is not a supported database URL. Use "
                "sqlite:////folder/file.db or postgresql+psycopg://user@host/database."
            ) from None
        if self.engine.dialect.name == "sqlite":
            event.listen(self.engine, "connect", _configure_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)
        else:
            event.listen(self.engine, "connect", _check_encoding)
        self._reader = self.engine.execution_options(sparsight_write=False)
        self._writer = self.engine.execution_options(sparsight_write=True)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Yield a session for reading. Each statement sees everything committed before it."""
        with self._timed("read"), Session(self._reader, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Yield a session in one transaction that commits when the block ends and rolls back when it raises."""
        with (
            self._timed("write"),
            self._turn(),
            Session(self._writer, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Let one writer of this process in at a time: SQLite lets waiting writers sleep ever longer, and newcomers
        overtake them.
        """
        if self.engine.dialect.name != "sqlite":
            yield
            return
        if not self._writing.acquire(timeout=BUSY_S):
            raise OperationalError("BEGIN IMMEDIATE", None, sqlite3.OperationalError("database is locked"))
        try:
            yield
        finally:
            self._writing.release()

    @contextmanager
    def _timed(self, kind: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self._observe(kind, time.perf_counter() - began)

    def bytes(self) -> int:
        """Return the size on disk in bytes, including the write-ahead log of SQLite; 0 for a database in memory."""
        file = self.engine.url.database or ""
        if self.engine.dialect.name == "sqlite":
            return sum(Path(name).stat().st_size for name in (file, f"{file}-wal") if Path(name).is_file())
        with self.read() as session:
            return int(session.execute(text("SELECT pg_database_size(current_database())")).scalar_one())

    def check_whole(self) -> None:
        """Raise UnavailableError if the database is damaged or unusable."""
        with self.usable(), self.engine.connect() as connection:
            check_whole(self, connection)

    @property
    def name(self) -> str:
        """Return the URL of the database without its password."""
        return self.engine.url.render_as_string()

    @contextmanager
    def usable(self) -> Iterator[None]:
        """Turn every error of the database in this block into an UnavailableError with a remedy."""
        try:
            yield
        except SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0].rstrip(".")
            raise UnavailableError(f"Cannot use the database {self.name}: {reason}. {_remedy(error)}") from error

    def close(self) -> None:
        """Close every pooled connection."""
        self.engine.dispose()


def lock_table(session: Session, table: type[DeclarativeBase]) -> None:
    """Keep other transactions from changing a table until this one ends; they can still read. SQLite has only one
    writer.
    """
    if session.get_bind().dialect.name != "sqlite":
        session.execute(text(f"LOCK TABLE {table.__tablename__} IN SHARE ROW EXCLUSIVE MODE"))


def check_whole(database: Database, connection: Connection) -> None:
    """Raise UnavailableError if a SQLite file is damaged. Postgres and large files are not checked."""
    if database.engine.dialect.name != "sqlite" or database.bytes() > CHECKED_BYTES:
        return
    pragma = "integrity_check" if database.bytes() <= INDEXES_CHECKED_BYTES else "quick_check"
    integrity = str(connection.exec_driver_sql(f"PRAGMA {pragma}(1)").scalar()).replace("\n", " ")
    if integrity != "ok":
        raise UnavailableError(
            f"The database {database.name} is damaged: {integrity[:DAMAGE_CHARS]}. Restore a backup "
            "into a new data directory with `sparsight restore`. Without a backup, `sqlite3 "
            "OLD.db .recover | sqlite3 NEW.db` saves what can be read."
        )


def sqlite_file(url: str) -> str:
    """Return the file of a SQLite database; empty for a database in memory, and for any other URL."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        return ""
    return (parsed.database or "").replace(":memory:", "") if parsed.get_backend_name() == "sqlite" else ""


def _remedy(error: SQLAlchemyError) -> str:
    """Return what to do about an error at startup."""
    cause = getattr(error, "orig", None)
    if not isinstance(cause, sqlite3.Error):
        return "Start the database server, or correct SPARSIGHT_DATABASE_URL."
    if type(cause) is sqlite3.DatabaseError:
        return "Restore a backup of the file, or move it away to start with an empty database."
    if "locked" in str(cause):
        return "Another program has locked it. Try again when that program has ended."
    return "Check that this is a file, and that the file and its folder are writable."


def _configure_sqlite(connection: sqlite3.Connection, _: Any) -> None:
    # SQLAlchemy's own begin event emits BEGIN, so that DDL and writes run in real transactions.
    connection.isolation_level = None
    journal = "WAL" if sqlite3.sqlite_version_info >= WAL_SAFE else "DELETE"
    for pragma in (f"journal_mode={journal}", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _check_encoding(connection: Any, _: Any) -> None:
    """Raise UnavailableError if a Postgres database stores bytes instead of text."""
    if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
        raise UnavailableError(
            "The database has the encoding SQL_ASCII, which does not define its characters. "
            "Create another one with `createdb --encoding=UTF8 --template=template0 NAME`, and "
            "set it in SPARSIGHT_DATABASE_URL."
        )


def _begin_sqlite(connection: Any) -> None:
    # A deferred read that turns into a write fails at once with SQLITE_BUSY, whatever the timeout.
    kind = connection.get_execution_options().get("sparsight_write")
    # Without the WAL, an open read transaction blocks every commit while a page is rendered.
    if kind is not False:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if kind else "BEGIN")
