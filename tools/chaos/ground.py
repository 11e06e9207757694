"""What the pieces of a run begin with: a Postgres server, and homes and databases that are copies of prepared ones."""

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
from tools.chaos.material import CPU, matrices
from tools.chaos.services import Zygote

FAST = tuple(BandwidthPoint(footprint, 1e12, 1e12) for footprint in (2**20, 2**28))
"""A bandwidth that no time of a kernel here is shorter than."""


class Ground:
    """Begins pieces in new homes; `zygote` is theirs too.

    server  URL of a running Postgres
    """

    def __init__(self, folder: Path, server: str, zygote: Zygote) -> None:
        self.zygote = zygote
        self._folder = folder
        self._server = server
        self._templates: dict[str, tuple[Path, str]] = {}

    def empty(self, database: str, home: Path) -> str:
        """Fills a home as before a first start, but that there are matrices; the URL of its database, if not in it."""
        url = fresh(self._server) if database == "postgres" else ""
        home.mkdir(mode=0o700)
        _prepare(Settings(home=home, database_url=url)).close()
        return url

    def used(self, database: str, home: Path) -> str:
        """The same as after a first start: recordings are imported, and the bandwidth of the CPU is known."""
        if database not in self._templates:
            place = self._folder / f"template-{database}"
            self._templates[database] = place, self.empty(database, place)
            _use(Settings(home=place, database_url=self._templates[database][1]))
        place, url = self._templates[database]
        shutil.copytree(place, home)
        return fresh(self._server, str(make_url(url).database)) if url else ""


def _prepare(settings: Settings) -> Database:
    """A new database with small matrices that are ready, and a CPU."""
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
