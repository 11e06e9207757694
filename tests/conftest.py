"""Shared fixtures: a home folder, its settings and migrated database, the application and its client.

The service is imported by the fixtures that need it: the tests of gpu_engine run where nothing else is installed.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
# A service loads nothing from there that a group may write.
os.umask(os.umask(0o022) | 0o022)
# Threads of OpenMP spin while they wait for each other, for minutes where several processes share the cores.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

ADDRESS = "http://127.0.0.1:8000"

# No test reaches out of this machine; those of fetching bring a collection of their own.
os.environ["SPARSIGHT_COLLECTION_URL"] = ""

AddMatrix = Callable[..., str]

APART = "tests/browser/test_every_page.py"
"""The file whose tests are so long that each is run by whoever is free."""

LONG = (
    # It compiles what many others run, which are to find it compiled.
    "tests/gpu_engine/formats/test_contract.py",
    # Where they are due: 250, 240, 170, 120 s.
    "tests/gpu_engine/test_cuda_sources.py",
    "tests/server/jobs/test_engine_starts.py",
    "tests/server/jobs/test_chaos.py",
    "tests/server/jobs/test_faults.py",
    # 170 to 45 s, by what `make test` prints of the slowest.
    APART,
    "tests/server/test_fuzz.py",
    "tests/server/jobs/test_dispatcher.py",
    "tests/sparsight/test_serve.py",
    "tests/test_deployment.py",
    "tests/browser/test_pages.py",
    "tests/gpu_engine/custom_kernels/test_honest.py",
    "tests/browser/test_upload.py",
    "tests/server/jobs/test_worker.py",
    "tests/browser/test_weight.py",
    "tests/sparsight/test_outages.py",
    "tests/test_wheel.py",
    "tests/browser/",
    "tests/server/test_collection.py",
    "tests/web/test_new_study.py",
    "tests/gpu_engine/pagerank/test_products.py",
    "tests/gpu_engine/multigpu/",
    "tests/gpu_engine/studies/",
    "tests/gpu_engine/gpu_bench/",
)
"""What one process has to do alone for long, the longest first: begun first, so that nobody waits for it at the end."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="also run the tests that are marked `full`")
    parser.addoption("--since", metavar="COMMIT", help="also run those of them whose sources have changed since")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the tests marked `full`; puts the LONG ones first."""
    if not config.getoption("full"):
        changed = changed_since(config.rootpath, config.getoption("since"))
        left_out = {item for item in items if any(not changed(*mark.args) for mark in item.iter_markers("full"))}
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: next((i for i, long in enumerate(LONG) if item.nodeid.startswith(long)), len(LONG)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keeps the tests of a file in one process."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return nodeid if nodeid.startswith(APART) else nodeid.partition("::")[0]

    return Scheduling(config, log)


def changed_since(root: Path, commit: str | None) -> Callable[..., bool]:
    """Whether a file of these patterns differs from that commit's; all do where there is no such commit."""
    if commit is None:
        return lambda *patterns: False
    ended = subprocess.run(
        ["git", "diff", "--name-only", commit, "--"], cwd=root, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        return lambda *patterns: True
    return lambda *patterns: any(fnmatch(name, pattern) for name in ended.stdout.splitlines() for pattern in patterns)


@functools.cache
def _has_gpu() -> bool:
    from gpu_engine.host.device import list_devices

    return any(device.backend == "cuda" for device in list_devices())


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leaves out thousands of tests that would be skipped."""
    return (collection_path == Path(__file__).parent / "gpu" and not _has_gpu()) or None


def pytest_report_header() -> str | None:
    return None if _has_gpu() else "tests/gpu is left out: there is no CUDA device"


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
    """The defaults in that home, whatever the environment says; nothing is fetched from elsewhere."""
    from server.settings import Settings

    for name in [name for name in os.environ if name.startswith("SPARSIGHT_")]:
        monkeypatch.delenv(name)
    return Settings(home=home, ingest_memory_bytes=4 * 2**30, collection_url="")


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
def app(settings: Settings) -> Iterator[FastAPI]:
    """The application; it runs while `client` is in use."""
    from server.main import create_app

    made = create_app(settings)
    yield made
    # A test without `client` may have used what it opened.
    made.state.database.close()


@pytest.fixture
def templates_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test client learns of templates: Starlette's compression drops the message that tells it of them."""
    from starlette.middleware.gzip import IdentityResponder
    from starlette.types import Message

    compress = IdentityResponder.send_with_compression

    async def pass_on(self: IdentityResponder, message: Message) -> None:
        await (self.send(message) if message["type"] == "http.response.debug" else compress(self, message))

    monkeypatch.setattr(IdentityResponder, "send_with_compression", pass_on)


@pytest.fixture
def client(app: FastAPI, templates_told: None) -> Iterator[TestClient]:
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
