"""Terminals of the tests: of any width, whatever a process of many was told of the one that it was started from."""

from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient

from sparsight.client import Client
from sparsight.problems import Hints


@pytest.fixture(autouse=True)
def any_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def connected(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands talk to the application."""

    def made(url: str, token: str, hints: Hints, on_outage: Callable[[str], None]) -> Client:
        found = Client("http://test", token, client, hints)
        monkeypatch.setattr(found, "close", lambda: None)
        return found

    monkeypatch.setattr("sparsight.client.Client", made)
