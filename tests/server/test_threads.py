"""A call waits for one thread of the server's, where it reads: each that it waits for has a queue of its own."""

from collections.abc import Callable
from typing import Any

import anyio.to_thread
import pytest
from fastapi.testclient import TestClient

READING = ("/", "/jobs", "/formats", "/docs/api", "/api/v1/jobs", "/api/v1/matrices", "/api/v1/formats")


@pytest.mark.parametrize("path", READING)
def test_a_call_that_reads_waits_for_one_thread(client: TestClient, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    # The first look for tokens reads, and holds for a while.
    client.get(path)
    waits, run_sync = [], anyio.to_thread.run_sync

    async def counted(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        waits.append(function)
        return await run_sync(function, *args, **options)

    monkeypatch.setattr("server.access.LOOK_S", float("inf"))
    monkeypatch.setattr(anyio.to_thread, "run_sync", counted)
    assert client.get(path, headers={"Accept": "text/html"}).status_code == 200
    assert len(waits) == 1
