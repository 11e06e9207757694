"""A value is made once a version, whoever asks for it meanwhile; the last ones are kept."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Event

import pytest

from web.single_flight import SingleFlightCache


def test_all_who_ask_meanwhile_wait_for_the_one_who_came_first() -> None:
    values, calls, asked = SingleFlightCache[int](2), count(1), Event()

    def make() -> int:
        assert asked.wait(60.0)
        return next(calls)

    with ThreadPoolExecutor(8) as threads:
        futures = [threads.submit(values.get, "a", 1, make) for _ in range(8)]
        asked.set()
        assert {future.result() for future in futures} == {1}
    assert values.get("a", 1, make) == 1


def test_another_version_is_made_anew_and_waits_for_nobody() -> None:
    values, begun, ended = SingleFlightCache[str](2), Event(), Event()

    def slow() -> str:
        begun.set()
        assert ended.wait(60.0)
        return "old"

    with ThreadPoolExecutor(1) as threads:
        old = threads.submit(values.get, "a", 1, slow)
        assert begun.wait(60.0)
        assert values.get("a", 2, lambda: "new") == "new"
        ended.set()
        assert old.result() == "old"
    assert values.get("a", 2, lambda: "newer") == "new"


def test_what_could_not_be_made_is_tried_again() -> None:
    values = SingleFlightCache[int](1)
    with pytest.raises(ZeroDivisionError):
        values.get("a", 1, lambda: 1 // 0)
    assert values.get("a", 1, lambda: 7) == 7


def test_what_fails_late_leaves_the_newer_version_where_it_is() -> None:
    values, begun, ended = SingleFlightCache[str](2), Event(), Event()

    def fail() -> str:
        begun.set()
        assert ended.wait(60.0)
        raise ZeroDivisionError

    with ThreadPoolExecutor(1) as threads:
        old = threads.submit(values.get, "a", 1, fail)
        assert begun.wait(60.0)
        assert values.get("a", 2, lambda: "new") == "new"
        ended.set()
        with pytest.raises(ZeroDivisionError):
            old.result()
    assert values.get("a", 2, lambda: "newer") == "new"


def test_the_values_asked_for_last_are_kept() -> None:
    values, calls = SingleFlightCache[int](2), count()
    first, _ = (values.get(key, None, lambda: next(calls)) for key in "ab")
    assert values.get("a", None, lambda: next(calls)) == first
    values.get("c", None, lambda: next(calls))
    assert values.get("a", None, lambda: next(calls)) == first, "asked for after the second one, which is gone"
    assert values.get("b", None, lambda: next(calls)) == 3
