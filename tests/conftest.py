"""Shared fixtures: a home folder, its settings and migrated database, the application and its client.

The service is imported by the fixtures that need it: the tests of gpu_engine run where nothing else is installed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from fastapi import FastAPI
    from fastapi.testclient import TestClient

    from gpu_engine.csr_matrix import CsrMatrix
    from server.db import Database
    from server.settings import Settings
    from server.store import Store

# Before anything imports Numba: what the tests and their processes compile is shared, and lies in nobody's home.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "numba"))

ADDRESS = "http://127.0.0.1:8000"

AddMatrix = Callable[..., str]

TOGETHER = ("tests/browser/", "tests/server/jobs/")
"""Folders whose tests share something dear: a browser, a Ray. One of the processes that share the tests gets each."""

LONG = (*TOGETHER, "tests/test_deployment.py")
"""What one process has to do alone for minutes: begun first, so that nobody waits for it at the end."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keeps the tests of a file, and of a folder of TOGETHER, in one process, the LONG ones first."""
    if config.pluginmanager.hasplugin("xdist"):
        items.sort(key=lambda item: not item.path.relative_to(config.rootpath).as_posix().startswith(LONG))
        for item in items:
            path = item.path.relative_to(config.rootpath).as_posix()
            folder = next((folder for folder in TOGETHER if path.startswith(folder)), path)
            item.add_marker(pytest.mark.xdist_group(folder))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are named by their argument: compressed ones hold the second they were made in, and would be named anew."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file to copy."""
    from server.migrate import migrate

    path = tmp_path_factory.mktemp("migrated") / "sparsight.db"
    migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a Postgres server."""
    from tests.postgres import serve

    # Not in pytest's folder: the server runs as another user, whom every pytest that starts locks out of there.
    with tempfile.TemporaryDirectory(prefix="postgres-") as folder, serve(Path(folder)) as url:
        yield url


@pytest.fixture
def home(tmp_path: Path, migrated: Path) -> Path:
    """A home folder with an empty, migrated database."""
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(migrated, home / "sparsight.db")
    return home


@pytest.fixture
def settings(home: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The defaults in that home, whatever the environment says."""
    from server.settings import Settings

    for name in [name for name in os.environ if name.startswith("SPARSIGHT_")]:
        monkeypatch.delenv(name)
    return Settings(home=home, ingest_memory_bytes=4 * 2**30)


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    """A second connection to the database of the home, beside the application's."""
    from server.db import Database

    database = Database(settings.resolved_database_url)
    yield database
    database.close()


@pytest.fixture
def store(settings: Settings) -> Store:
    """The matrices of the home."""
    from server.store import Store

    return Store(settings.resolved_store)


@pytest.fixture
def app(settings: Settings) -> FastAPI:
    """The application; it runs while `client` is in use."""
    from server.main import create_app

    return create_app(settings)


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    """A client of the running application; an error that would be a 500 is raised here."""
    from fastapi.testclient import TestClient

    with TestClient(app, base_url=ADDRESS) as client:
        yield client


@pytest.fixture
def add_matrix(database: Database, store: Store) -> AddMatrix:
    """`add_matrix(matrix, name="…", id="…") -> id`: a ready matrix, without a reading process."""

    from server.models import MatrixRow, MatrixState
    from server.sandbox import describe
    from server.store import write_matrix

    def add(matrix: CsrMatrix, name: str = "matrix", id: str = "") -> str:  # noqa: A002
        with database.write() as session:
            number = session.query(MatrixRow).count()
            matrix_id = id or f"m{number}"
            meta = describe(matrix) | {"notes": [], "duplicates": 0}
            with store.stage() as folder:
                write_matrix(folder, matrix, meta)
                store.commit(matrix_id, folder)
            session.add(
                MatrixRow(
                    id=matrix_id,
                    name=name,
                    state=MatrixState.READY,
                    sha256=f"{number:064x}",
                    fingerprint=meta["fingerprint"],
                    source={"kind": "upload", "filename": name, "bytes": 0},
                    n_rows=matrix.n_rows,
                    n_cols=matrix.n_cols,
                    nnz=matrix.nnz,
                    features=meta["features"],
                    created_at=time.time() + number,
                )
            )
        return matrix_id

    return add
