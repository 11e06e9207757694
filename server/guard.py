"""Guard: check host names, origins, and callers of requests, and set the security headers of responses."""

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
from server.rate_limit import Rate
from server.roles import LOCAL, Caller
from server.session_cookie import SessionCookie
from server.settings import Settings

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
SIGN_IN = "/sign-in"
OPEN_PATHS = ("/healthz", "/readyz", SIGN_IN)
OPEN_FOLDER = "/static/"
"""Styles and scripts of the product, which the sign-in page needs. They contain no user data."""

TOKEN_CHARS_MIN = 16
"""Shortest token of the settings if the service is reachable from other machines. Others could guess a shorter one."""

HEADER_EXTRA_BYTES = 4
"""Bytes of a header besides name and value: colon, space, and line end."""

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
    """Raise InputError if other machines can reach the service, and no token or only a guessable one protects it."""
    if _is_loopback(settings.host) or len(settings.token) >= TOKEN_CHARS_MIN:
        return
    if settings.token:
        raise InputError(
            f"The token has only {len(settings.token)} characters, and others could guess it. Use "
            f"at least {TOKEN_CHARS_MIN}; `openssl rand -hex 32` generates one."
        )
    raise InputError(
        f"With SPARSIGHT_HOST={quote(settings.host)} everybody who reaches this machine could use the "
        "service. Set SPARSIGHT_TOKEN or SPARSIGHT_TOKEN_FILE, or bind to 127.0.0.1."
    )


def _is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the address. A name other than localhost may mean any address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class Guard:
    """Middleware that rejects foreign host names (DNS rebinding), foreign origins (forged requests), and unknown
    callers.
    """

    def __init__(self, app: ASGIApp, settings: Settings, access: Access, cookie: SessionCookie) -> None:
        self.app = app
        self._access = access
        self._cookie = cookie
        self._calls = Rate(
            settings.requests_per_minute,
            (
                "Rate limit reached: too many requests in the last minute. Try again in one minute, or "
                "raise SPARSIGHT_REQUESTS_PER_MINUTE."
            ),
        )
        named = (name.strip().lower() for name in settings.hosts.split(","))
        self.hosts = {"localhost", settings.host.lower(), *filter(None, named)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject the request, or pass it on with its caller. Either way the response carries HEADERS."""
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
        """Return the response that rejects the request, or None after setting `state.caller`."""
        headers = Headers(scope=scope)
        if refusal := _refuse_head(scope, headers):
            return refusal
        if not self._knows(headers.getlist("host")):
            detail = "Unknown host name. Add it to SPARSIGHT_HOSTS, or use the address of the server."
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
            detail = (
                "Cross-site request blocked. Call the API from the service's own pages, or without an Origin header."
            )
            return problem_response(problem(403, "foreign_origin", detail))
        return None

    async def _identify(self, secret: str, scope: Scope) -> Caller:
        """Return the caller as `Access.identify` does, without a thread if nothing must be read."""
        if self._access.is_known_open():
            return LOCAL
        return await run_in_threadpool(self._access.identify, secret, self._cookie.read(scope), client_of(scope))

    def _knows(self, hosts: list[str]) -> bool:
        """Return whether the Host header names the service. An address is always accepted, because no name can be
        rebound to it.
        """
        host = HOST.fullmatch(hosts[0].lower()) if len(hosts) == 1 else None
        if host is None:
            return False
        name = host["name"].strip("[]")
        if name in self.hosts or "*" in self.hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def is_open(path: str) -> bool:
    """Return whether a path is open to unknown callers."""
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDER)


def client_of(scope: Scope) -> str:
    """Return the address of the caller, as reported by a trusted proxy."""
    return str(scope["client"][0]) if scope.get("client") else ""


def wants_page(scope: Scope, headers: Headers) -> bool:
    """Return whether a browser requests a page."""
    return scope["method"] == "GET" and "text/html" in headers.get("accept", "")


def _sign_in(scope: Scope) -> Response:
    """Redirect a browser to the sign-in page, and from there back to this address."""
    query = scope["query_string"].decode("latin-1")
    target = escape(scope["path"]) + (f"?{query}" if query else "")
    return RedirectResponse(f"{SIGN_IN}?{urlencode({'next': target})}", 303)


def _refuse_head(scope: Scope, headers: Headers) -> Response | None:
    """Reject a request head that is too long or has an ambiguous body length, and close the connection."""
    size = len(scope.get("raw_path") or b"") + len(scope["query_string"])
    size += sum(len(name) + len(value) + HEADER_EXTRA_BYTES for name, value in scope["headers"])
    if size > HEAD_BYTES:
        detail = f"The address and the headers have {size:,} bytes; the limit is {HEAD_BYTES:,}. Send fewer."
        return problem_response(problem(431, "request_header_fields_too_large", detail), {"Connection": "close"})
    if "transfer-encoding" in headers and "content-length" in headers:
        detail = "The request has both Content-Length and Transfer-Encoding. Send one of them."
        return problem_response(problem(400, "bad_request", detail), {"Connection": "close"})
    return None


def _is_foreign(headers: Headers) -> bool:
    """Return whether a browser sends the request from a page of another site. Other programs send no such headers."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is not None and origin.partition("://")[2].lower() != headers.get("host", "").lower()


def _bearer(headers: Headers) -> str:
    """Return the token of an Authorization header; the scheme may be in any case."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
