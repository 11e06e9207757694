"""Fetcher: matrices of the collection by name: one download at a time, each then read as an upload is."""

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import httpx

from gpu_engine.errors import ConflictError, LimitError, TooLargeError, UnavailableError
from gpu_engine.text import units
from server import logs
from server.collection.download import UPLOAD, Download, Downloader
from server.collection.entries import Entry
from server.collection.index import STATISTICS, Index, Shelf
from server.ingest import Ingestor
from server.models import MatrixRow
from server.settings import Settings

WAITING_MOST = 100
"""Matrices that may wait for their turn."""

LATER_S = 60.0
"""When to ask again for a place among them, and when for the list after an attempt at it."""

LIST_BYTES = 16 * 2**20
FREE_BYTES, PLACE_BYTES = 16 * 2**20, 48
"""Of an archive: without regard to its matrix, and for each entry, row and column that the index says it has."""

KEPT_S = 7 * 86400.0
"""How long parts of files wait to be gone on with."""


class Fetcher:
    """Fetches for one server process; parts of files are kept in `downloads`, the list of the collection beside it."""

    def __init__(self, settings: Settings, ingestor: Ingestor, transport: httpx.BaseTransport | None = None) -> None:
        self.ingestor = ingestor
        self.shelf = Shelf(settings.home / "collection")
        self._settings = settings
        self._folder = settings.home / "downloads"
        self._downloader = Downloader(settings.collection_url, transport)
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="fetch")
        self._asking = threading.Lock()
        self._asked: tuple[float, UnavailableError | None] = (-LATER_S, None)
        self._waiting: set[str] = set()

    def stop(self) -> None:
        """Ends what is being downloaded, and begins nothing else; what was begun fails, its parts are kept."""
        self._downloader.stop()
        self._pool.shutdown(wait=False)

    def close(self) -> None:
        """Waits until everything has ended."""
        self._pool.shutdown(wait=True)

    @property
    def is_on(self) -> bool:
        """Whether the operator lets matrices be fetched."""
        return bool(self._settings.collection_url)

    def find(self, name: str) -> Entry:
        """The matrix of that name; the first one that the wheel does not know has the list of all fetched.

        Raises ParameterError for no name, NotFoundError with near names, ConflictError where nothing is fetched here,
        TooLargeError for more nonzeros than are read here, and UnavailableError where the list cannot be had.
        """
        index = self.shelf.index()
        entry = index.find(name)
        if entry is None and not index.origin.address and self.is_on:
            index = self.refresh()
            entry = index.find(name)
        if entry is None:
            raise index.missing(name)
        self._check_on()
        if (entry.stored or 0) > self._settings.nnz_max:
            most = units.count(self._settings.nnz_max)
            raise TooLargeError(f"{entry.id} has {units.count(entry.stored)} nonzeros; at most {most} are read here.")
        return entry

    def refresh(self) -> Index:
        """Fetches the list of all matrices, at most once a minute; raises ConflictError, UnavailableError."""
        self._check_on()
        if not self._asking.acquire(blocking=False):
            raise UnavailableError("The list of the collection is being fetched. Try again shortly.")
        try:
            asked_at, failed = self._asked
            if time.monotonic() - asked_at > LATER_S:
                failed = self._ask()
                self._asked = time.monotonic(), failed
            if failed:
                raise failed
            return self.shelf.index()
        finally:
            self._asking.release()

    def _ask(self) -> UnavailableError | None:
        """Fetches the list; what went wrong is returned, so that it is not tried anew at once."""
        part = self._folder / "ssstats.csv.part"
        try:
            got = self._downloader.download(STATISTICS, part, LIST_BYTES)
            self.shelf.keep(part.read_bytes(), got.address, got.fetched_at)
            part.unlink()
        except UnavailableError as error:
            part.unlink(missing_ok=True)
            return error
        return None

    def bytes_of(self, entry: Entry) -> int:
        """What its archive counts for a quota: about what it has, or as much as any upload."""
        return entry.about_bytes or self._settings.upload_bytes

    def check_room(self) -> None:
        """Raises LimitError where too many matrices wait."""
        if len(self._waiting) >= WAITING_MOST:
            raise LimitError(f"{WAITING_MOST} matrices wait to be fetched. Try again later.", retry_after_s=LATER_S)

    def start(self, matrix_id: str, entry: Entry) -> Future[None]:
        """Starts to fetch and read a matrix whose row is there; the future raises what went wrong."""
        self._waiting.add(matrix_id)
        future = self.ingestor.run(matrix_id, self._pool, partial(self._bring, matrix_id, entry))
        future.add_done_callback(lambda _: self._waiting.discard(matrix_id))
        return future

    def _bring(self, matrix_id: str, entry: Entry) -> None:
        with logs.about(matrix=matrix_id), self.ingestor.ending(matrix_id):
            self._sweep()
            part = self._folder / entry.group / f"{entry.name}.tar.gz.part"
            wanted = partial(self.ingestor.is_wanted, matrix_id)
            got = self._downloader.download(f"MM/{entry.id}.tar.gz", part, self._most(entry), wanted)
            self._note(matrix_id, got)
            part.replace(self.ingestor.uploads / matrix_id)
            reading = self.ingestor.read(matrix_id)
        # The next one is not fetched before this one is read: no more files wait than one.
        reading.result()

    def _most(self, entry: Entry) -> int:
        """The bytes after which a download is given up: what no archive of such a matrix has."""
        if entry.stored is None:
            return self._settings.upload_bytes
        places = entry.stored + (entry.rows or 0) + (entry.cols or 0)
        return min(self._settings.upload_bytes, FREE_BYTES + PLACE_BYTES * places)

    def _note(self, matrix_id: str, got: Download) -> None:
        """Keeps with the matrix where it came from."""
        told = {"address": got.address, "sha256": got.sha256, "bytes": got.size, "fetched_at": got.fetched_at}
        with self.ingestor.database.write() as session:
            row = session.get(MatrixRow, matrix_id, with_for_update=True)
            if row is not None:
                row.source = {**row.source, **told}

    def _sweep(self) -> None:
        """Removes what nobody went on with."""
        for path in self._folder.glob("*/*") if self._folder.is_dir() else ():
            if time.time() - path.stat().st_mtime > KEPT_S:
                path.unlink(missing_ok=True)

    def _check_on(self) -> None:
        if not self.is_on:
            raise ConflictError(f"This server fetches no matrices: its operator has switched that off; {UPLOAD}.")
