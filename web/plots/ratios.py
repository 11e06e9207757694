"""Ratios: one dot per matrix over a logarithmic axis, sorted by its ratio; template `_ratios.html`."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from gpu_engine.text import units
from web.plots.axis import log_share, ratio_text

HEIGHT_PX, EDGE_PX = 196, 8
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)
TICK_GAP_PX = 18
BEYOND = 4.0
"""Multiple of the median where the axis ends at the latest; dots beyond it lie on its end."""


@dataclass(frozen=True, slots=True)
class RatioDot:
    """A dot; x: percent of the width; y: pixels; verdict: `faster`, `slower`, or `same`; title: its values."""

    x: float
    y: float
    verdict: str
    title: str


@dataclass(frozen=True, slots=True)
class Ratios:
    """A plot of ratios; ticks: (y in pixels, text); one: y of the line of 1×; summary: for screen readers."""

    height: int
    dots: tuple[RatioDot, ...]
    ticks: tuple[tuple[float, str], ...]
    one: float
    label: str
    summary: str


def ratio_plot(points: Sequence[tuple[float, str, str]], label: str, summary: str) -> Ratios:
    """Return the plot of (ratio, verdict, title), in the given order; `label` describes the horizontal axis."""
    ratios = [ratio for ratio, _, _ in points]
    low = min(0.95, *ratios)
    high = max(1.25, min(max(ratios), BEYOND * median(ratios)))

    def y(ratio: float) -> float:
        share = log_share(min(max(ratio, low), high), low, high)
        return round(EDGE_PX + (1 - share) * (HEIGHT_PX - 2 * EDGE_PX), 1)

    dots = (
        RatioDot(round(100 * (place + 0.5) / len(points), 2), y(ratio), verdict, title)
        for place, (ratio, verdict, title) in enumerate(points)
    )
    ticks = [(y(tick), units.ratio(tick) if tick < 0.1 else ratio_text(tick)) for tick in _ticks(low, high)]
    return Ratios(HEIGHT_PX, tuple(dots), _apart(ticks, y(1.0)), y(1.0), label, summary)


def _ticks(low: float, high: float) -> list[float]:
    return [tick for tick in TICKS if low <= tick <= high]


def _apart(ticks: Sequence[tuple[float, str]], one: float) -> tuple[tuple[float, str], ...]:
    """Return the ticks that are far enough from each other; that of 1× stays."""
    apart = list(ticks)
    while near := next((pair for pair in pairwise(apart) if pair[0][0] - pair[1][0] < TICK_GAP_PX), None):
        apart.remove(near[0] if near[1][0] == one else near[1])
    return tuple(apart)
