"""Guard: who may talk to the service. Host names, origins, callers, and the headers of every answer."""

import ipaddress
import re
from urllib.parse import quote as escape
from urllib.parse import urlencode

from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpu_engine.errors import InputError, LimitError, UnauthorizedError, quote
from server.access import Access
from server.connection import HEAD_BYTES
from server.db import AWAY
from server.errors import database_response, error_response, problem, problem_response
from server.rates import Rate
from server.roles import LOCAL, Caller
from server.session_cookie import SessionCookie
from server.settings import Settings

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
SIGN_IN = "/sign-in"
OPEN_PATHS = ("/healthz", "/readyz", SIGN_IN)
OPEN_FOLDER = "/static/"
"""Styles and scripts of the product, which the page that asks for the token needs; they hold nothing of a user."""

TOKEN_CHARS_MIN = 16
"""A person may choose the token of the settings, and others may guess it."""

HEADER_EXTRA_BYTES = 4
"""What a header has beside its name and its value: a colon, a space and the end of the line."""

HOST = re.compile(r"(?P<name>[a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def check_access(settings: Settings) -> None:
    """Raises InputError where others could reach the service and no token that cannot be guessed keeps them out."""
    if _is_loopback(settings.host) or len(settings.token) >= TOKEN_CHARS_MIN:
        return
    if settings.token:
        raise InputError(
            f"The token has {len(settings.token)} characters, and others could guess it. Give one of {TOKEN_CHARS_MIN} "
            "or more: `openssl rand -hex 32` makes one."
        )
    raise InputError(
        f"Bound to {quote(settings.host)}, everybody who reaches this machine could use the service. Set "
        "SPARSIGHT_TOKEN or SPARSIGHT_TOKEN_FILE, or bind to 127.0.0.1."
    )


def _is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address; a name other than localhost may mean any."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class Guard:
    """Middleware: refuses foreign host names (DNS rebinding), foreign origins (forged calls) and unknown callers."""

    def __init__(self, app: ASGIApp, settings: Settings, access: Access, cookie: SessionCookie) -> None:
        self.app = app
        self._access = access
        self._cookie = cookie
        self._calls = Rate(settings.requests_per_minute, "This token has made as many calls as a minute allows.")
        named = (name.strip().lower() for name in settings.hosts.split(","))
        self.hosts = {"localhost", settings.host.lower(), *filter(None, named)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers itself, or passes the request on with its caller; either way the answer carries HEADERS."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        scope.setdefault("state", {})
        refusal = await self._refusal(scope)
        await (refusal or self.app)(scope, receive, guarded)

    async def _refusal(self, scope: Scope) -> Response | None:
        """Why the request does not go through, as an answer; None lets `state.caller` in."""
        headers = Headers(scope=scope)
        if refusal := _refuse_head(scope, headers):
            return refusal
        if not self._knows(headers.getlist("host")):
            detail = "This host name is not one of the service's. Add it to SPARSIGHT_HOSTS, or use its address."
            return problem_response(problem(400, "unknown_host", detail))
        secret = _bearer(headers)
        caller: Caller | None = None
        if not is_open(scope["path"]):
            try:
                caller = await self._identify(secret, scope)
                if caller != LOCAL:
                    self._calls.take(caller.name)
            except UnauthorizedError as error:
                return _sign_in(scope) if wants_page(scope, headers) else error_response(error)
            except LimitError as error:
                return error_response(error)
            except (*AWAY, PoolTimeoutError) as error:
                return database_response(error)
            scope["state"]["caller"] = caller
        by_token = bool(secret) and caller not in (None, LOCAL)
        if scope["method"] not in SAFE_METHODS and not by_token and _is_foreign(headers):
            detail = "This call comes from a page of another site. Call from the service's own pages or without Origin."
            return problem_response(problem(403, "foreign_origin", detail))
        return None

    async def _identify(self, secret: str, scope: Scope) -> Caller:
        """As `Access.identify`; without a thread, which has to be waited for, where nothing has to be read."""
        if self._access.is_known_open():
            return LOCAL
        return await run_in_threadpool(self._access.identify, secret, self._cookie.read(scope), client_of(scope))

    def _knows(self, hosts: list[str]) -> bool:
        """Whether the Host header names the service; an address always does, since no name can be rebound to it."""
        found = HOST.fullmatch(hosts[0].lower()) if len(hosts) == 1 else None
        if found is None:
            return False
        name = found["name"].strip("[]")
        if name in self.hosts or "*" in self.hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def is_open(path: str) -> bool:
    """Whether a path answers callers that nobody knows."""
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDER)


def client_of(scope: Scope) -> str:
    """The address of the caller, as a proxy of the settings tells it."""
    return str(scope["client"][0]) if scope.get("client") else ""


def wants_page(scope: Scope, headers: Headers) -> bool:
    """Whether a browser opens an address."""
    return scope["method"] == "GET" and "text/html" in headers.get("accept", "")


def _sign_in(scope: Scope) -> Response:
    """Leads a browser to the page that asks for the token, and from there back."""
    query = scope["query_string"].decode("latin-1")
    wanted = escape(scope["path"]) + (f"?{query}" if query else "")
    return RedirectResponse(f"{SIGN_IN}?{urlencode({'next': wanted})}", 303)


def _refuse_head(scope: Scope, headers: Headers) -> Response | None:
    """Refuse a head that is too long, or that leaves open where its body ends; the connection is not used again."""
    size = len(scope.get("raw_path") or b"") + len(scope["query_string"])
    size += sum(len(name) + len(value) + HEADER_EXTRA_BYTES for name, value in scope["headers"])
    if size > HEAD_BYTES:
        detail = f"The address and the headers have {size:,} bytes; at most {HEAD_BYTES:,} are read. Send fewer."
        return problem_response(problem(431, "request_header_fields_too_large", detail), {"Connection": "close"})
    if "transfer-encoding" in headers and "content-length" in headers:
        detail = "The request has both Content-Length and Transfer-Encoding. Send one of them."
        return problem_response(problem(400, "bad_request", detail), {"Connection": "close"})
    return None


def _is_foreign(headers: Headers) -> bool:
    """Whether a browser says that a page of another site makes the call; programs other than browsers say nothing."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is not None and origin.partition("://")[2].lower() != headers.get("host", "").lower()


def _bearer(headers: Headers) -> str:
    """The token of an Authorization header, whose scheme may be in any case."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
