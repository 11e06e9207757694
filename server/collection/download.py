"""Downloader of files of the collection or its mirror, with resume and size limits.

Addresses are built from names in the index. Redirects must stay on hosts of the collection.
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
from server.timestamps import Time, time_of

log = logging.getLogger(__name__)

HOSTS = ("sparse.tamu.edu", "suitesparse-collection-website.herokuapp.com", "sparse-files.engr.tamu.edu")
"""Hosts of the collection, to which it may redirect, always by HTTPS."""

TIMEOUT = httpx.Timeout(10, connect=5)
REDIRECTS = 5
RETRIES = 1
"""Number of consecutive attempts without new bytes after which a host counts as unreachable."""

ATTEMPTS = 100
RETRY_S = 1.0
WAIT_S = 600.0
"""Longest Retry-After in seconds that the downloader waits for."""

LATER = (429, 503)
UPLOAD = "upload the file instead"
INTERRUPTED = "The download was stopped. Start it again to resume."


@dataclass(frozen=True, slots=True)
class Download:
    """Complete downloaded file: its address, the sha256 (hex) of its bytes, and its time."""

    address: str
    sha256: str
    size: int
    fetched_at: Time


class _LaterError(Exception):
    """Temporary failure; `error` is the final error if no attempt succeeds."""

    def __init__(self, seconds: float, error: SparsightError) -> None:
        super().__init__(error.message)
        self.seconds, self.error = seconds, error


class Downloader:
    """Downloads files below one address.

    address    of the collection or a mirror, `https://sparse.tamu.edu`
    transport  replaces the network in tests
    """

    def __init__(self, address: str, transport: httpx.BaseTransport | None = None) -> None:
        self.address = address.rstrip("/")
        self.host = urlsplit(self.address).hostname or ""
        self._transport = transport
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Stop the running downloads and keep their parts."""
        self._stopped.set()

    def download(self, path: str, part: Path, most: int, is_wanted: Callable[[], bool] = lambda: True) -> Download:
        """Download the file at this path into `part`, continuing after the bytes in it.

        most  size limit in bytes
        Raises NotFoundError, TooLargeError, and UnavailableError for temporary failures.
        """
        part.parent.mkdir(parents=True, exist_ok=True)
        headers = {"User-Agent": f"sparsight/{release()}", "Accept-Encoding": "identity"}
        with httpx.Client(transport=self._transport, timeout=TIMEOUT, headers=headers) as client:
            return _Attempts(self, client, part, most, is_wanted).run(f"{self.address}/{path}")

    def pause(self, seconds: float, is_wanted: Callable[[], bool]) -> None:
        """Wait. Raises UnavailableError if the download was stopped."""
        end = time.monotonic() + seconds
        while is_wanted() and not self._stopped.wait(min(1.0, max(0.0, end - time.monotonic()))):
            if time.monotonic() >= end:
                return
        raise UnavailableError(INTERRUPTED)

    def allowed(self, address: str) -> str:
        """Return the HTTPS address of a redirect. Raises UnavailableError unless it stays on allowed hosts."""
        parts, base = urlsplit(address), urlsplit(self.address)
        if (parts.scheme, parts.netloc) == (base.scheme, base.netloc):
            return address
        if parts.scheme in ("http", "https") and parts.netloc in HOSTS:
            return parts._replace(scheme="https").geturl()
        raise UnavailableError(f"{self.host} redirects to another host, {quote(parts.netloc or address)}; {UPLOAD}.")

    def unreachable(self, error: httpx.TransportError) -> UnavailableError:
        """Return the error for a host that does not respond."""
        reason = str(error).rpartition("] ")[2] or type(error).__name__
        if isinstance(error, httpx.TimeoutException):
            reason = f"no response within {TIMEOUT.read:.0f} s"
        return UnavailableError(f"Cannot reach {self.host} from this server: {reason}; {UPLOAD}.")


