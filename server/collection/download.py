"""Downloader: files of the collection or its mirror, resumed where they broke off, and capped.

The addresses are made here, of names that an index has; where a host sends elsewhere, that has to be one of its own.
"""

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx

from gpu_engine import release
from gpu_engine.errors import NotFoundError, SparsightError, TooLargeError, UnavailableError, quote
from gpu_engine.text import units
from server.times import Time, time_of

log = logging.getLogger(__name__)

HOSTS = ("sparse.tamu.edu", "suitesparse-collection-website.herokuapp.com", "sparse-files.engr.tamu.edu")
"""Of the collection: where its addresses lead, always by https."""

TIMEOUT = httpx.Timeout(10, connect=5)
REDIRECTS = 5
RETRIES = 1
"""After attempts in a row that brought nothing; then a host counts as out of reach."""

ATTEMPTS = 100
RETRY_S = 1.0
WAIT_S = 600.0
"""A host that asks to wait longer than this is asked no more."""

LATER = (429, 503)
UPLOAD = "upload the file instead"
INTERRUPTED = "The fetch was stopped. Fetch it again: what has come is kept."


@dataclass(frozen=True, slots=True)
class Download:
    """A file that has come whole: where from, the sha256 (hex) of its bytes, and when."""

    address: str
    sha256: str
    size: int
    fetched_at: Time


class _LaterError(Exception):
    """The same request may bring something after so many seconds; `error` says why it has brought nothing yet."""

    def __init__(self, seconds: float, error: SparsightError) -> None:
        super().__init__(error.message)
        self.seconds, self.error = seconds, error


