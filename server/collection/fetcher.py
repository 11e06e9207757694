"""Fetcher: download matrices of the collection by name, one at a time, and read each as an upload."""

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
"""Maximum number of matrices waiting for a download."""

LATER_S = 60.0
"""Seconds after which to retry when too many matrices wait, and when the list could not be downloaded."""

LIST_BYTES = 16 * 2**20
FREE_BYTES, PLACE_BYTES = 16 * 2**20, 48
"""Size limit of an archive in bytes: a fixed part, and a part per entry, row, and column in the index."""

KEPT_S = 7 * 86400.0
"""Seconds that partial downloads are kept for resuming."""


class Fetcher:
    """Downloads matrices for one server process. `downloads` contains partial files and the list of the collection."""

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
        """Stop downloads and start no more. Stopped ones fail, but their parts are kept."""
        self._downloader.stop()
        self._pool.shutdown(wait=False)

    def close(self) -> None:
        """Wait until all downloads have ended."""
        self._pool.shutdown(wait=True)

    @property
    def is_on(self) -> bool:
        """Return whether the operator allows downloads."""
        return bool(self._settings.collection_url)

    def find(self, name: str) -> Entry:
        """Return the matrix of that name. An unknown name first triggers a download of the complete list.

        Raises ParameterError for an invalid name, NotFoundError with similar names, ConflictError if downloads are off,
        TooLargeError for too many nonzeros, and UnavailableError if the list cannot be downloaded.
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
            raise TooLargeError(
                f"{entry.id} has {units.count(entry.stored)} nonzeros; the limit of this server is {most}."
            )
        return entry

    def refresh(self) -> Index:
        """Download the list of all matrices, at most once per minute. Raises ConflictError and UnavailableError."""
        self._check_on()
        if not self._asking.acquire(blocking=False):
            raise UnavailableError("The list of the collection is being downloaded. Try again shortly.")
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
        """Download the list. Errors are returned, so that they can be remembered for a while."""
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
        """Return the size that counts for a quota: the estimated archive size, or that of the largest upload."""
        return entry.about_bytes or self._settings.upload_bytes

    def check_room(self) -> None:
        """Raise LimitError if too many matrices wait."""
        if len(self._waiting) >= WAITING_MOST:
            raise LimitError(
                f"{WAITING_MOST} matrices are already waiting for a download. Try again later.", retry_after_s=LATER_S
            )

    def start(self, matrix_id: str, entry: Entry) -> Future[None]:
        """Start to download and read a matrix whose row exists. The future raises the error."""
        self._waiting.add(matrix_id)
        future = self.ingestor.run(matrix_id, self._pool, partial(self._bring, matrix_id, entry))
        future.add_done_callback(lambda _: self._waiting.discard(matrix_id))
        return future

    def _bring(self, matrix_id: str, entry: Entry) -> None:
        with logs.about(matrix=matrix_id), self.ingestor.ending(matrix_id):
            self._sweep()
            part = self._folder / entry.group / f"{entry.name}.tar.gz.part"
            is_wanted = partial(self.ingestor.is_wanted, matrix_id)
            got = self._downloader.download(f"MM/{entry.id}.tar.gz", part, self._most(entry), is_wanted)
            self._note(matrix_id, got)
            part.replace(self.ingestor.uploads / matrix_id)
            reading = self.ingestor.read(matrix_id)
        # The next download starts after this matrix is read, so that at most one file waits.
        reading.result()

    def _most(self, entry: Entry) -> int:
        """Return the size limit of a download in bytes, which no archive of such a matrix reaches."""
        if entry.stored is None:
            return self._settings.upload_bytes
        places = entry.stored + (entry.rows or 0) + (entry.cols or 0)
        return min(self._settings.upload_bytes, FREE_BYTES + PLACE_BYTES * places)

    def _note(self, matrix_id: str, got: Download) -> None:
        """Store the origin of the matrix."""
        origin = {"address": got.address, "sha256": got.sha256, "bytes": got.size, "fetched_at": got.fetched_at}
        with self.ingestor.database.write() as session:
            row = session.get(MatrixRow, matrix_id, with_for_update=True)
            if row is not None:
                row.source = {**row.source, **origin}

    def _sweep(self) -> None:
        """Delete partial downloads that nobody resumed."""
        for path in self._folder.glob("*/*") if self._folder.is_dir() else ():
            if time.time() - path.stat().st_mtime > KEPT_S:
                path.unlink(missing_ok=True)

    def _check_on(self) -> None:
        if not self.is_on:
            raise ConflictError(f"Downloads by name are switched off on this server; {UPLOAD}.")
