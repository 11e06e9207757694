"""Connection: asks one server, again where it is away for a while; a problem becomes the error that it names."""

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
PATIENCE_S = 30.0
"""A read, and a job that is offered, are tried again this long while the server is away or cannot answer now."""

OUTAGE_S = 900.0
"""A wait or a download goes on this long without an answer of the server, which may be restarted meanwhile."""

PASSING = (UnavailableError, LimitError)
"""Errors after which a read is tried again: no answer, one that a proxy gives, too many calls in this minute."""

API = "/api/v1"

# A slow disk or a full queue may hold an answer back; an upload is answered within seconds of its last byte.
TIMEOUT = httpx.Timeout(120, connect=5)


class Connection:
    """A connection to one server; use it as a context manager.

    server  address, `http://127.0.0.1:8000`; the scheme may be left out
    token   bearer token, empty where the server asks for none
    http    the HTTP client to use instead of an own one
    hints   what errors say to do
    on_outage  is told once of each time without an answer in which a call is tried again

    Raises InputError for an address that is none. Every call raises UnavailableError where no server answers, and
    otherwise the error that the server names. Once a server has answered, reads, `submit`, waits, and downloads survive
    its restart: they are tried again while nothing answers, for PATIENCE_S or OUTAGE_S; any other answer ends them.
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
            raise InputError(f"{quote(server)} is not the address of a server: {error}.") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self._http.close()

    def _pages(self, path: str, query: Mapping[str, str]) -> Iterator[Any]:
        parameters = {name: value for name, value in query.items() if value}
        while True:
            page = self._get(path, params=parameters)
            yield from page["items"]
            if page["next"] is None:
                return
            parameters["cursor"] = page["next"]

    def _saved(self, path: str, query: Mapping[str, str], target: str | Path) -> Path:
        """Write what the server answers to a file, whole or not at all; raises InputError where that is impossible."""
        target = Path(target)

        def save() -> None:
            with self._reaching(), self._http.stream("GET", f"{API}{path}", params=query) as answer:
                self._note(answer)
                if answer.is_error:
                    answer.read()
                    self._document(answer)
                with whole_file(target) as file:
                    for block in answer.iter_bytes():
                        file.write(block)

        try:
            self._patiently(save, OUTAGE_S)
        except OSError as error:
            raise InputError(f"Cannot write {quote(target)}: {error.strerror or error}.") from error
        return target

    def _get(self, path: str, patience_s: float = PATIENCE_S, **options: Any) -> dict[str, Any]:
        return self._patiently(lambda: self._call("GET", path, **options), patience_s)

    def _patiently(
        self, ask: Callable[[], T], patience_s: float, passing: tuple[type[SparsightError], ...] = PASSING
    ) -> T:
        """Return an answer, asked for again while there is none, once this server has ever answered.

        passing  the errors that are no answer
        """
        began_s, is_told = time.monotonic(), False
        while True:
            try:
                return ask()
            except passing as error:
                if not self._has_answered or time.monotonic() - began_s > patience_s:
                    raise
                if not is_told:
                    self._on_outage(error.message)
                is_told = True
            time.sleep(RETRY_S)

    def _call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        return self._document(self._send(method, path, **options))

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        with self._reaching():
            answer = self._http.request(method, f"{API}{path}", **options)
        self._note(answer)
        return answer

    def _note(self, answer: httpx.Response) -> None:
        """Remember that there is a server; one that has answered before is only away when it answers no more."""
        # The API never answers so: this is another server's page.
        is_page = answer.headers.get("Content-Type", "").startswith(("text/html", "text/plain"))
        self._has_answered |= answer.status_code < 500 and not is_page

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except httpx.TransportError as error:
            raise UnavailableError(
                f"No Sparsight server answers at {self.server} ({error or type(error).__name__}). "
                f"{self._hints['name_server']}"
            ) from error

    def _document(self, answer: httpx.Response) -> dict[str, Any]:
        try:
            document = answer.json()
        except json.JSONDecodeError as error:
            raise UnavailableError(
                f"{self.server} answered {answer.status_code}, but not as Sparsight does."
            ) from error
        if answer.is_error:
            raise error_of(document, answer.status_code, self._hints)
        return dict(document)
