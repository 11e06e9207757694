"""HTTP connection that closes when its client is too slow, and makes room for other clients.

A request head is limited in size and time. Bodies and responses need a minimum rate. Computing a response may take any
time, and a stream does not end.
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
"""Seconds that a request head may take. Bodies and responses must reach the minimum rate in every such period."""

KEEP_ALIVE_S = 75
"""Seconds that an idle connection stays open: longer than proxies keep it (60 s in nginx and others).

If the server closed first, a request could already be on its way, and the proxy would answer 502.
"""

RATE_BYTES_S = 500
"""Minimum rate of a body or a response in bytes/s, which any usable link reaches."""

REFUSAL = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
QUIET_S = 60.0
"""Seconds between two log lines about refused connections."""


def connections_max() -> int:
    """Return the maximum number of open connections: half of the file descriptors, because each may need
    a second one.
    """
    return min(CONNECTIONS_MAX, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)


class Connection(H11Protocol):
    """Connection that closes when its client keeps it waiting."""

    patience_s: ClassVar[float] = PATIENCE_S
    most: ClassVar[int] = connections_max()
    _logged_at: ClassVar[float] = float("-inf")

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for a request head; if there is no room, close the connection that has been idle longest."""
        super().connection_made(transport)
        client = transport.get_extra_info("socket")
        if client is not None:
            # Bytes in the socket buffers of the system cannot be counted here; they get the same time limit.
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * self.patience_s))
        self._timer: asyncio.TimerHandle | None = None
        self._wait()
        if len(self.connections) > self.most:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count received bytes, and restart the time limit when a further request head begins."""
        if self.is_idle and self.cycle is not None and not self._received:
            self._wait()
        self._received += len(data)
        super().data_received(data)

    def on_response_complete(self) -> None:
        """Wait until the client has received the response."""
        super().on_response_complete()
        self._wait()

    def pause_writing(self) -> None:
        """Start waiting for the client to read."""
        super().pause_writing()
        self._wait()

    @property
    def is_idle(self) -> bool:
        """Return whether no complete request head has arrived."""
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
            # `close` would wait until the client has read the rest.
            self.transport.abort()
        elif unsent:
            self._wait()
        elif self._is_due_a_head() or (self._is_due_a_body() and self._received < least):
            self.transport.close()
        elif self.conn.their_state is h11.SEND_BODY:
            self._wait()

    def _is_due_a_head(self) -> bool:
        """Return whether a request head has begun, or none has ever arrived. Between two requests `timeout_keep_alive`
        applies.
        """
        return self.is_idle and (self.cycle is None or bool(self.conn.trailing_data[0]))

    def _is_due_a_body(self) -> bool:
        """Return whether the client must send more of a body, and the server is ready to read it."""
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
        if self.loop.time() - Connection._logged_at >= QUIET_S:
            Connection._logged_at = self.loop.time()
            log.warning("connection limit reached (%d); refusing new connections", self.most)
        self.transport.write(REFUSAL)
        self.transport.close()


OPTIONS: dict[str, Any] = {
    "http": Connection,
    "ws": "none",
    "h11_max_incomplete_event_size": HEAD_BYTES,
    "timeout_keep_alive": KEEP_ALIVE_S,
}
"""Options of uvicorn for connections. WebSockets are off because they would take over the socket."""
