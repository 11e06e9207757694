"""/events: one stream of server-sent events for everything a tab follows; it resumes where it broke off."""

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
"""How many streams at a time read what they have missed: many that come back together leave threads to calls."""

TOPIC = re.compile(r"jobs|matrices|(job|matrix):[A-Za-z0-9_-]{1,32}")
STREAM: Responses = {
    200: {
        "description": "Events, until the caller leaves.",
        "content": {"text/event-stream": {"schema": {"type": "string"}, "example": EXAMPLE}},
    }
}
ROWS: dict[str, type[JobRow] | type[MatrixRow]] = {"job": JobRow, "matrix": MatrixRow}
FAMILIES = {"jobs": "job:", "matrices": "matrix:"}
"""Topics that stand for all of a kind, and how those begin."""


class Streams:
    """The open streams of one server: counts them, wakes them when the server stops, shares one look at the log."""

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
        """One open stream; raises UnavailableError past `STREAMS_MAX`."""
        if self._open >= STREAMS_MAX:
            raise UnavailableError(f"{STREAMS_MAX} event streams are open, as many as there can be. Close other tabs.")
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    @property
    def number(self) -> int:
        """How many are open."""
        return self._open

    @property
    def most(self) -> int:
        """How many may be open."""
        return STREAMS_MAX

    @property
    def is_closing(self) -> bool:
        """Whether the server stops."""
        return self._closing

    def close(self) -> None:
        """Ends every stream; call it in the event loop's thread when the server is told to stop."""
        self._closing = True
        self._turn.set()

    async def pause(self) -> None:
        """Waits for the next look, one timer for all streams; shorter when the server stops."""
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
        """Id of the newest event, read at most every `POLL_S` seconds however many streams ask."""
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
        """Ids and blocks after that event where the last look at the log found them all, else None."""
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
    after: Annotated[str | None, Query(description="Begins after the event with this id, else with the next.")] = None,
    last_event_id: Annotated[str | None, Header(description="Resumes after this event, whatever `after` says.")] = None,
) -> StreamingResponse:
    """Events `progress`, `measurement`, `trace` and `state` of these topics, as they are committed."""
    last = _parse_id("after", after) if not last_event_id else _parse_id("Last-Event-ID", last_event_id)
    wanted = parse_topics(topics)
    await run_in_threadpool(_check, database, wanted)
    events = _follow(database, streams, wanted, last, lambda: access.holds(caller))
    # The first block is made here, so that a refusal is still a status and not a broken stream.
    first = await anext(events)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_chain(first, events), media_type="text/event-stream", headers=headers)


def parse_topics(text: str) -> list[str]:
    """The topics of a comma-separated list; raises ParameterError."""
    topics = list(dict.fromkeys(text.split(",")))
    if len(topics) > TOPICS_MAX:
        raise ParameterError(f"{len(topics)} topics are too many; at most {TOPICS_MAX} can be followed in one stream.")
    for topic in topics:
        if not TOPIC.fullmatch(topic):
            raise ParameterError(f"There is no topic {quote(topic)}; topics are jobs, matrices, job:ID and matrix:ID.")
    return topics


def _check(database: Database, topics: Sequence[str]) -> None:
    """Raises NotFoundError for a job or matrix that neither is there nor has left events."""
    with database.read() as session:
        for topic in topics:
            kind, _, name = topic.partition(":")
            there = name == "" or session.get(ROWS[kind], name) is not None
            if not there and session.scalar(select(EventRow.id).where(EventRow.topic == topic).limit(1)) is None:
                raise NotFoundError(f"There is no {kind} {quote(name)} to follow.")


def _parse_id(name: str, text: str | None) -> int | None:
    if text is None or text == "":
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise ParameterError(f"{name} is {quote(text)}; expected the id of an event, a whole number.")
    return int(text)


async def _follow(
    database: Database,
    streams: Streams,
    topics: Sequence[str],
    after: int | None,
    is_allowed: Callable[[], bool],
) -> AsyncIterator[str]:
    """Blocks of the stream until its token ends or the server stops; it holds no connection.

    Who sends them cancels this when the client leaves.
    """
    with streams.slot():
        newest = await run_in_threadpool(_newest, database)
        # An id that this database never gave is from another one: follow from now.
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
                log.warning("an event stream ends, the database does not answer: %s", error)
                return
            if events:
                # In one piece: what a piece costs hardly depends on its length.
                yield "".join(block for _, block in events)
                last, spoken_at = events[-1][0], time.monotonic()
            if len(events) < BATCH:
                # Ids commit in ascending order: whatever is not above `newest` has been seen.
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
    """Id of the newest event, and those up to it that came after the one that was the newest before."""
    with database.read() as session:
        newest = newest_id(session)
        later = select(EventRow).where(EventRow.id > last, EventRow.id <= newest).order_by(EventRow.id)
        return newest, list(session.scalars(later.limit(BATCH))) if last and newest > last else []


def _after(database: Database, topics: Sequence[str], last: int) -> list[tuple[int, str]]:
    families = [EventRow.topic.startswith(FAMILIES[topic]) for topic in topics if topic in FAMILIES]
    wanted = or_(EventRow.topic.in_(topics), *families)
    with database.read() as session:
        rows = session.scalars(select(EventRow).where(EventRow.id > last, wanted).order_by(EventRow.id).limit(BATCH))
        return [(event.id, _block(event)) for event in rows]


def _block(event: EventRow) -> str:
    return f"id: {event.id}\nevent: {event.kind}\ndata: {json.dumps({'topic': event.topic, **event.data})}\n\n"
