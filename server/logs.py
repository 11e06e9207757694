"""Logs: an entry is one line of JSON for programs, or words on a terminal; either says which job it is about."""

import json
import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Literal

Form = Literal["auto", "json", "text"]

MESSAGE_MAX = 4000
"""Longest message of a line, and longest trace: both may quote what strangers sent."""

_subject: ContextVar[dict[str, str | int] | None] = ContextVar("subject", default=None)


@contextmanager
def about(**fields: str | int) -> Iterator[None]:
    """What this thread logs in the block has these fields, such as `job`, beside those of the blocks around it."""
    before = _subject.get()
    token = _subject.set({**(before or {}), **fields})
    try:
        yield
    finally:
        _subject.reset(token)


class JsonFormatter(logging.Formatter):
    """`{"time", "level", "logger", "message", …}` on one line; `trace` where there was an exception."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        entry: dict[str, str | int] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process or 0,
            "message": _shortened(record.getMessage()),
            **(_subject.get() or {}),
        }
        if record.exc_info:
            entry["trace"] = _trace(record)
        # In ASCII: no character of a message ends the line or moves a terminal.
        return json.dumps(entry)


class TextFormatter(logging.Formatter):
    """The same as words, the trace on lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and those of the trace."""
        when = datetime.fromtimestamp(record.created).isoformat(sep=" ", timespec="milliseconds")
        subject = "".join(f" {name}={value}" for name, value in (_subject.get() or {}).items())
        line = f"{when} {record.levelname.lower()} {record.name}{subject}: {_shortened(record.getMessage())}"
        lines = [line, *(_trace(record).splitlines() if record.exc_info else [])]
        return "\n".join(_printable(line) for line in lines)


def configure(form: Form) -> None:
    """Sends what this process logs to standard error; `auto` is text on a terminal and JSON elsewhere."""
    text = form == "text" or (form == "auto" and sys.stderr.isatty())
    handler = logging.StreamHandler()
    handler.setFormatter(TextFormatter() if text else JsonFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    # It tells of every connection that it looks at.
    logging.getLogger("alembic").setLevel(logging.WARNING)


def _trace(record: logging.LogRecord) -> str:
    """The end of the trace: its last lines say what went wrong."""
    lines = traceback.format_exception(*record.exc_info) if isinstance(record.exc_info, tuple) else []
    return "".join(lines).rstrip()[-MESSAGE_MAX:]


def _shortened(text: str) -> str:
    return text if len(text) <= MESSAGE_MAX else f"{text[:MESSAGE_MAX]}… ({len(text)} characters)"


def _printable(text: str) -> str:
    """The text without what ends a line or moves a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
