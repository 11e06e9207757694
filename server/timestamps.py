"""Timestamps of documents."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import StringConstraints, WithJsonSchema

Time = Annotated[
    str,
    StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""Timestamp in documents: ISO 8601, UTC, milliseconds, such as 2026-11-21T09:30:00.000Z."""


def time_of(moment: float | str) -> Time:
    """Return a Time from seconds since 1970, as in the database, or from an ISO 8601 text with an offset."""
    known = datetime.fromisoformat(moment) if isinstance(moment, str) else datetime.fromtimestamp(moment, UTC)
    return known.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
