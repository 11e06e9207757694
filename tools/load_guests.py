"""Long requests to a service under load: event streams, read or not, and a large upload."""

import asyncio
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx

ROW_ENTRIES = 1000
PATIENCE_S = 120.0


def market(rows: int, comment: str) -> Iterator[str]:
    """Yield a Matrix Market file of `rows` rows of ROW_ENTRIES nonzeros each, row by row; 30 bytes per nonzero."""
    yield f"%%MatrixMarket matrix coordinate real general\n%{comment}\n{rows} {ROW_ENTRIES} {rows * ROW_ENTRIES}\n"
    tails = [f" {column} {1 / (column + 0.5):.17f}\n" for column in range(1, ROW_ENTRIES + 1)]
    for row in range(1, rows + 1):
        yield f"{row}" + f"{row}".join(tails)


def upload_large(address: str, size: int, comment: str) -> tuple[int, float]:
    """Upload a file of about `size` bytes and delete its matrix; return its status and its seconds."""
    boundary = "0123456789abcdef"
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="large.mtx"\r\n\r\n'

    def body() -> Iterator[bytes]:
        yield head.encode()
        for text in market(size // (30 * ROW_ENTRIES), comment):
            yield text.encode()
        yield f"\r\n--{boundary}--\r\n".encode()

    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    with httpx.Client(base_url=address, timeout=PATIENCE_S) as http:
        began = time.perf_counter()
        answer = http.post("/api/v1/matrices", content=body(), headers=headers)
        took = time.perf_counter() - began
        if answer.is_success:
            there = f"/api/v1/matrices/{answer.json()['id']}"
            while http.get(there).json()["state"] == "ingesting":
                time.sleep(1.0)
            http.delete(there)
        return answer.status_code, took


class Followers:
    """Open event streams, each of all events since the first."""

    def __init__(self, address: str, number: int) -> None:
        parts = urlsplit(address)
        self._place = (parts.hostname, parts.port)
        self._request = f"GET /api/v1/events?topics=jobs,matrices&after=0 HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n"
        self.bytes = 0
        self._heard: dict[socket.socket, int] = {}
        self._silent: list[socket.socket] = []
        self._reading = [self._follow() for _ in range(number)]
        self._readers = [asyncio.create_task(self._read(client)) for client in self._reading]

    def leave(self, number: int) -> None:
        """Close `number` of the streams that are read."""
        for _ in range(number):
            self._readers.pop().cancel()
            self._reading.pop().close()

    def fall_silent(self, number: int) -> None:
        """Open `number` streams that are never read, with small receive buffers."""
        self._silent = [self._follow(4096) for _ in range(number)]

    def _follow(self, buffer: int = 2**16) -> socket.socket:
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        client.connect(self._place)
        client.sendall(self._request.encode())
        client.setblocking(False)
        return client

    async def _read(self, client: socket.socket) -> None:
        while data := await asyncio.get_running_loop().sock_recv(client, 2**16):
            self.bytes += len(data)
            _, separator, rest = data.rpartition(b"id: ")
            number, ended, _ = rest.partition(b"\n")
            if separator and ended:
                self._heard[client] = int(number)

    def have_heard(self, event: int) -> bool:
        """Return whether all readers have received this event."""
        return all(self._heard.get(client, 0) >= event for client in self._reading)

    @property
    def broken(self) -> int:
        """Return how many of the read streams the server has closed."""
        return sum(reader.done() for reader in self._readers)

    def close(self) -> None:
        """Close all streams."""
        self.leave(len(self._readers))
        for client in self._silent:
            client.close()
