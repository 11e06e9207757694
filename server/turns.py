"""Turns: few answers are computed at a time, so that who writes is not kept from the interpreter by many who read."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

READERS = 3
"""Answers to GET that are computed at a time.

One interpreter computes them all: more of them are not done sooner, and a writer, whom all other writers wait for,
queues with each of them for it after each of its statements.
"""

AT_ONCE = ("/healthz", "/readyz")
"""Paths whose answer tells whether others come."""


class Turns:
    """Middleware: lets so many requests for something to read begin as are computed at a time, the others in order."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._free = asyncio.Semaphore(READERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on when its turn has come, which ends when its answer begins: guests may read slowly."""
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
