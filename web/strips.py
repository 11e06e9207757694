"""Strips: the picture of an answer, a row a kernel, a dot each of its ratios to the best. Server-side SVG."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gpu_engine.findings.answer import Standing

WIDTH, ROW, PAD = 420, 38, 10
"""Pixels of the picture, of a row with its label, and beside the axis."""

TICKS = (1.0, 1.2, 1.5, 2.0, 3.0, 4.0)
"""The last one is where longer times are drawn."""

ONE_DOT = 1.001
"""Ratios that differ by less are one dot."""


@dataclass(frozen=True, slots=True)
class Strip:
    """The ratios of a kernel; mean, low and high in pixels, the interval None of few; beyond: dots past the end."""

    label: str
    color: str
    y: int
    dots: tuple[float, ...]
    mean: float
    low: float | None
    high: float | None
    beyond: int


@dataclass(frozen=True, slots=True)
class Strips:
    """The picture; ticks: (pixels, text)."""

    width: int
    height: int
    ticks: tuple[tuple[float, str], ...]
    rows: tuple[Strip, ...]
    caption: str


def strips(standings: Sequence[Standing], colors: Sequence[str], what: str) -> Strips:
    """The picture of these standings, each in its colour; what: a dot is one of these."""
    longest = max((own.worst[1] for own in standings), default=1.0)
    end = next((tick for tick in TICKS[1:] if tick >= longest), TICKS[-1])
    rows = tuple(
        _strip(own, color, place, end) for place, (own, color) in enumerate(zip(standings, colors, strict=True))
    )
    ticks = tuple((_x(tick, end), f"{tick:g} ×") for tick in TICKS if tick <= end)
    caption = (
        f"A dot is one of the {what}: its time over the best there. The bar is the geometric mean and its interval."
    )
    if rest := sum(row.beyond for row in rows):
        caption += f" {rest} over {end:g}\u00a0× at the end."
    return Strips(WIDTH, ROW * len(rows) + 24, ticks, rows, caption)


def _strip(own: Standing, color: str, place: int, end: float) -> Strip:
    ratios = sorted(ratio for _, ratio in own.ratios)
    distinct = [ratio for place, ratio in enumerate(ratios) if not place or ratio > ONE_DOT * ratios[place - 1]]
    low, high = (None if edge is None else _x(edge, end) for edge in (own.low, own.high))
    beyond = sum(ratio > end for ratio in ratios)
    dots = tuple(dict.fromkeys(_x(ratio, end) for ratio in distinct))
    return Strip(own.label, color, ROW * place + 24, dots, _x(own.mean, end), low, high, beyond)


def _x(ratio: float, end: float) -> float:
    return round(PAD + (WIDTH - 3 * PAD) * math.log(min(max(ratio, 1.0), end)) / math.log(end), 1)
