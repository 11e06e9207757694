"""Dot plots of an overall ranking: one row per kernel, one dot per slowdown. Server-side SVG."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gpu_engine.findings.overall_ranking import KernelSummary
from gpu_engine.findings.overall_ranking_text import SINGULAR

WIDTH, ROW, PAD = 420, 38, 10
"""Width of the plot, height of a row with its label, and padding of the axis, in pixels."""

TICKS = (1.0, 1.2, 1.5, 2.0, 3.0, 4.0)
"""Ticks of the slowdown axis; larger values are drawn at the last one."""

ONE_DOT = 1.001
"""Slowdowns that differ by a smaller factor share a dot."""


@dataclass(frozen=True, slots=True)
class DotRow:
    """The slowdowns of a kernel; dots, mean, low, and high in pixels; beyond: number of values past the end.

    low, high  ends of the confidence interval; None if there are too few values
    """

    label: str
    color: str
    y: int
    dots: tuple[float, ...]
    mean: float
    low: float | None
    high: float | None
    beyond: int


@dataclass(frozen=True, slots=True)
class DotPlot:
    """A dot plot; ticks: (pixels, text)."""

    width: int
    height: int
    ticks: tuple[tuple[float, str], ...]
    rows: tuple[DotRow, ...]
    caption: str


def dot_plot(standings: Sequence[KernelSummary], colors: Sequence[str], what: str) -> DotPlot:
    """Return the dot plot of these kernels, each in its color.

    what  plural noun of the dots, such as `matrices`
    """
    longest = max((standing.worst[1] for standing in standings), default=1.0)
    end = next((tick for tick in TICKS[1:] if tick >= longest), TICKS[-1])
    rows = tuple(
        _row(standing, color, index, end) for index, (standing, color) in enumerate(zip(standings, colors, strict=True))
    )
    ticks = tuple((_x(tick, end), f"{tick:g} ×") for tick in TICKS if tick <= end)
    dot = SINGULAR.get(what, what)
    with_ci = " with 95 % CI" if any(standing.low for standing in standings) else ""
    caption = f"Each dot is one {dot}: slowdown against its fastest kernel. Bar: geometric mean{with_ci}."
    if rest := sum(row.beyond for row in rows):
        caption += f" {rest} values above {end:g}\u00a0× are at the end."
    return DotPlot(WIDTH, ROW * len(rows) + 24, ticks, rows, caption)


def _row(standing: KernelSummary, color: str, index: int, end: float) -> DotRow:
    ratios = sorted(ratio for _, ratio in standing.ratios)
    distinct = [ratio for place, ratio in enumerate(ratios) if not place or ratio > ONE_DOT * ratios[place - 1]]
    low, high = (None if edge is None else _x(edge, end) for edge in (standing.low, standing.high))
    beyond = sum(ratio > end for ratio in ratios)
    dots = tuple(dict.fromkeys(_x(ratio, end) for ratio in distinct))
    return DotRow(standing.label, color, ROW * index + 24, dots, _x(standing.mean, end), low, high, beyond)


def _x(ratio: float, end: float) -> float:
    return round(PAD + (WIDTH - 3 * PAD) * math.log(min(max(ratio, 1.0), end)) / math.log(end), 1)
