"""Route /events: one stream of server-sent events for everything a browser tab follows, with resume."""

import asyncio
import json
import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import StreamingResponse
from sqlalchemy import or_, select
from sqlalchemy.exc import DBAPIError
from starlette.concurrency import run_in_threadpool

from gpu_engine.errors import NotFoundError, ParameterError, UnavailableError, quote
from server.db import Database
from server.deps import AccessDep, DatabaseDep
from server.events import newest_id
from server.models import EventRow, JobRow, MatrixRow
from server.openapi import Responses, problem_docs
from server.roles import CallerDep

router = APIRouter(tags=["events"])
log = logging.getLogger(__name__)

POLL_S = 0.25
HEARTBEAT_S = 15.0
RECONNECT_MS = 2000
STREAMS_MAX = 200
TOPICS_MAX = 100
EXAMPLE = 'id: 7\nevent: state\ndata: {"topic": "job:5f0c", "state": "running"}\n\n'
BATCH = 500
CATCHING_UP = 2
"""Number of streams that read missed events at a time, so that many reconnecting clients leave threads to other
requests.
"""

TOPIC = re.compile(r"jobs|matrices|(job|matrix):[A-Za-z0-9_-]{1,32}")
STREAM: Responses = {
    200: {
        "description": "Events, until the client disconnects.",
        "content": {"text/event-stream": {"schema": {"type": "string"}, "example": EXAMPLE}},
    }
}
ROWS: dict[str, type[JobRow] | type[MatrixRow]] = {"job": JobRow, "matrix": MatrixRow}
FAMILIES = {"jobs": "job:", "matrices": "matrix:"}
"""Topics that stand for all topics of a kind, with the prefix of those."""


