"""Annotations: the tags and the note that people give a job; nothing that is measured depends on them."""

import json
import re
from collections.abc import Iterable

from sqlalchemy import Text, cast, select
from sqlalchemy.orm import Session

from gpu_engine.errors import ParameterError, quote
from server.models import JobRow

NAMES = ("tags", "note")
"""The fields of a job that are annotations."""

TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
TAGS_MAX = 10
NOTE_MAX = 2000


def clean_tags(tags: Iterable[str]) -> list[str]:
    """The tags, each once, in alphabetical order; raises ParameterError for what is none, and for too many."""
    found = sorted(set(tags))
    for tag in found:
        if not TAG.fullmatch(tag):
            raise ParameterError(
                f"{quote(tag)} is no tag: expected 1 to 40 letters, digits, dots, dashes or underscores."
            )
    if len(found) > TAGS_MAX:
        raise ParameterError(f"{len(found)} tags are given; a job has at most {TAGS_MAX}.")
    return found


def clean_note(note: str) -> str:
    """The note with what can be printed alone; raises ParameterError for one that is too long."""
    if len(note) > NOTE_MAX:
        raise ParameterError(f"The note has {len(note)} characters; at most {NOTE_MAX} are kept.")
    return "".join(c for c in note.replace("\r\n", "\n") if c.isprintable() or c == "\n").strip()


def known_tags(session: Session) -> list[str]:
    """Every tag that a job has, in alphabetical order."""
    # Postgres compares no JSON.
    text = cast(JobRow.tags, Text)
    lists = session.scalars(select(text).where(text != "[]").distinct())
    return sorted({tag for tags in lists for tag in json.loads(tags)})