class Downloader:
    """Downloads below one address.

    address    of the collection or a mirror, `https://sparse.tamu.edu`
    transport  instead of the network
    """

    def __init__(self, address: str, transport: httpx.BaseTransport | None = None) -> None:
        self.address = address.rstrip("/")
        self.host = urlsplit(self.address).hostname or ""
        self._transport = transport
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Ends what is being downloaded; its parts are kept."""
        self._stopped.set()

    def download(self, path: str, part: Path, most: int, is_wanted: Callable[[], bool] = lambda: True) -> Download:
        """Brings the file at this path into `part`, behind what of it has come before.

        most  bytes
        Raises NotFoundError, TooLargeError, and UnavailableError for everything that may be otherwise another time.
        """
        part.parent.mkdir(parents=True, exist_ok=True)
        headers = {"User-Agent": f"sparsight/{release()}", "Accept-Encoding": "identity"}
        with httpx.Client(transport=self._transport, timeout=TIMEOUT, headers=headers) as client:
            return _Attempts(self, client, part, most, is_wanted).run(f"{self.address}/{path}")

    def pause(self, seconds: float, is_wanted: Callable[[], bool]) -> None:
        """Waits; raises UnavailableError where the download is wanted no more."""
        end = time.monotonic() + seconds
        while is_wanted() and not self._stopped.wait(min(1.0, max(0.0, end - time.monotonic()))):
            if time.monotonic() >= end:
                return
        raise UnavailableError(INTERRUPTED)

    def allowed(self, address: str) -> str:
        """The address that a host sends to, by https; raises UnavailableError unless it is one of its own hosts."""
        parts, own = urlsplit(address), urlsplit(self.address)
        if (parts.scheme, parts.netloc) == (own.scheme, own.netloc):
            return address
        if parts.scheme in ("http", "https") and parts.netloc in HOSTS:
            return parts._replace(scheme="https").geturl()
        raise UnavailableError(
            f"{self.host} sends to {quote(parts.netloc or address)}, which is not its own; {UPLOAD}."
        )

    def unreachable(self, error: httpx.TransportError) -> UnavailableError:
        """The error where nothing answers."""
        reason = str(error).rpartition("] ")[2] or type(error).__name__
        if isinstance(error, httpx.TimeoutException):
            reason = f"no answer within {TIMEOUT.read:.0f} s"
        return UnavailableError(f"{self.host} cannot be reached from this server: {reason}; {UPLOAD}.")


class _Attempts:
    """The attempts at one file."""

    def __init__(
        self, downloader: Downloader, client: httpx.Client, part: Path, most: int, is_wanted: Callable[[], bool]
    ) -> None:
        self._downloader, self._client, self._part, self._most = downloader, client, part, most
        self._is_wanted = is_wanted
        self._about = part.with_name(f"{part.name}.json")

    def run(self, address: str) -> Download:
        """The whole file."""
        failures = 0
        for _ in range(ATTEMPTS):
            had = self._size()
            try:
                return self._attempt(address)
            except _LaterError as later:
                failures, wait, error = failures + 1, later.seconds, later.error
            except httpx.TransportError as broken:
                failures = 0 if self._size() > had else failures + 1
                wait, error = RETRY_S, self._downloader.unreachable(broken)
            if failures > RETRIES or wait > WAIT_S:
                break
            log.warning("%s: %s", address, error.message)
            self._downloader.pause(wait, self._is_wanted)
        raise error

    def _attempt(self, address: str) -> Download:
        """One request for what is missing, and what it brings."""
        had, validator = self._size(), self._validator()
        ranged = {"Range": f"bytes={had}-", "If-Range": validator} if had and validator else {}
        with closing(self._answer(address, ranged)) as answer:
            self._check(answer, had)
            begin = had if answer.status_code == 206 else 0
            total = _length(answer, begin)
            if total is not None and total > self._most:
                raise self._too_large()
            self._about.write_text(json.dumps(_validator_of(answer)), encoding="utf-8")
            self._write(answer, "ab" if begin else "wb")
            address = str(answer.url)
        if total is not None and self._size() != total:
            raise httpx.RemoteProtocolError("the answer ended too early")
        with self._part.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        self._about.unlink(missing_ok=True)
        return Download(address, digest, self._size(), time_of(time.time()))

    def _answer(self, address: str, ranged: Mapping[str, str]) -> httpx.Response:
        """The answer at the end of the redirections."""
        for _ in range(REDIRECTS):
            try:
                # Builds the request to where the answer sends, too.
                answer = self._client.send(self._client.build_request("GET", address, headers=ranged), stream=True)
                if not answer.has_redirect_location:
                    return answer
                answer.close()
                address = self._downloader.allowed(urljoin(address, answer.headers["location"]))
            except (httpx.InvalidURL, ValueError) as error:
                raise UnavailableError(
                    f"{self._downloader.host} sends to an address that is not valid: {error}; {UPLOAD}."
                ) from error
        raise UnavailableError(f"{self._downloader.host} sends in circles; {UPLOAD}.")

    def _check(self, answer: httpx.Response, had: int) -> None:
        """Raises what any answer means that brings no bytes of the file."""
        status, host = answer.status_code, self._downloader.host
        if status == 206 and not answer.headers.get("content-range", "").startswith(f"bytes {had}-"):
            status = 416
        if status == 416:
            # What is here is no part of what is there: all of it anew.
            self._part.unlink(missing_ok=True)
            raise _LaterError(0.0, UnavailableError(f"{host} does not go on where the file broke off; {UPLOAD}."))
        if status in LATER:
            wait = _wait_of(answer)
            asked = f"{host} asks to come again in {wait:.0f} s ({status}); fetch it later: what has come is kept."
            raise _LaterError(wait, UnavailableError(asked))
        if status in (404, 410):
            raise NotFoundError(f"{host} has no such file ({status}); {UPLOAD}.")
        if status not in (200, 206):
            raise UnavailableError(f"{host} answered {status} {quote(answer.reason_phrase)}; {UPLOAD}.")

    def _write(self, answer: httpx.Response, mode: str) -> None:
        with self._part.open(mode) as file:
            # Pieces as they come: larger blocks would lose what had come of one when the connection breaks.
            for block in answer.iter_raw():
                # Raises where nobody waits for the file any more.
                self._downloader.pause(0.0, self._is_wanted)
                file.write(block)
                if file.tell() > self._most:
                    raise self._too_large()

    def _too_large(self) -> TooLargeError:
        self._part.unlink(missing_ok=True)
        self._about.unlink(missing_ok=True)
        return TooLargeError(f"The file is larger than {units.size(self._most)}, as much as is fetched of it.")

    def _size(self) -> int:
        return self._part.stat().st_size if self._part.exists() else 0

    def _validator(self) -> str:
        """What tells the version of which a part is here; empty where nothing does."""
        with suppress(OSError, ValueError):
            return str(json.loads(self._about.read_text(encoding="utf-8")))
        return ""


def _validator_of(answer: httpx.Response) -> str:
    """A strong ETag, else the date of the last change: what If-Range takes; empty where a header cannot hold it."""
    tag: str = answer.headers.get("etag", "")
    validator: str = tag if tag.startswith('"') else answer.headers.get("last-modified", "")
    return validator if validator.isascii() else ""


def _length(answer: httpx.Response, begin: int) -> int | None:
    """How long the whole file is, as far as the answer says it."""
    declared = answer.headers.get("content-length", "")
    return begin + int(declared) if declared.isdecimal() and len(declared) < 19 else None


def _wait_of(answer: httpx.Response) -> float:
    """The seconds of Retry-After, which may be a date."""
    text = answer.headers.get("retry-after", "")
    if text.isdecimal():
        return min(float(text), 10 * WAIT_S)
    with suppress(ValueError, TypeError):
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    return RETRY_S
