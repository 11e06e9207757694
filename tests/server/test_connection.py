"""Connections that keep the server waiting: closed in time, and never in the way of others."""

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest
import uvicorn
from uvicorn.server import ServerState

from server import connection
from server.connection import HEAD_BYTES, OPTIONS, RATE_BYTES_S, REFUSAL, Connection
from tests.loops import finished

HEAD = b"GET / HTTP/1.1\r\nHost: a\r\n"
UPLOAD = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n"


async def application(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


class Clock:
    """A loop whose time passes when a test says so; tasks never run."""

    def __init__(self) -> None:
        self.now = 0.0
        self._calls: list[tuple[float, Callable[[], None], asyncio.TimerHandle]] = []
        self._loop = asyncio.new_event_loop()

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, call: Callable[[], None]) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(0, call, (), self._loop)
        self._calls.append((self.now + delay, call, handle))
        return handle

    def create_task(self, task: Coroutine[Any, Any, None]) -> Any:
        task.close()
        return asyncio.Future(loop=self._loop)

    def wait(self, seconds: float) -> None:
        self.now += seconds
        due = [entry for entry in self._calls if entry[0] <= self.now]
        self._calls = [entry for entry in self._calls if entry[0] > self.now]
        for _, call, handle in due:
            if not handle.cancelled():
                call()

    def close(self) -> None:
        self._loop.close()


class Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.closed = False
        self.written = b""
        self.unsent = 0

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        # As in asyncio: it stays open until the rest is read.
        self.closed = not self.unsent

    def abort(self) -> None:
        self.closed = True

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def write(self, data: Any) -> None:
        self.written += data

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


class Lobby:
    """Connections of one server."""

    def __init__(self) -> None:
        self.clock, self.state = Clock(), ServerState()
        self.config = uvicorn.Config(application, **OPTIONS)

    def connect(self, data: bytes = b"", kind: type[Connection] = Connection) -> tuple[Connection, Transport]:
        transport = Transport()
        made = kind(self.config, self.state, {}, self.clock)  # type: ignore[arg-type]
        made.connection_made(transport)
        if data:
            made.data_received(data)
        return made, transport


@pytest.fixture
def lobby() -> Iterator[Lobby]:
    lobby = Lobby()
    yield lobby
    lobby.clock.close()


@pytest.mark.parametrize("data", [b"", b"G", HEAD])
def test_a_head_has_its_time(lobby: Lobby, data: bytes) -> None:
    made, transport = lobby.connect(data)
    lobby.clock.wait(connection.PATIENCE_S - 1)
    if data:
        made.data_received(b"X")  # Another byte now and then buys no time.
    assert not transport.closed
    lobby.clock.wait(1)
    assert transport.closed


def answered(lobby: Lobby) -> tuple[Connection, Transport]:
    """A connection between two requests."""
    made, transport = lobby.connect(HEAD + b"\r\n")
    finished(made.cycle.run_asgi(application))
    assert transport.written.endswith(b"ok")
    return made, transport


def test_between_two_requests_a_connection_stays_longer_than_a_proxy_keeps_it(lobby: Lobby) -> None:
    _, transport = answered(lobby)
    lobby.clock.wait(74)
    assert not transport.closed
    lobby.clock.wait(1)
    assert transport.closed


def test_each_head_has_its_time(lobby: Lobby) -> None:
    made, transport = answered(lobby)
    lobby.clock.wait(74)
    made.data_received(b"G")
    lobby.clock.wait(connection.PATIENCE_S - 1)
    made.data_received(b"E")
    assert not transport.closed
    lobby.clock.wait(1)
    assert transport.closed


def test_an_answer_has_all_the_time(lobby: Lobby) -> None:
    _, transport = lobby.connect(HEAD + b"\r\n")
    for _ in range(100):
        lobby.clock.wait(3600)
    assert not transport.closed


def test_a_body_has_to_flow(lobby: Lobby) -> None:
    made, transport = lobby.connect(UPLOAD + b"\r\n")
    enough = b"x" * int(RATE_BYTES_S * connection.PATIENCE_S)
    for _ in range(1000):
        made.data_received(enough)
        made.cycle.body.clear()  # It is read.
        lobby.clock.wait(connection.PATIENCE_S)
        assert not transport.closed
    made.data_received(enough[:-1])
    lobby.clock.wait(connection.PATIENCE_S)
    assert transport.closed


def test_a_client_does_not_pay_for_our_slowness(lobby: Lobby) -> None:
    full, unread = lobby.connect(UPLOAD + b"\r\n" + b"x" * 2**17)
    waiting, unasked = lobby.connect(UPLOAD + b"Expect: 100-continue\r\n\r\n")
    for _ in range(10):
        lobby.clock.wait(connection.PATIENCE_S)
    assert not unread.closed
    assert not unasked.closed
    full.cycle.body.clear()
    full.flow.resume_reading()
    waiting.cycle.waiting_for_100_continue = False
    lobby.clock.wait(connection.PATIENCE_S)
    lobby.clock.wait(connection.PATIENCE_S)
    assert unread.closed
    assert unasked.closed