class Streams:
    """Open event streams of one server: count them, stop them with the server, and share one read of the log."""

    def __init__(self) -> None:
        self._open = 0
        self._closing = False
        self.catching_up = asyncio.Semaphore(CATCHING_UP)
        self._turn = asyncio.Event()
        self._is_turning = False
        self._seen = asyncio.Event()
        self._seen.set()
        self._last_id = 0
        self._looked_at = float("-inf")
        self._since = 0
        self._tail: tuple[tuple[int, str, str], ...] = ()

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Yield one open stream. Raises UnavailableError above `STREAMS_MAX`."""
        if self._open >= STREAMS_MAX:
            raise UnavailableError(
                f"The server already has {STREAMS_MAX} open event streams, its limit. Close other tabs."
            )
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    @property
    def number(self) -> int:
        """Return the number of open streams."""
        return self._open

    @property
    def most(self) -> int:
        """Return the maximum number of open streams."""
        return STREAMS_MAX

    @property
    def is_closing(self) -> bool:
        """Return whether the server is stopping."""
        return self._closing

    def close(self) -> None:
        """End every stream. Call it in the thread of the event loop when the server stops."""
        self._closing = True
        self._turn.set()

    async def pause(self) -> None:
        """Wait for the next read of the log, with one timer for all streams; shorter when the server stops."""
        if not self._is_turning:
            self._is_turning = True
            asyncio.get_running_loop().call_later(POLL_S, self._wake)
        await self._turn.wait()

    def _wake(self) -> None:
        self._is_turning = False
        self._turn.set()
        if not self._closing:
            self._turn.clear()

    async def last_id(self, database: Database) -> int:
        """Return the id of the newest event, read at most every `POLL_S` seconds for all streams together."""
        if time.monotonic() - self._looked_at < POLL_S:
            await self._seen.wait()
            return self._last_id
        self._looked_at = time.monotonic()
        self._seen.clear()
        try:
            before = self._last_id
            newest, rows = await run_in_threadpool(_news, database, before)
            self._tail = tuple((event.id, event.topic, _block(event)) for event in rows)
            self._last_id, self._since = newest, before if before and len(rows) < BATCH else newest
        finally:
            self._seen.set()
        return self._last_id

    def news(self, last: int, topics: Sequence[str]) -> list[tuple[int, str]] | None:
        """Return the ids and blocks after that event if the last read of the log contains all of them, else None."""
        if not self._since <= last <= self._last_id:
            return None
        families = tuple(FAMILIES[topic] for topic in topics if topic in FAMILIES)
        return [
            (number, block)
            for number, topic, block in self._tail
            if number > last and (topic in topics or topic.startswith(families))
        ]


async def _streams(request: Request) -> Streams:
    streams: Streams = request.app.state.streams
    return streams


@router.get("/events", response_class=StreamingResponse, responses=STREAM | problem_docs(404))
async def stream_events(
    database: DatabaseDep,
    caller: CallerDep,
    access: AccessDep,
    streams: Annotated[Streams, Depends(_streams)],
    topics: Annotated[str, Query(description="`jobs`, `matrices`, `job:ID`, `matrix:ID`, separated by commas.")],
    after: Annotated[
        str | None, Query(description="Start after the event with this id; default: with the next event.")
    ] = None,
    last_event_id: Annotated[str | None, Header(description="Resume after this event; overrides `after`.")] = None,
) -> StreamingResponse:
    """Stream the events `progress`, `measurement`, `trace`, and `state` of these topics as they are committed."""
    last = _parse_id("after", after) if not last_event_id else _parse_id("Last-Event-ID", last_event_id)
    names = parse_topics(topics)
    await run_in_threadpool(_check, database, names)
    events = _follow(database, streams, names, last, lambda: access.holds(caller))
    # The first block is created here, so that an error becomes a status and not a broken stream.
    first = await anext(events)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_chain(first, events), media_type="text/event-stream", headers=headers)


def parse_topics(text: str) -> list[str]:
    """Return the topics of a comma-separated list; raises ParameterError."""
    topics = list(dict.fromkeys(text.split(",")))
    if len(topics) > TOPICS_MAX:
        raise ParameterError(f"A stream can follow at most {TOPICS_MAX} topics, not {len(topics)}.")
    for topic in topics:
        if not TOPIC.fullmatch(topic):
            raise ParameterError(f"Unknown topic {quote(topic)}. Topics: jobs, matrices, job:ID, and matrix:ID.")
    return topics


def _check(database: Database, topics: Sequence[str]) -> None:
    """Raise NotFoundError for an unknown job or matrix without stored events."""
    with database.read() as session:
        for topic in topics:
            kind, _, name = topic.partition(":")
            there = name == "" or session.get(ROWS[kind], name) is not None
            if not there and session.scalar(select(EventRow.id).where(EventRow.topic == topic).limit(1)) is None:
                raise NotFoundError(f"Unknown {kind} {quote(name)}.")


def _parse_id(name: str, text: str | None) -> int | None:
    if text is None or text == "":
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise ParameterError(f"Invalid {name} {quote(text)}. Use the id of an event, an integer.")
    return int(text)


async def _follow(
    database: Database,
    streams: Streams,
    topics: Sequence[str],
    after: int | None,
    is_allowed: Callable[[], bool],
) -> AsyncIterator[str]:
    """Yield blocks of the stream until its token is revoked or the server stops. It holds no database connection.

    The sender cancels it when the client disconnects.
    """
    with streams.slot():
        newest = await run_in_threadpool(_newest, database)
        # An unknown id comes from another database: follow from now.
        last = newest if after is None or after > newest else after
        yield f"retry: {RECONNECT_MS}\nid: {last}\n\n"
        spoken_at = checked_at = time.monotonic()
        while not streams.is_closing:
            try:
                newest = await streams.last_id(database)
                events = streams.news(last, topics) if newest > last else []
                if events is None:
                    async with streams.catching_up:
                        events = await run_in_threadpool(_after, database, topics, last)
                if time.monotonic() - checked_at >= HEARTBEAT_S:
                    checked_at = time.monotonic()
                    if not await run_in_threadpool(is_allowed):
                        return
            except DBAPIError as error:
                log.warning("closing an event stream, database unavailable: %s", error)
                return
            if events:
                # As one chunk: the cost of a chunk hardly depends on its length.
                yield "".join(block for _, block in events)
                last, spoken_at = events[-1][0], time.monotonic()
            if len(events) < BATCH:
                # Ids commit in ascending order, so that all events up to `newest` have been sent.
                last = max(last, newest)
                await streams.pause()
            if time.monotonic() - spoken_at >= HEARTBEAT_S:
                spoken_at = time.monotonic()
                yield ": still here\n\n"


async def _chain(first: str, rest: AsyncIterator[str]) -> AsyncIterator[str]:
    yield first
    async for block in rest:
        yield block


def _newest(database: Database) -> int:
    with database.read() as session:
        return newest_id(session)


def _news(database: Database, last: int) -> tuple[int, list[EventRow]]:
    """Return the id of the newest event, and the events since the previous newest one."""
    with database.read() as session:
        newest = newest_id(session)
        later = select(EventRow).where(EventRow.id > last, EventRow.id <= newest).order_by(EventRow.id)
        return newest, list(session.scalars(later.limit(BATCH))) if last and newest > last else []


def _after(database: Database, topics: Sequence[str], last: int) -> list[tuple[int, str]]:
    families = [EventRow.topic.startswith(FAMILIES[topic]) for topic in topics if topic in FAMILIES]
    matching = or_(EventRow.topic.in_(topics), *families)
    with database.read() as session:
        rows = session.scalars(select(EventRow).where(EventRow.id > last, matching).order_by(EventRow.id).limit(BATCH))
        return [(event.id, _block(event)) for event in rows]


def _block(event: EventRow) -> str:
    return f"id: {event.id}\nevent: {event.kind}\ndata: {json.dumps({'topic': event.topic, **event.data})}\n\n"
