"""The client that is awaited: the same calls, the same errors, many at once."""

import asyncio
import threading
from typing import Any

import httpx
import pytest

import sparsight
from gpu_engine import errors
from sparsight import AsyncClient, Client
from tests.loops import finished


def client_of(handler: Any) -> AsyncClient:
    return AsyncClient("http://test", http=httpx.Client(base_url="http://test", transport=httpx.MockTransport(handler)))


def test_calls_are_awaited_and_lists_iterated() -> None:
    pages = {"": {"items": [1, 2], "next": "b"}, "b": {"items": [3], "next": None}}

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/jobs"):
            return httpx.Response(200, json=pages[request.url.params.get("cursor", "")])
        return httpx.Response(200, json={"path": request.url.path})

    async def ask() -> tuple[Any, list[Any]]:
        async with client_of(answer) as client:
            return await client.job("j"), [job async for job in client.jobs(tag="a")]

    assert finished(ask()) == ({"path": "/api/v1/jobs/j"}, [1, 2, 3])


def test_many_calls_go_on_at_once() -> None:
    together = threading.Barrier(3)

    def answer(_: httpx.Request) -> httpx.Response:
        together.wait(60)
        return httpx.Response(200, json={})

    async def ask() -> list[Any]:
        async with client_of(answer) as client:
            return await asyncio.gather(*(client.matrix(str(number)) for number in range(3)))

    assert finished(ask()) == [{}] * 3


def test_errors_are_those_of_the_tree_and_unknown_names_none() -> None:
    problem = {"status": 404, "code": "not_found", "detail": "There is none."}

    async def ask() -> None:
        await client_of(lambda _: httpx.Response(404, json=problem)).job("j")

    with pytest.raises(sparsight.NotFoundError, match="There is none"):
        finished(ask())
    assert sparsight.NotFoundError is errors.NotFoundError
    for name in ("NoSuchError", "quote"):
        with pytest.raises(AttributeError):
            getattr(sparsight, name)
    with pytest.raises(AttributeError):
        client_of(lambda _: httpx.Response(200, json={})).no_such_call()


def test_every_call_of_the_client_is_there() -> None:
    client = client_of(lambda _: httpx.Response(200, json={}))
    for name in vars(Client):
        if not name.startswith("_"):
            assert callable(getattr(client, name))
