"""/events over a real server: what is told, in which order, and where a broken stream resumes."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from server import access, tokens
from server.access import Access
from server.connection import Connection
from server.db import Database
from server.errors import install_error_handlers
from server.events import emit, newest_id
from server.guard import Guard
from server.models import Base, EventCounterRow
from server.roles import Role
from server.routes import events
from server.session_cookie import SessionCookie
from server.settings import Settings
from server.tokens import Quotas
from tests.loops import finished
from tests.postgres import DATABASES, fresh

PATIENCE_S = 60.0


class Hasty(Connection):
    patience_s: ClassVar[float] = 0.5


@dataclass
class Site:
    """A running server with nothing but the event stream."""

    url: str
    database: Database
    streams: events.Streams
    server: uvicorn.Server
    thread: threading.Thread

    def emit(self, topic: str, kind: str = "state", **data: Any) -> int:
        with self.database.write() as session:
            emit(session, topic, kind, data)
        with self.database.read() as session:
            return newest_id(session)


@pytest.fixture(params=DATABASES)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    sqlite = request.param == "sqlite"
    database = Database(f"sqlite:///{tmp_path / 'x.db'}" if sqlite else fresh(request.getfixturevalue("postgres")))
    Base.metadata.create_all(database.engine)
    with database.write() as session:
        session.add(EventCounterRow(id=1, value=0))
    app = FastAPI()
    app.state.database, app.state.streams = database, events.Streams()
    app.state.access = Access(database, "")
    app.add_middleware(Guard, settings=Settings(home=tmp_path), access=app.state.access, cookie=SessionCookie("0" * 16))
    install_error_handlers(app)
    app.include_router(events.router)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off", http=Hasty))
    ready = threading.Event()
    startup = server.startup

    async def started(*args: Any, **options: Any) -> None:
        await startup(*args, **options)
        ready.set()

    server.startup = started  # type: ignore[method-assign]
    thread = threading.Thread(target=server.run)
    thread.start()
    assert ready.wait(PATIENCE_S)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield Site(f"http://127.0.0.1:{port}", database, app.state.streams, server, thread)
    server.should_exit = server.force_exit = True
    thread.join()
    database.close()


class Listener:
    """The events of an open stream; the first block, which only names a place, is read already."""

    def __init__(self, response: httpx.Response) -> None:
        self._blocks = self._read(response)
        self.start = next(self._blocks)

    def _read(self, response: httpx.Response) -> Iterator[dict[str, str]]:
        block: dict[str, str] = {}
        for line in response.iter_lines():
            if line:
                name, _, value = line.partition(":")
                block[name] = value.removeprefix(" ")
            elif block:
                yield block
                block = {}

    def next(self) -> tuple[int, str, Any]:
        """(id, kind, data) of the next event."""
        block = next(self._blocks)
        return int(block["id"]), block["event"], json.loads(block["data"])

    def comment(self) -> str:
        return next(self._blocks)[""]

    def ends(self) -> bool:
        return next(self._blocks, None) is None


def listen(site: Site, topics: str, last: int | None = None, **headers: str) -> Any:
    headers |= {} if last is None else {"Last-Event-ID": str(last)}
    return httpx.stream("GET", f"{site.url}/events", params={"topics": topics}, headers=headers, timeout=PATIENCE_S)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Database]:
    """A database with room for events."""
    database = Database(f"sqlite:///{tmp_path / 'log.db'}")
    Base.metadata.create_all(database.engine)
    with database.write() as session:
        session.add(EventCounterRow(id=1, value=0))
    yield database
    database.close()


def test_who_asks_while_another_looks_hears_what_that_one_sees(log: Database) -> None:
    async def ask() -> list[int]:
        streams = events.Streams()
        return await asyncio.gather(*(streams.last_id(log) for _ in range(3)))

    with log.write() as session:
        emit(session, "job:a", "state", {})
    assert finished(ask()) == [1, 1, 1]


def test_what_is_seen_together_is_sent_in_one_piece(log: Database) -> None:
    async def pieces() -> list[str]:
        stream: Any = events._follow(log, events.Streams(), ["job:a"], 0, lambda: True)
        found = [await anext(stream), await anext(stream)]
        await stream.aclose()
        return found

    with log.write() as session:
        for n in range(3):
            emit(session, "job:a", "state", {"n": n})
    start, piece = finished(pieces())
    assert start == "retry: 2000\nid: 0\n\n"
    assert [line for line in piece.splitlines() if line.startswith("id: ")] == ["id: 1", "id: 2", "id: 3"]


def test_streams_that_come_back_together_read_a_few_at_a_time(log: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, most, after = threading.Semaphore(events.CATCHING_UP), [], events._after

    def read(*given: Any) -> Any:
        most.append(reading.acquire(blocking=False))
        found = after(*given)
        reading.release()
        return found

    async def first(streams: events.Streams) -> Any:
        stream: Any = events._follow(log, streams, ["job:a"], 0, lambda: True)
        return [await anext(stream) for _ in range(2)][1]

    async def follow() -> Any:
        streams = events.Streams()
        return await asyncio.gather(*(first(streams) for _ in range(20)))

    monkeypatch.setattr(events, "_after", read)
    with log.write() as session:
        emit(session, "job:a", "state", {})
    assert {told.splitlines()[0] for told in finished(follow())} == {"id: 1"}
    assert most == [True] * 20


def test_all_streams_wait_on_one_timer_and_end_together(monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[float] = []

    async def wait() -> None:
        streams = events.Streams()
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "call_later", lambda delay, _: timers.append(delay))
        waiting = [asyncio.ensure_future(streams.pause()) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(each.done() for each in waiting)
        streams.close()
        await asyncio.gather(*waiting, streams.pause())

    finished(wait())
    assert timers == [events.POLL_S]


def test_a_stream_tells_its_topics_in_the_order_of_their_ids(site: Site) -> None:
    site.emit("job:a", n=0)
    site.emit("matrix:m", n=0)
    with listen(site, "job:a,matrix:m") as response:
        assert response.headers["Content-Type"].startswith("text/event-stream")
        listener = Listener(response)
        assert listener.start == {"retry": "2000", "id": "2"}
        site.emit("job:b", n=1)
        site.emit("job:a", "progress", n=2)
        site.emit("matrix:other", n=3)
        site.emit("matrix:m", n=4)
        assert listener.next() == (4, "progress", {"topic": "job:a", "n": 2})
        assert listener.next() == (6, "state", {"topic": "matrix:m", "n": 4})


def test_a_stream_resumes_after_the_last_event_that_was_seen(site: Site) -> None:
    ids = [site.emit("job:a", n=n) for n in range(5)]
    with listen(site, "job:a", last=ids[1]) as response:
        listener = Listener(response)
        assert [listener.next()[2]["n"] for _ in range(3)] == [2, 3, 4]
        site.emit("job:a", n=5)
        assert listener.next()[2]["n"] == 5


def test_a_first_stream_begins_after_the_event_that_its_page_has_seen(site: Site) -> None:
    ids = [site.emit("job:a", n=n) for n in range(3)]
    params = {"topics": "job:a", "after": str(ids[0])}
    with httpx.stream("GET", f"{site.url}/events", params=params, timeout=PATIENCE_S) as response:
        listener = Listener(response)
        assert [listener.next()[2]["n"] for _ in range(2)] == [1, 2]
    # A broken stream goes on where it broke off.
    headers = {"Last-Event-ID": str(ids[1])}
    with httpx.stream("GET", f"{site.url}/events", params=params, headers=headers, timeout=PATIENCE_S) as response:
        assert Listener(response).next()[2]["n"] == 2
    assert "Invalid after 'x'" in httpx.get(f"{site.url}/events", params=params | {"after": "x"}).json()["detail"]


def test_an_id_that_was_never_given_starts_from_now(site: Site) -> None:
    site.emit("job:a", n=0)
    with listen(site, "job:a", last=10**6) as response:
        listener = Listener(response)
        site.emit("job:a", n=1)
        assert listener.next()[2]["n"] == 1


def test_a_long_backlog_comes_whole(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "BATCH", 3)
    for n in range(10):
        site.emit("job:a", n=n)
        site.emit("job:b", n=n)
    with listen(site, "job:a", last=0) as response:
        listener = Listener(response)
        assert [listener.next()[2]["n"] for _ in range(10)] == list(range(10))


def test_jobs_and_matrices_stand_for_all_of_their_kind(site: Site) -> None:
    with listen(site, "jobs") as of_jobs, listen(site, "matrices") as of_matrices:
        jobs, matrices = Listener(of_jobs), Listener(of_matrices)
        site.emit("job:a")
        site.emit("matrix:m")
        site.emit("job:b")
        assert [jobs.next()[2]["topic"] for _ in range(2)] == ["job:a", "job:b"]
        assert matrices.next()[2]["topic"] == "matrix:m"


def test_an_idle_stream_is_kept_alive(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.0)
    with listen(site, "jobs") as response:
        assert Listener(response).comment() == "still here"


def test_streams_end_when_the_server_stops(site: Site) -> None:
    with listen(site, "jobs") as response:
        listener = Listener(response)
        site.streams.close()
        assert listener.ends()


def test_a_stream_too_many_is_refused_and_a_closed_one_makes_room(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "STREAMS_MAX", 1)
    with listen(site, "jobs") as response:
        # Who lets go of it closes the connection.
        listener = Listener(response)
        refused = httpx.get(f"{site.url}/events", params={"topics": "jobs"}, timeout=PATIENCE_S)
        assert "retry" in listener.start
        assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
        assert "Retry-After" in refused.headers
    room = threading.Event()
    while not room.is_set():
        with listen(site, "jobs") as response:
            if response.status_code == 200:
                room.set()


def test_a_stream_that_is_never_read_is_ended_and_makes_room(site: Site) -> None:
    with (
        listen(site, "jobs") as response,
        socket.create_connection(site.server.servers[0].sockets[0].getsockname()) as silent,
    ):
        listener = Listener(response)
        silent.sendall(b"GET /events?topics=jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        while site.streams.number < 2:
            pass
        # More than any buffer on the way holds.
        while site.streams.number == 2:
            told = site.emit("job:a", text="x" * 2**20)
            assert listener.next()[0] == told  # Who reads misses nothing.
        assert site.emit("job:a", n=1) == listener.next()[0]


@pytest.mark.parametrize("topics", ["", "job", "job:", "jobs,", "job:a b", "study:x", "job:" + "a" * 33, "job:\u0661"])
def test_a_topic_that_is_none_is_refused(site: Site, topics: str) -> None:
    answer = httpx.get(f"{site.url}/events", params={"topics": topics})
    assert answer.status_code == 422
    assert "Topics: jobs, matrices, job:ID, and matrix:ID" in answer.json()["detail"]


def test_too_many_topics_and_odd_ids_are_refused(site: Site) -> None:
    many = ",".join(f"job:{n}" for n in range(101))
    assert httpx.get(f"{site.url}/events", params={"topics": many}).status_code == 422
    for odd in ("x", "-1", "1.5", "9" * 30):
        answer = httpx.get(f"{site.url}/events", params={"topics": "jobs"}, headers={"Last-Event-ID": odd})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_parameter")


@pytest.mark.parametrize("topics", ["job:nope", "jobs,matrix:nope"])
def test_what_is_not_there_cannot_be_followed(site: Site, topics: str) -> None:
    answer = httpx.get(f"{site.url}/events?topics={topics}", timeout=PATIENCE_S)
    kind = topics.rpartition(":")[0].rpartition(",")[2]
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert answer.json()["detail"] == f"Unknown {kind} 'nope'."


@pytest.mark.parametrize("ended", ["revoked", "closed"])
def test_a_stream_ends_when_its_caller_may_no_longer_follow(
    site: Site, monkeypatch: pytest.MonkeyPatch, ended: str
) -> None:
    monkeypatch.setattr(access, "LOOK_S", 0.0)
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.0)
    token = ""
    if ended == "revoked":
        token = tokens.add(site.database, "ci", Role.READ, None, Quotas())
    with listen(site, "jobs", Authorization=f"Bearer {token or 'none'}") as response:
        listener = Listener(response)
        assert listener.comment() == "still here"
        if ended == "revoked":
            tokens.revoke(site.database, "ci")
        else:
            # The first token: whoever had none follows nothing any more.
            tokens.add(site.database, "ci", Role.READ, None, Quotas())
        while not listener.ends():
            pass
