"""HTTP connection to one server: retries during outages, and errors from problem documents."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from gpu_engine.errors import InputError, LimitError, SparsightError, UnavailableError, quote
from gpu_engine.host.whole_files import whole_file
from sparsight.addresses import with_scheme
from sparsight.problems import PYTHON, Hints, error_of

T = TypeVar("T")

RETRY_S = 1.0
"""Pause before a request is repeated, in seconds."""

PATIENCE_S = 30.0
"""Seconds for which a read or the submission of a job is repeated while the server is unavailable."""

OUTAGE_S = 900.0
"""Seconds for which a wait or a download continues without a response, so that it survives a restart of the server."""

TRANSIENT = (UnavailableError, LimitError)
"""Errors after which a read is repeated: no response, an error of a proxy, or the rate limit."""

API = "/api/v1"

# A slow disk or a full queue may delay a response; an upload is answered within seconds after its last byte.
TIMEOUT = httpx.Timeout(120, connect=5)


class Connection:
    """Connection to one server; use it as a context manager.

    server  address such as `http://127.0.0.1:8000`; the scheme is optional
    token   bearer token; empty if the server requires none
    http    HTTP client to use; by default the connection creates one
    hints   advice for error messages
    on_outage  called with the error message once per outage during which requests are repeated

    Raises InputError for an invalid address. Every call raises UnavailableError if no server responds, and otherwise
    the error that the server returns. After the first response of a server, reads, `submit`, waits, and downloads
    survive its restart: they are repeated for PATIENCE_S or OUTAGE_S while it does not respond.
    """

    def __init__(
        self,
        server: str,
        token: str = "",
        http: httpx.Client | None = None,
        hints: Hints = PYTHON,
        on_outage: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.server = with_scheme(server)
        self._hints = hints
        self._on_outage = on_outage
        self._has_answered = False
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            self._http = http or httpx.Client(
                base_url=self.server, headers=headers, timeout=TIMEOUT, transport=httpx.HTTPTransport(retries=2)
            )
        except httpx.InvalidURL as error:
            raise InputError(f"Invalid server address {quote(server)}: {error}.") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def _pages(self, path: str, query: Mapping[str, str]) -> Iterator[Any]:
        parameters = {name: value for name, value in query.items() if value}
        while True:
            page = self._get(path, params=parameters)
            yield from page["items"]
            if page["next"] is None:
                return
            parameters["cursor"] = page["next"]

    def _save(self, path: str, query: Mapping[str, str], target: str | Path) -> Path:
        """Write the response to a file, completely or not at all; raise InputError if the file cannot be written."""
        target = Path(target)

        def save() -> None:
            with self._transport_errors(), self._http.stream("GET", f"{API}{path}", params=query) as answer:
                self._note_response(answer)
                if answer.is_error:
                    answer.read()
                    self._document(answer)
                with whole_file(target) as file:
                    for block in answer.iter_bytes():
                        file.write(block)

        try:
            self._retry_outages(save, OUTAGE_S)
        except OSError as error:
            raise InputError(f"Cannot write {quote(target)}: {error.strerror or error}.") from error
        return target

    def _get(self, path: str, patience_s: float = PATIENCE_S, **options: Any) -> dict[str, Any]:
        return self._retry_outages(lambda: self._call("GET", path, **options), patience_s)

    def _retry_outages(
        self, request: Callable[[], T], patience_s: float, transient: tuple[type[SparsightError], ...] = TRANSIENT
    ) -> T:
        """Return the result of a request, repeated for `patience_s` if this server has responded before.

        transient  errors after which the request is repeated
        """
        start_s, is_reported = time.monotonic(), False
        while True:
            try:
                return request()
            except transient as error:
                if not self._has_answered or time.monotonic() - start_s > patience_s:
                    raise
                if not is_reported:
                    self._on_outage(error.message)
                is_reported = True
            time.sleep(RETRY_S)

    def _call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        return self._document(self._send(method, path, **options))

    def _delete(self, path: str, **options: Any) -> None:
        answer = self._send("DELETE", path, **options)
        if answer.is_error:
            self._document(answer)

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        with self._transport_errors():
            answer = self._http.request(method, f"{API}{path}", **options)
        self._note_response(answer)
        return answer

    def _note_response(self, answer: httpx.Response) -> None:
        """Remember that the server has responded: a later outage is then temporary, and requests are repeated."""
        # The API never returns HTML or plain text, so that this is the page of another server.
        is_page = answer.headers.get("Content-Type", "").startswith(("text/html", "text/plain"))
        self._has_answered |= answer.status_code < 500 and not is_page

    @contextmanager
    def _transport_errors(self) -> Iterator[None]:
        """Turn errors of the transport into UnavailableError."""
        try:
            yield
        except httpx.TransportError as error:
            raise UnavailableError(
                f"No Sparsight server responds at {self.server} ({error or type(error).__name__}). "
                f"{self._hints['name_server']}"
            ) from error

    def _document(self, answer: httpx.Response) -> dict[str, Any]:
        try:
            document = answer.json()
        except json.JSONDecodeError as error:
            raise UnavailableError(
                f"{self.server} is not a Sparsight server: it responded with status {answer.status_code} and no JSON."
            ) from error
        if answer.is_error:
            raise error_of(document, answer.status_code, self._hints)
        return dict(document)
