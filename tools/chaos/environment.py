"""Environment of the scenarios: a Postgres server, and copies of prepared data directories and databases."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import make_url, select

from gpu_engine.records import BandwidthPoint, DeviceProfile
from server import devices, import_recordings
from server.db import Database, clock
from server.migrate import migrate
from server.models import MatrixRow, MatrixState
from server.sandbox import describe
from server.settings import Settings
from server.store import Store, write_matrix
from tests.postgres import fresh
from tools.chaos.services import Zygote
from tools.chaos.workloads import CPU, matrices

FAST = tuple(BandwidthPoint(footprint, 1e12, 1e12) for footprint in (2**20, 2**28))
"""Bandwidth points high enough that no kernel time is implausible."""


class Ground:
    """Prepares scenarios in new data directories; `zygote` forks their services.

    server  URL of a running Postgres
    """

    def __init__(self, folder: Path, server: str, zygote: Zygote) -> None:
        self.zygote = zygote
        self._folder = folder
        self._server = server
        self._templates: dict[str, tuple[Path, str]] = {}

    def empty(self, database: str, home: Path) -> str:
        """Fill a data directory as before a first start, with matrices; return the database URL if it is elsewhere."""
        url = fresh(self._server) if database == "postgres" else ""
        home.mkdir(mode=0o700)
        _prepare(Settings(home=home, database_url=url)).close()
        return url

    def used(self, database: str, home: Path) -> str:
        """Fill a data directory as after a first start, with reference results and CPU bandwidth; return the URL."""
        if database not in self._templates:
            template = self._folder / f"template-{database}"
            self._templates[database] = template, self.empty(database, template)
            _use(Settings(home=template, database_url=self._templates[database][1]))
        template, url = self._templates[database]
        shutil.copytree(template, home)
        return fresh(self._server, str(make_url(url).database)) if url else ""


def _prepare(settings: Settings) -> Database:
    """Return a new database with small matrices that are ready, and a CPU."""
    migrate(settings.resolved_database_url)
    database, store = Database(settings.resolved_database_url), Store(settings.resolved_store)
    with database.write() as session:
        now = session.execute(select(clock())).scalar_one()
        for number, (info, matrix) in enumerate(matrices()):
            meta = describe(matrix) | {"notes": [], "duplicates": 0}
            row = MatrixRow(id=info.id, name=info.name, state=MatrixState.READY, sha256=f"{number:064x}")
            row.n_rows, row.n_cols, row.nnz, row.created_at = info.n_rows, info.n_cols, info.nnz, now
            row.fingerprint, row.features = meta["fingerprint"], meta["features"]
            with store.stage() as folder:
                write_matrix(folder, matrix, meta)
                store.commit(row.id, folder)
            session.add(row)
    devices.register(database, [CPU])
    return database


def _use(settings: Settings) -> None:
    database = Database(settings.resolved_database_url)
    import_recordings.run(database)
    now = datetime.now(UTC).isoformat()
    with database.write() as session:
        devices.store_profile(session, DeviceProfile(CPU.id, CPU.name, CPU.cache_bytes, FAST, now))
    database.close()