def test_an_answer_has_to_be_read(lobby: Lobby) -> None:
    made, transport = lobby.connect(HEAD + b"\r\n")
    enough = int(RATE_BYTES_S * connection.PATIENCE_S)
    transport.unsent = 1000 * enough
    made.pause_writing()
    for _ in range(999):
        transport.unsent -= enough
        lobby.clock.wait(connection.PATIENCE_S)
        assert not transport.closed
    transport.unsent -= enough - 1
    lobby.clock.wait(connection.PATIENCE_S)
    assert transport.closed


def test_the_end_of_an_answer_has_to_be_read(lobby: Lobby) -> None:
    _, transport = lobby.connect()
    transport.unsent = 1
    transport.close()
    assert not transport.closed
    lobby.clock.wait(connection.PATIENCE_S)
    assert transport.closed


class Three(Connection):
    most: ClassVar[int] = 3


def test_the_longest_idle_makes_room(lobby: Lobby) -> None:
    busy = lobby.connect(HEAD + b"\r\n", Three)[1]
    lobby.clock.wait(1)
    idle = lobby.connect(HEAD, Three)[1]
    lobby.clock.wait(1)
    later = lobby.connect(b"", Three)[1]
    new = lobby.connect(HEAD + b"\r\n", Three)[1]
    assert [t.closed for t in (busy, idle, later, new)] == [False, True, False, False]


def test_where_all_are_busy_new_ones_are_refused_and_the_log_says_so_once(
    lobby: Lobby, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection, "_logged_at", float("-inf"))
    busy = [lobby.connect(HEAD + b"\r\n", Three)[1] for _ in range(3)]
    refused = [lobby.connect(b"", Three)[1] for _ in range(3)]
    assert [(t.closed, t.written) for t in refused] == [(True, REFUSAL)] * 3
    assert not any(t.closed for t in busy)
    (line,) = [record.getMessage() for record in caplog.records]
    assert line == "connection limit reached (3); refusing new connections"


def test_files_are_left_for_what_connections_need(monkeypatch: pytest.MonkeyPatch) -> None:
    for files, most in ((1024, 512), (100_000, 1000)):
        monkeypatch.setattr("resource.getrlimit", lambda _, files=files: (files, files))
        assert connection.connections_max() == most


class Hasty(Connection):
    patience_s: ClassVar[float] = 0.1


@contextmanager
def serving(kind: type[Connection], app: Any = application) -> Iterator[Callable[..., socket.socket]]:
    """A server with such connections; yields how to connect to it, with a buffer of so many bytes."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", **{**OPTIONS, "http": kind}))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()

    def connect(buffer: int = 2**16) -> socket.socket:
        client = socket.socket()
        client.settimeout(60)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        client.connect(listener.getsockname())
        return client

    try:
        yield connect
    finally:
        server.should_exit = True
        thread.join()


def received(client: socket.socket) -> bytes:
    """All that comes until the server closes."""
    return b"".join(iter(lambda: client.recv(2**16), b""))


def test_sockets_are_closed_and_others_served() -> None:
    with serving(Hasty) as connect:
        for data in (b"", HEAD, UPLOAD + b"\r\nx", HEAD + b"\r\n" + HEAD):
            with connect() as client:
                client.sendall(data)
                assert (b"200 OK" in received(client)) == data.startswith(HEAD + b"\r\n")
        with connect() as client:
            client.sendall(HEAD + b"Connection: close\r\n\r\n")
            assert received(client).endswith(b"ok")


def test_what_the_system_holds_of_an_answer_has_to_be_read() -> None:
    """Its buffers take all that a stream has to say, so that nothing is left here which would not go away."""
    left = threading.Event()

    class Leaving(Hasty):
        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            left.set()

    async def stream(_scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": bytes(10**5), "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass

    with serving(Leaving, stream) as connect, connect(4096) as client:
        client.sendall(HEAD + b"\r\n")
        assert left.wait(60)


@pytest.mark.parametrize("endless", [b"GET /", HEAD + b"A: ", HEAD + b"A: b\r\n"])
def test_a_head_without_an_end_is_cut_off(endless: bytes) -> None:
    with serving(Connection) as connect, connect() as client:
        line = endless[-6:] if endless.endswith(b"\n") else b"a"
        client.sendall(endless + line * (HEAD_BYTES // len(line) + 1))
        assert received(client).startswith(b"HTTP/1.1 400 ")