class _Attempts:
    """Attempts to download one file."""

    def __init__(
        self, downloader: Downloader, client: httpx.Client, part: Path, most: int, is_wanted: Callable[[], bool]
    ) -> None:
        self._downloader, self._client, self._part, self._most = downloader, client, part, most
        self._is_wanted = is_wanted
        self._about = part.with_name(f"{part.name}.json")

    def run(self, address: str) -> Download:
        """Return the complete file."""
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
        """Request the missing bytes once, and append them."""
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
            raise httpx.RemoteProtocolError("the response ended too early")
        with self._part.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        self._about.unlink(missing_ok=True)
        return Download(address, digest, self._size(), time_of(time.time()))

    def _answer(self, address: str, ranged: Mapping[str, str]) -> httpx.Response:
        """Return the response after all redirects."""
        for _ in range(REDIRECTS):
            try:
                # Also builds the request for the redirect.
                answer = self._client.send(self._client.build_request("GET", address, headers=ranged), stream=True)
                if not answer.has_redirect_location:
                    return answer
                answer.close()
                address = self._downloader.allowed(urljoin(address, answer.headers["location"]))
            except (httpx.InvalidURL, ValueError) as error:
                raise UnavailableError(
                    f"{self._downloader.host} redirects to an invalid address: {error}; {UPLOAD}."
                ) from error
        raise UnavailableError(f"{self._downloader.host} redirects in a loop; {UPLOAD}.")

    def _check(self, answer: httpx.Response, had: int) -> None:
        """Raise the error for a response without bytes of the file."""
        status, host = answer.status_code, self._downloader.host
        if status == 206 and not answer.headers.get("content-range", "").startswith(f"bytes {had}-"):
            status = 416
        if status == 416:
            # The part belongs to another version of the file: start from zero.
            self._part.unlink(missing_ok=True)
            raise _LaterError(0.0, UnavailableError(f"{host} does not support resuming the download; {UPLOAD}."))
        if status in LATER:
            wait = _wait_of(answer)
            reason = f"{host} is busy ({status}). Start the download again in {wait:.0f} s to resume."
            raise _LaterError(wait, UnavailableError(reason))
        if status in (404, 410):
            raise NotFoundError(f"{host} has no such file ({status}); {UPLOAD}.")
        if status not in (200, 206):
            raise UnavailableError(f"{host} answered {status} {quote(answer.reason_phrase)}; {UPLOAD}.")

    def _write(self, answer: httpx.Response, mode: str) -> None:
        with self._part.open(mode) as file:
            # Write bytes as they arrive: larger blocks would be lost when the connection breaks.
            for block in answer.iter_raw():
                # Raises if the download was stopped.
                self._downloader.pause(0.0, self._is_wanted)
                file.write(block)
                if file.tell() > self._most:
                    raise self._too_large()

    def _too_large(self) -> TooLargeError:
        self._part.unlink(missing_ok=True)
        self._about.unlink(missing_ok=True)
        return TooLargeError(f"The file is larger than the limit of {units.size(self._most)}.")

    def _size(self) -> int:
        return self._part.stat().st_size if self._part.exists() else 0

    def _validator(self) -> str:
        """Return the validator of the version of the present part; empty if unknown."""
        with suppress(OSError, ValueError):
            return str(json.loads(self._about.read_text(encoding="utf-8")))
        return ""


def _validator_of(answer: httpx.Response) -> str:
    """Return a strong ETag, or else the modification date, for If-Range; empty if a header cannot contain it."""
    tag: str = answer.headers.get("etag", "")
    validator: str = tag if tag.startswith('"') else answer.headers.get("last-modified", "")
    return validator if validator.isascii() else ""


def _length(answer: httpx.Response, begin: int) -> int | None:
    """Return the length of the complete file in bytes, if the response states it."""
    declared = answer.headers.get("content-length", "")
    return begin + int(declared) if declared.isdecimal() and len(declared) < 19 else None


def _wait_of(answer: httpx.Response) -> float:
    """Return the seconds of Retry-After, which may also be a date."""
    text = answer.headers.get("retry-after", "")
    if text.isdecimal():
        return min(float(text), 10 * WAIT_S)
    with suppress(ValueError, TypeError):
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    return RETRY_S
