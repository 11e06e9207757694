"""Dates of a drawing, in UTC: their positions in seconds since 1970, and ticks at round times."""

import math
from datetime import UTC, datetime

MINUTE, HOUR, DAY = 60, 3600, 86400
STEPS = (
    *(factor * MINUTE for factor in (1, 5, 15, 30)),
    *(factor * HOUR for factor in (1, 3, 6, 12)),
    *(factor * DAY for factor in (1, 2, 7, 14, 30, 91, 182, 365)),
)


def position(text: str) -> float:
    """Return a date in seconds since 1970."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def ticks(low: float, high: float, number: int) -> list[tuple[float, str]]:
    """Return about `number` (position, text) between two positions."""
    step = next((each for each in STEPS if each >= (high - low) / number), STEPS[-1])
    form = "%Y-%m-%d" if step >= DAY else "%m-%d %H:%M"
    places = range(math.ceil(low / step), math.floor(high / step) + 1)
    return [(place * step, datetime.fromtimestamp(place * step, UTC).strftime(form)) for place in places]
