"""HEAD requests and Allow headers: HEAD works wherever GET does, and a 405 lists the allowed methods."""

from typing import Any

from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.roles import every_route

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


class HeadAsGet:
    """Middleware that answers HEAD like GET without the body. A stream ends at once."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on as GET."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        ended = False

        async def heard() -> Message:
            return {"type": "http.disconnect"} if ended else await receive()

        async def bare(message: Message) -> None:
            nonlocal ended
            if message["type"] != "http.response.body":
                await send(message)
            elif not ended:
                ended = True
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self.app({**scope, "method": "GET"}, heard, bare)


def allowed(routes: Any, scope: Scope) -> str:
    """Return the methods of the path for an Allow header. Path patterns count only if no route has
    exactly this path.
    """
    named = [route for route in every_route(routes) if route.path == scope["path"]]
    methods = [
        method
        for method in METHODS
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in named or routes)
    ]
    return ", ".join(["GET", "HEAD", *methods[1:]] if methods[:1] == ["GET"] and "HEAD" not in methods else methods)
