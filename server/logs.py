"""Logs: one line of JSON per entry for programs, or text on a terminal. Both include the job."""

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
"""Maximum length of a message and of a trace in characters; both may quote input of strangers."""

_subject: ContextVar[dict[str, str | int] | None] = ContextVar("subject", default=None)


@contextmanager
def about(**fields: str | int) -> Iterator[None]:
    """Add these fields, such as `job`, to all log entries of this thread within the block."""
    before = _subject.get()
    token = _subject.set({**(before or {}), **fields})
    try:
        yield
    finally:
        _subject.reset(token)


class JsonFormatter(logging.Formatter):
    """Formatter that writes `{"time", "level", "logger", "message", …}` on one line, with `trace` after
    an exception.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
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
    """Formatter that writes text, with the trace on separate lines."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, and the lines of the trace."""
        when = datetime.fromtimestamp(record.created).isoformat(sep=" ", timespec="milliseconds")
        subject = "".join(f" {name}={value}" for name, value in (_subject.get() or {}).items())
        line = f"{when} {record.levelname.lower()} {record.name}{subject}: {_shortened(record.getMessage())}"
        lines = [line, *(_trace(record).splitlines() if record.exc_info else [])]
        return "\n".join(_printable(line) for line in lines)


def configure(form: Form) -> None:
    """Send the log entries of this process to standard error. `auto` means text on a terminal and JSON elsewhere."""
    text = form == "text" or (form == "auto" and sys.stderr.isatty())
    handler = logging.StreamHandler()
    handler.setFormatter(TextFormatter() if text else JsonFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    # It logs every connection that it checks.
    logging.getLogger("alembic").setLevel(logging.WARNING)


def _trace(record: logging.LogRecord) -> str:
    """Return the end of the trace, because its last lines name the error."""
    lines = traceback.format_exception(*record.exc_info) if isinstance(record.exc_info, tuple) else []
    return "".join(lines).rstrip()[-MESSAGE_MAX:]


def _shortened(text: str) -> str:
    return text if len(text) <= MESSAGE_MAX else f"{text[:MESSAGE_MAX]}… ({len(text)} characters)"


def _printable(text: str) -> str:
    """Return the text without characters that end a line or control a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
