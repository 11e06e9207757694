"""BodyLimit: limits the size of request bodies. It counts the received bytes and does not trust Content-Length."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpu_engine.recordings.files import BYTES_MAX
from gpu_engine.text import units
from server.errors import problem, problem_response

BODY_BYTES = 2**20
"""Longest body in bytes of a request that is not an upload."""

UPLOAD_PATHS = ("/api/v1/matrices", "/api/v1/matrices/preview", "/matrices")
RECORDING_PATHS = ("/api/v1/recordings", "/recordings")
RECORDING_BYTES = BYTES_MAX + 2**16
"""Longest body in bytes of a recording: a file and the multipart form around it."""


class BodyLimit:
    """Middleware that answers 413 if a body exceeds the limit of its path, at once if Content-Length says so."""

    def __init__(self, app: ASGIApp, upload_bytes: int) -> None:
        self.app = app
        self.most = dict.fromkeys(UPLOAD_PATHS, upload_bytes) | dict.fromkeys(RECORDING_PATHS, RECORDING_BYTES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a `receive` that counts bytes."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        most = self.most.get(scope["path"], BODY_BYTES)
        detail = f"The request body exceeds the limit of {units.size(most)}. Send less, or compress it."
        declared = dict(scope["headers"]).get(b"content-length", b"")
        if declared.isdigit() and (len(declared) > 18 or int(declared) > most):
            # The rest of the body is not read, so the connection cannot be reused.
            response = problem_response(problem(413, "too_large", detail), {"Connection": "close"})
            await response(scope, receive, send)
            return
        received = 0

        async def counting() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > most:
                raise HTTPException(413, detail, {"Connection": "close"})
            return message

        await self.app(scope, counting, send)
