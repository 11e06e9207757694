"""Few answers to GET are computed at a time, in order; who writes or asks whether the service lives waits for none."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from server.turns import READERS, Turns
from tests.loops import finished

Call = Callable[[str, str], Coroutine[Any, Any, None]]

START: Message = {"type": "http.response.start", "status": 200, "headers": []}


class Answers:
    """An application whose answers begin, and end, when the test says so."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.begin, self.end = asyncio.Event(), asyncio.Event()
        self.fails = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked.append(f"{scope['method']} {scope['path']}")
        await self.begin.wait()
        if self.fails:
            raise ZeroDivisionError
        await send(START)
        await self.end.wait()


async def settle() -> None:
    """Lets every task run until it waits."""
    for _ in range(20):
        await asyncio.sleep(0)


async def _receive() -> Message:
    return {"type": "http.request"}


async def _send(_: Message) -> None:
    return None


def run(test: Callable[[Answers, Call], Awaitable[Any]]) -> None:
    """Runs a test with an application and what calls it."""

    async def inside() -> None:
        answers = Answers()
        turns = Turns(answers)

        async def call(method: str, path: str) -> None:
            await turns({"type": "http", "method": method, "path": path}, _receive, _send)

        await test(answers, call)

    finished(inside())


def test_readers_take_turns_in_order_and_writers_wait_for_none() -> None:
    async def test(answers: Answers, call: Call) -> None:
        async with asyncio.TaskGroup() as tasks:
            for number in range(READERS + 2):
                tasks.create_task(call("GET", f"/{number}"))
            await settle()
            first = [f"GET /{number}" for number in range(READERS)]
            assert answers.asked == first
            tasks.create_task(call("POST", "/jobs"))
            tasks.create_task(call("GET", "/healthz"))
            await settle()
            assert answers.asked == [*first, "POST /jobs", "GET /healthz"]
            answers.begin.set()
            await settle()
            # An answer that has begun, and whose guest may read slowly, keeps nobody.
            assert answers.asked[-2:] == [f"GET /{READERS}", f"GET /{READERS + 1}"]
            answers.end.set()

    run(test)


def test_a_turn_ends_where_the_answer_fails_or_its_guest_goes() -> None:
    async def test(answers: Answers, call: Call) -> None:
        gone = [asyncio.ensure_future(call("GET", "/gone")) for _ in range(READERS)]
        waiting = asyncio.ensure_future(call("GET", "/waiting"))
        await settle()
        waiting.cancel()
        for task in gone:
            task.cancel()
        await settle()
        answers.fails = True
        answers.begin.set()
        for _ in range(READERS + 1):
            with pytest.raises(ZeroDivisionError):
                await call("GET", "/failing")
        answers.fails = False
        answers.end.set()
        await asyncio.wait_for(call("GET", "/last"), 10.0)

    run(test)
