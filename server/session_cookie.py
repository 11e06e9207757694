"""SessionCookie: the cookie of a signed-in browser.

A browser sends a cookie to every port of a host, so that the cookie name contains an id of the service. Two services on
one host, or behind two tunnels, do not sign out each other's users.
"""

import re
import secrets
from http.cookies import CookieError, SimpleCookie
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from gpu_engine.host.whole_files import write_whole

FILE = "service-id"
"""File in a data directory with the id of its service."""

ID = re.compile(r"[0-9a-f]{16}")
PREFIX = "sparsight_"
HOST_PREFIX = "__Host-"
"""Cookie name prefix that browsers accept only over HTTPS and only from this host."""


class SessionCookie:
    """Cookie of one service.

    service_id  distinguishes the services of a host
    """

    def __init__(self, service_id: str) -> None:
        self._name = PREFIX + service_id

    def name(self, scheme: str) -> str:
        """Return the cookie name for this scheme."""
        return (HOST_PREFIX if scheme == "https" else "") + self._name

    def read(self, scope: Scope) -> str:
        """Return the session id of a request; empty if it has none."""
        try:
            cookies = SimpleCookie(Headers(scope=scope).get("cookie", ""))
        except CookieError:
            return ""
        name = self.name(scope["scheme"])
        return cookies[name].value if name in cookies else ""

    def give(self, response: Response, value: str, seconds: float, scheme: str) -> None:
        """Set the cookie with a session id."""
        # Lax: users who follow a link from another site stay signed in. GET requests never change anything.
        response.set_cookie(
            self.name(scheme),
            value,
            max_age=int(seconds),
            httponly=True,
            samesite="lax",
            secure=scheme == "https",
        )

    def take(self, response: Response, scheme: str) -> None:
        """Delete the cookie."""
        response.delete_cookie(self.name(scheme), httponly=True, samesite="lax", secure=scheme == "https")


def service_id(home: Path) -> str:
    """Return the random id of the service of a data directory, created at its first start."""
    file = home / FILE
    if not (file.exists() and ID.fullmatch(file.read_text(encoding="ascii", errors="replace"))):
        write_whole(file, secrets.token_hex(8))
    # If two servers start at once, the id of one stays.
    return file.read_text(encoding="ascii")
