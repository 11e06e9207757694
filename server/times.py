"""Moments as documents say them."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import StringConstraints, WithJsonSchema

Time = Annotated[
    str,
    StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A moment as every document says it: ISO 8601, UTC, milliseconds, such as 2026-11-21T09:30:00.000Z."""


def time_of(moment: float | str) -> Time:
    """The moment as a Time: of seconds since 1970, as the database has it, or of any ISO 8601 text with an offset."""
    known = datetime.fromisoformat(moment) if isinstance(moment, str) else datetime.fromtimestamp(moment, UTC)
    return known.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
