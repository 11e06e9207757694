"""Logs: one line an entry whatever it quotes, with the job that it is about."""

import json
import logging
import threading

import pytest

from server.logs import MESSAGE_MAX, JsonFormatter, TextFormatter, about

HOSTILE = "first\nsecond \x1b[2J\u2028third"


def entry(message: str, *values: object, error: BaseException | None = None) -> logging.LogRecord:
    trace = (type(error), error, error.__traceback__) if error else None
    record = logging.LogRecord("server.some", logging.WARNING, "some.py", 1, message, values, trace)
    record.created = 0.5
    return record


def parsed(record: logging.LogRecord) -> dict[str, object]:
    line = JsonFormatter().format(record)
    assert line.isascii()
    assert "\n" not in line
    document: dict[str, object] = json.loads(line)
    return document


def test_an_entry_is_a_line_of_json() -> None:
    document = parsed(entry("the %s", HOSTILE))
    assert document.pop("process")
    assert document == {
        "time": "1970-01-01T00:00:00.500+00:00",
        "level": "warning",
        "logger": "server.some",
        "message": f"the {HOSTILE}",
    }


def test_blocks_name_what_an_entry_is_about_in_their_thread_alone() -> None:
    found: list[object] = []
    with about(job="j", device="cpu"), about(device="cuda:0"):
        inner = parsed(entry("in"))
        thread = threading.Thread(target=lambda: found.append(parsed(entry("elsewhere")).get("job")))
        thread.start()
        thread.join()
    assert (inner["job"], inner["device"]) == ("j", "cuda:0")
    assert found == [None]
    assert "job" not in parsed(entry("after"))


def test_the_end_of_a_trace_is_kept() -> None:
    try:
        raise ValueError("x" * 2 * MESSAGE_MAX + "\nend")
    except ValueError as error:
        document = parsed(entry("failed", error=error))
    assert str(document["trace"]).endswith("x\nend")
    assert len(str(document["trace"])) == MESSAGE_MAX


def test_a_long_message_is_cut_and_says_so() -> None:
    said = str(parsed(entry("y" * 10_000))["message"])
    assert said == "y" * MESSAGE_MAX + "… (10000 characters)"


def test_words_on_a_terminal_cannot_move_it() -> None:
    with about(job="j"):
        line = TextFormatter().format(entry("the %s", HOSTILE))
    assert line.endswith(r" warning server.some job=j: the first\nsecond \x1b[2J\u2028third")


def test_a_trace_on_a_terminal_has_lines_of_its_own() -> None:
    try:
        raise ValueError("\x1b[2J")
    except ValueError as error:
        first, *trace = TextFormatter().format(entry("failed", error=error)).splitlines()
    assert first.endswith(" warning server.some: failed")
    assert (trace[0], trace[-1]) == ("Traceback (most recent call last):", r"ValueError: \x1b[2J")


@pytest.mark.parametrize(("terminal", "form", "is_json"), [(True, "auto", False), (False, "auto", True)])
def test_a_terminal_gets_words(terminal: bool, form: str, is_json: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from server import logs

    given: dict[str, list[logging.Handler]] = {}
    monkeypatch.setattr(logging, "basicConfig", lambda **options: given.update(options))
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    logs.configure(form)  # type: ignore[arg-type]
    assert isinstance(given["handlers"][0].formatter, JsonFormatter) == is_json
