"""Bars: a small bar chart without axes, one bar per value; macro `bars` of `service.html`."""

from collections.abc import Sequence
from dataclasses import dataclass

LEAST_PX = 1.0
"""Height of the bar of zero, so that the reader sees how many values there are."""


@dataclass(frozen=True, slots=True)
class Bars:
    """A bar chart in pixels; bars: (x, y, width, height)."""

    width: int
    height: int
    bars: tuple[tuple[float, float, float, float], ...]


def bars_of(values: Sequence[float], width: int, height: int, highest: float = 0.0) -> Bars:
    """Return the bars of these values.

    highest  least value that fills the height; 0: the largest of the values does
    """
    top = max([highest, *values], default=0.0) or 1.0
    step = width / max(1, len(values))
    gap = min(2.0, step / 3)
    heights = [max(LEAST_PX, round(height * value / top, 1)) for value in values]
    return Bars(
        width,
        height,
        tuple(
            (round(place * step, 1), round(height - tall, 1), round(step - gap, 1), tall)
            for place, tall in enumerate(heights)
        ),
    )
