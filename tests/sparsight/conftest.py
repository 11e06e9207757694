"""Terminals of the tests: of any width, whatever a process of many was told of the one that it was started from."""

import pytest


@pytest.fixture(autouse=True)
def any_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
