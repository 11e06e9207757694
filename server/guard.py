"""Guard: who may talk to the service. Host names, origins, the token, and the headers of every answer."""

import ipaddress
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpu_engine.errors import InputError, quote
from server.errors import problem, problem_response
from server.settings import Settings

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
OPEN_PATHS = ("/healthz", "/readyz")
COOKIE = "sparsight_token"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
}


def check_access(settings: Settings) -> None:
    """Raises InputError where others could reach the service and no token keeps them out."""
    if not settings.token and not _is_loopback(settings.host):
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
    """Middleware: refuses foreign host names (DNS rebinding), foreign origins (forged calls) and missing tokens."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.token = settings.token
        named = (name.strip().lower() for name in settings.hosts.split(","))
        self.hosts = {"localhost", settings.host.lower(), *filter(None, named)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers itself, or passes the request on; either way the answer carries HEADERS."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self.app)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """Why the request does not go through, as an answer."""
        headers = Headers(scope=scope)
        if not self._knows(headers.get("host", "")):
            detail = "This host name is not one of the service's. Add it to SPARSIGHT_HOSTS, or use its address."
            return problem_response(problem(400, "unknown_host", detail))
        bearer = _bearer(headers)
        if scope["method"] not in SAFE_METHODS and not (self.token and self._is_token(bearer)) and _is_foreign(headers):
            detail = "This call comes from a page of another site. Call from the service's own pages or without Origin."
            return problem_response(problem(403, "foreign_origin", detail))
        if not self.token or scope["path"] in OPEN_PATHS or self._is_token(bearer) or self._is_token(_cookie(headers)):
            return None
        return self._sign_in(scope)

    def _knows(self, host: str) -> bool:
        """Whether a Host header names the service; an address always does, since no name can be rebound to it."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").lower()
        except ValueError:
            return False
        if name in self.hosts or "*" in self.hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(errors="replace"), self.token.encode())

    def _sign_in(self, scope: Scope) -> Response:
        """A browser that opens `…?token=` gets a cookie and the page without it; anyone else learns what is missing."""
        query = QueryParams(scope["query_string"])
        if scope["method"] == "GET" and self._is_token(query.get("token", "")):
            kept = urlencode([(name, value) for name, value in query.multi_items() if name != "token"])
            # One slash: a path that begins with two would name another host.
            response = RedirectResponse(f"/{scope['path'].lstrip('/')}{'?' if kept else ''}{kept}", 303)
            response.set_cookie(COOKIE, self.token, httponly=True, samesite="strict", secure=scope["scheme"] == "https")
            return response
        wrong = "token" in QueryParams(scope["query_string"]) or "authorization" in Headers(scope=scope)
        detail = "This is not the token of this service." if wrong else "This service asks for a token."
        return problem_response(problem(401, "unauthorized", detail, hint="send_token"), {"WWW-Authenticate": "Bearer"})


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


def _cookie(headers: Headers) -> str:
    try:
        cookies = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return ""
    return cookies[COOKIE].value if COOKIE in cookies else ""
