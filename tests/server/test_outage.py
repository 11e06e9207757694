"""Outage: what fails many times a second is three lines, not thousands."""

import logging

import pytest

from server.outage import Outage

log = logging.getLogger("test")


def test_an_outage_is_logged_when_it_begins_once_a_minute_and_when_it_ends(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now_s = 1000.0
    monkeypatch.setattr("server.outage.time.monotonic", lambda: now_s)
    told = Outage(log, "away")
    told.succeeded()
    for _ in range(1000):
        told.failed(OSError("gone"))
        now_s += 0.125
    told.succeeded()
    told.succeeded()
    assert [record.getMessage() for record in caplog.records] == [
        "away: gone", "away: gone", "away: gone", "away: recovered after 125 s"
    ]  # fmt: skip
    # One failure alone is no outage that ends.
    told.failed(OSError("again"))
    told.succeeded()
    assert [record.getMessage() for record in caplog.records][4:] == ["away: again"]
