"""The database: engines, transactions and its clock. SQLite and Postgres behave the same through this module."""

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
"""SQLite before this can corrupt a WAL database that several processes write."""

AWAY = (OperationalError, InterfaceError, InternalError)
"""What a lost connection, a restart, a deadlock or a lock that was not had in time raises: try the transaction anew."""

CHECKED_BYTES = 2**30
"""A larger file of SQLite is not read for damage: that would keep its writers waiting."""

INDEXES_CHECKED_BYTES = 2**28
"""In a larger one tables are not compared with their indexes."""

DAMAGE_CHARS = 200

BUSY_S = 30
"""How long a writer waits for its turn among those of this process, and then SQLite for a lock of another one's.

The latter from the first statement of a connection on.
"""

CONNECT_S = 5
POSTGRES = {
    "statement_timeout": "60s",
    "lock_timeout": "15s",
    "idle_in_transaction_session_timeout": "60s",
}
"""Limits of every session: a client that hangs or was cut off holds no lock for ever."""


class clock(FunctionElement[float]):  # noqa: N801 (reads as an SQL function)
    """The database's time in seconds since 1970: leases never compare the clocks of workers."""

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
    """An open database. Writers take the write lock when they begin; readers never do."""

    def __init__(self, url: str, observe: Callable[[str, float], None] = lambda _kind, _seconds: None) -> None:
        """url  for SQLAlchemy; raises InputError, which does not quote it: it may hold a password.

        observe  is told the kind of each transaction, `read` or `write`, and its seconds
        """
        self._observe = observe
        self._writing = threading.Lock()
        sqlite = url.startswith("sqlite")
        options = " ".join(f"-c {name}={value}" for name, value in POSTGRES.items())
        # Texts are UTF-8 whatever the database says of itself: what cannot be used is refused once it is connected.
        postgres = {"connect_timeout": CONNECT_S, "options": options, "client_encoding": "utf8"}
        arguments = {"timeout": BUSY_S} if sqlite else postgres
        try:
            self.engine: Engine = create_engine(url, pool_pre_ping=not sqlite, connect_args=arguments)
        except (ArgumentError, ValueError, ImportError):
            raise InputError(
                "SPARSIGHT_DATABASE_URL is not the URL of a database that Sparsight knows. Write it as in "
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
        """A session for reading; each statement sees what was committed before it."""
        with self._timed("read"), Session(self._reader, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A session in one transaction that commits when the block ends and rolls back when it raises."""
        with (
            self._timed("write"),
            self._turn(),
            Session(self._writer, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """One writer after the other: those that SQLite lets wait sleep ever longer, and who asks next goes before."""
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
        """Its size on the disk, what is not yet in the file of SQLite included; 0 in memory."""
        file = self.engine.url.database or ""
        if self.engine.dialect.name == "sqlite":
            return sum(Path(name).stat().st_size for name in (file, f"{file}-wal") if Path(name).is_file())
        with self.read() as session:
            return int(session.execute(text("SELECT pg_database_size(current_database())")).scalar_one())

    def check_whole(self) -> None:
        """Raise UnavailableError as the function `check_whole`, and where the database cannot be used."""
        with self.usable(), self.engine.connect() as connection:
            check_whole(self, connection)

    @property
    def name(self) -> str:
        """Its URL as it may be shown."""
        return self.engine.url.render_as_string()

    @contextmanager
    def usable(self) -> Iterator[None]:
        """A block at a start; raises UnavailableError for whatever keeps it from using the database."""
        try:
            yield
        except SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0].rstrip(".")
            raise UnavailableError(f"The database {self.name} cannot be used: {reason}. {_remedy(error)}") from error

    def close(self) -> None:
        """Closes every pooled connection."""
        self.engine.dispose()


def lock_table(session: Session, table: type[DeclarativeBase]) -> None:
    """Lets no other transaction change a table before this one ends; others read on. On SQLite there is one writer."""
    if session.get_bind().dialect.name != "sqlite":
        session.execute(text(f"LOCK TABLE {table.__tablename__} IN SHARE ROW EXCLUSIVE MODE"))


def check_whole(database: Database, connection: Connection) -> None:
    """Raise UnavailableError where the file of SQLite is damaged; Postgres and large files are not looked at."""
    if database.engine.dialect.name != "sqlite" or database.bytes() > CHECKED_BYTES:
        return
    pragma = "integrity_check" if database.bytes() <= INDEXES_CHECKED_BYTES else "quick_check"
    found = str(connection.exec_driver_sql(f"PRAGMA {pragma}(1)").scalar()).replace("\n", " ")
    if found != "ok":
        raise UnavailableError(
            f"The database {database.name} is damaged: {found[:DAMAGE_CHARS]}. Restore a backup into a new home with "
            "`sparsight restore`. Without one, `sqlite3 OLD.db .recover | sqlite3 NEW.db` saves what can be read."
        )


def sqlite_file(url: str) -> str:
    """Return the file of a SQLite database; empty: it is in memory, or the URL is of another database, or of none."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        return ""
    return (parsed.database or "").replace(":memory:", "") if parsed.get_backend_name() == "sqlite" else ""


def _remedy(error: SQLAlchemyError) -> str:
    """What to do about an error at a start."""
    cause = getattr(error, "orig", None)
    if not isinstance(cause, sqlite3.Error):
        return "Start its server, or correct SPARSIGHT_DATABASE_URL."
    if type(cause) is sqlite3.DatabaseError:
        return "Restore a backup of the file, or move it away to begin with an empty one."
    if "locked" in str(cause):
        return "Another program holds it: try again when that has ended."
    return "Check that this is a file, and that it and its folder can be written."


def _configure_sqlite(connection: sqlite3.Connection, _: Any) -> None:
    # SQLAlchemy's own begin event emits BEGIN, so that DDL and writes run in real transactions.
    connection.isolation_level = None
    journal = "WAL" if sqlite3.sqlite_version_info >= WAL_SAFE else "DELETE"
    for pragma in (f"journal_mode={journal}", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _check_encoding(connection: Any, _: Any) -> None:
    """Raise UnavailableError where a database of Postgres keeps bytes instead of texts."""
    if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
        raise UnavailableError(
            "The database has the encoding SQL_ASCII, which does not know what characters its bytes are. Make another "
            "one with `createdb --encoding=UTF8 --template=template0 NAME`, and name it in SPARSIGHT_DATABASE_URL."
        )


def _begin_sqlite(connection: Any) -> None:
    # A deferred read that turns into a write fails at once with SQLITE_BUSY, whatever the timeout.
    kind = connection.get_execution_options().get("sparsight_write")
    # Without the WAL a transaction that has read keeps every writer from its commit while a page is made of it.
    if kind is not False:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if kind else "BEGIN")
