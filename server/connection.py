"""Connection: HTTP on one socket that waits only so long for its client, and makes room for others.

A head has an end in size and in time; what is sent has to flow, a body as an answer; to make an answer may take as long
as it takes, and a stream goes on for ever.
"""

import asyncio
import logging
import resource
import socket
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

log = logging.getLogger(__name__)

HEAD_BYTES = 2**16
CONNECTIONS_MAX = 1000
PATIENCE_S = 20.0
"""How long a head may take; a body, and what is sent, has to reach the least rate in every such time."""

KEEP_ALIVE_S = 75
"""How long a connection stays open between two requests: longer than proxies keep it, in nginx and others 60 s.

Who lets go first may do so while a request is on its way to it, and the proxy answers 502 for nothing.
"""

RATE_BYTES_S = 500
"""The least rate of a body or an answer: of a gigabyte on any link that carries it at all."""

REFUSAL = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
QUIET_S = 60.0
"""The log tells of refused connections at most so often."""


def connections_max() -> int:
    """How many connections can be open: half of the files that the process may open, for each may need one more."""
    return min(CONNECTIONS_MAX, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)


class Connection(H11Protocol):
    """A connection that closes when its client keeps it waiting."""

    patience_s: ClassVar[float] = PATIENCE_S
    most: ClassVar[int] = connections_max()
    _told_at: ClassVar[float] = float("-inf")

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begins to wait for a head, in the place of the one that has waited longest where there is no room."""
        super().connection_made(transport)
        client = transport.get_extra_info("socket")
        if client is not None:
            # What the buffers of the system hold of an answer cannot be seen from here: it has the same time.
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * self.patience_s))
        self._timer: asyncio.TimerHandle | None = None
        self._wait()
        if len(self.connections) > self.most:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops waiting."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Counts what came; where a head begins that is not the first, its time does."""
        if self.is_idle and self.cycle is not None and not self._received:
            self._wait()
        self._received += len(data)
        super().data_received(data)

    def on_response_complete(self) -> None:
        """Waits for what is sent to be taken in."""
        super().on_response_complete()
        self._wait()

    def pause_writing(self) -> None:
        """Begins to wait for the client to read."""
        super().pause_writing()
        self._wait()

    @property
    def is_idle(self) -> bool:
        """Whether there is no whole head yet."""
        return self.conn.their_state is h11.IDLE

    def _wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._received, self._since = 0, self.loop.time()
        self._unsent = self.transport.get_write_buffer_size()
        self._timer = self.loop.call_later(self.patience_s, self._look)

    def _look(self) -> None:
        unsent, least = self.transport.get_write_buffer_size(), RATE_BYTES_S * self.patience_s
        if unsent and self._unsent - unsent < least:
            # To close it would be to wait until the rest is read.
            self.transport.abort()
        elif unsent:
            self._wait()
        elif self._is_due_a_head() or (self._is_due_a_body() and self._received < least):
            self.transport.close()
        elif self.conn.their_state is h11.SEND_BODY:
            self._wait()

    def _is_due_a_head(self) -> bool:
        """Whether a head has begun, or none ever has; between two requests the time of `timeout_keep_alive` counts."""
        return self.is_idle and (self.cycle is None or bool(self.conn.trailing_data[0]))

    def _is_due_a_body(self) -> bool:
        """Whether it is the client's turn to send more of a body, and not ours to read it or to ask for it."""
        ours = self.flow.read_paused or self.cycle.waiting_for_100_continue
        return self.conn.their_state is h11.SEND_BODY and not ours

    def _make_room(self) -> None:
        others: list[Any] = [c for c in self.connections if c is not self and not c.transport.is_closing()]
        idle = [other for other in others if other.is_idle]
        if len(others) < self.most:
            return
        if idle:
            min(idle, key=lambda other: other._since).transport.close()
            return
        if self.loop.time() - Connection._told_at >= QUIET_S:
            Connection._told_at = self.loop.time()
            log.warning("%d connections are in use, as many as there can be: new ones are refused.", self.most)
        self.transport.write(REFUSAL)
        self.transport.close()


OPTIONS: dict[str, Any] = {
    "http": Connection,
    "ws": "none",
    "h11_max_incomplete_event_size": HEAD_BYTES,
    "timeout_keep_alive": KEEP_ALIVE_S,
}
"""What uvicorn is told of connections. No WebSocket: it would take the socket from here."""
