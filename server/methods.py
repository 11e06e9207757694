"""Methods: HEAD is answered wherever GET is, and a refused method is told the others."""

from typing import Any

from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.roles import every_route

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


class HeadAsGet:
    """Middleware: answers HEAD as GET would be, without the body; a stream ends at once."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on as GET."""
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
    """The methods of the path, as an Allow header lists them; those of a pattern only where no route has the path."""
    named = [route for route in every_route(routes) if route.path == scope["path"]]
    found = [
        method
        for method in METHODS
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in named or routes)
    ]
    return ", ".join(["GET", "HEAD", *found[1:]] if found[:1] == ["GET"] and "HEAD" not in found else found)
