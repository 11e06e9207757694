"""Turns: limit how many GET requests are computed at a time, so that readers do not block writers."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

READERS = 3
"""Number of GET requests that are computed at a time.

One Python interpreter computes them all, so that more would not finish sooner. A writer, which blocks all other
writers, would compete with each of them after each of its statements.
"""

AT_ONCE = ("/healthz", "/readyz")
"""Paths whose responses must not wait, because they report how busy the service is."""


class Turns:
    """Middleware that lets a limited number of read requests start at a time; the others wait in order."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._free = asyncio.Semaphore(READERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on when it may start. Its turn ends when its response starts, because clients may read
        slowly.
        """
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"] in AT_ONCE:
            await self.app(scope, receive, send)
            return
        await self._free.acquire()
        computing = True

        def end() -> None:
            nonlocal computing
            if computing:
                computing = False
                self._free.release()

        async def ending(message: Message) -> None:
            if message["type"] == "http.response.start":
                end()
            await send(message)

        try:
            await self.app(scope, receive, ending)
        finally:
            end()
