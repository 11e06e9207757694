"""Annotations: tags and note of a job. They do not affect measurements."""

import json
import re
from collections.abc import Iterable

from sqlalchemy import Text, cast, select
from sqlalchemy.orm import Session

from gpu_engine.errors import ParameterError, quote
from server.models import JobRow

NAMES = ("tags", "note")
"""Fields of a job that are annotations."""

TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
TAGS_MAX = 10
NOTE_MAX = 2000


def clean_tags(tags: Iterable[str]) -> list[str]:
    """Return the tags without duplicates, in alphabetical order. Raises ParameterError for an invalid tag, and for too
    many.
    """
    distinct = sorted(set(tags))
    for tag in distinct:
        if not TAG.fullmatch(tag):
            raise ParameterError(
                f"Invalid tag {quote(tag)}. Use 1 to 40 letters, digits, dots, dashes, or underscores."
            )
    if len(distinct) > TAGS_MAX:
        raise ParameterError(f"{len(distinct)} tags are given; a job has at most {TAGS_MAX}.")
    return distinct


def clean_note(note: str) -> str:
    """Return the printable characters of the note. Raises ParameterError if it is too long."""
    if len(note) > NOTE_MAX:
        raise ParameterError(f"The note has {len(note)} characters; the limit is {NOTE_MAX}.")
    return "".join(c for c in note.replace("\r\n", "\n") if c.isprintable() or c == "\n").strip()


def known_tags(session: Session) -> list[str]:
    """Return all tags of all jobs, in alphabetical order."""
    # Postgres cannot compare JSON.
    text = cast(JobRow.tags, Text)
    lists = session.scalars(select(text).where(text != "[]").distinct())
    return sorted({tag for tags in lists for tag in json.loads(tags)})
