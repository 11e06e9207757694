"""SessionCookie: what a browser that has signed in sends with each call.

A browser sends a cookie to every port of a host, so that the name says whose it is: two services on one host, or at the
ends of two tunnels, do not sign each other's browsers out.
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
"""The file of a home that tells its service from others."""

ID = re.compile(r"[0-9a-f]{16}")
PREFIX = "sparsight_"
HOST_PREFIX = "__Host-"
"""What browsers take by https alone, and from nobody but this host."""


class SessionCookie:
    """The cookie of one service.

    service_id  tells the service from others of its host
    """

    def __init__(self, service_id: str) -> None:
        self._name = PREFIX + service_id

    def name(self, scheme: str) -> str:
        """Return its name for a browser that came by this scheme."""
        return (HOST_PREFIX if scheme == "https" else "") + self._name

    def read(self, scope: Scope) -> str:
        """Return the session id of a request; empty: none."""
        try:
            cookies = SimpleCookie(Headers(scope=scope).get("cookie", ""))
        except CookieError:
            return ""
        name = self.name(scope["scheme"])
        return cookies[name].value if name in cookies else ""

    def give(self, response: Response, value: str, seconds: float, scheme: str) -> None:
        """Have a browser keep a session id."""
        # Lax: a link from elsewhere finds its reader signed in. What changes something is never a GET.
        response.set_cookie(
            self.name(scheme),
            value,
            max_age=int(seconds),
            httponly=True,
            samesite="lax",
            secure=scheme == "https",
        )

    def take(self, response: Response, scheme: str) -> None:
        """Have a browser forget its session id."""
        response.delete_cookie(self.name(scheme), httponly=True, samesite="lax", secure=scheme == "https")


def service_id(home: Path) -> str:
    """Return the random id of the service of a home, made at its first start."""
    file = home / FILE
    if not (file.exists() and ID.fullmatch(file.read_text(encoding="ascii", errors="replace"))):
        write_whole(file, secrets.token_hex(8))
    # Of two servers that begin at once the id of one stays.
    return file.read_text(encoding="ascii")
