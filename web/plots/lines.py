"""Lines: at most five lines over one axis, named at their ends; template `_lines.html`."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gpu_engine.text.units import count
from web.plots.axis import log_share

WIDTH, HEIGHT = 600, 240
"""Size of the drawing in pixels; the page stretches it, without its texts."""

STEPS = 120
"""Number of segments of a line over the whole axis."""

END_GAP = 17.0
"""Least distance of two names at the right, in pixels."""

RATIO_TICKS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6, 2.0, 3.0, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Line:
    """A line; points: (x, y) in pixels; color: class of its color; end: (x, y) of its name in pixels."""

    name: str
    points: tuple[tuple[float, float], ...]
    color: str
    form: str
    dashed: bool
    end: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Lines:
    """A line plot, all positions in pixels.

    ticks      (x or y, text) of the axes; one: y of the line of 1×, None without it
    cursor     (x, text) of a marked x; None without one
    crossings  (x, y, text) of marked points
    summary    description for screen readers
    """

    heading: str
    note: str
    width: int
    height: int
    x_label: str
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    one: float | None
    lines: tuple[Line, ...]
    cursor: tuple[float, str] | None
    crossings: tuple[tuple[float, float, str], ...]
    summary: str
    kind: str = "lines"


@dataclass(frozen=True, slots=True)
class Curve:
    """A line to draw: the ratio at each x; dashed: whether another line of its color is solid."""

    name: str
    color: str
    form: str
    ratio: Callable[[float], float]
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """Ranges of the two logarithmic axes; a range is (least, largest)."""

    x: tuple[float, float]
    y: tuple[float, float]

    def x_of(self, value: float) -> float:
        """Return the position of a value on the axis at the bottom."""
        return round(WIDTH * log_share(value, *self.x), 1)

    def y_of(self, value: float) -> float:
        """Return the position of a ratio; values beyond the axis are beyond the drawing."""
        return round(HEIGHT * (1 - log_share(value, *self.y)), 1)


def line_plot(
    frame: Frame,
    curves: Sequence[Curve],
    *,
    heading: str,
    note: str,
    x_label: str,
    cursor: tuple[float, str] | None,
    crossings: Iterable[tuple[float, float, str]],
    summary: str,
) -> Lines:
    """Return the plot of ratios; x is logarithmic with a tick per power of ten.

    cursor     (x, text) of a marked value; crossings: (x, ratio, text) of marked points
    """
    ends = _spread([frame.y_of(curve.ratio(frame.x[1])) for curve in curves])
    lines = (
        Line(curve.name, _points(frame, curve), curve.color, curve.form, curve.dashed, (float(WIDTH), end))
        for curve, end in zip(curves, ends, strict=True)
    )
    return Lines(
        heading=heading,
        note=note,
        width=WIDTH,
        height=HEIGHT,
        x_label=x_label,
        x_ticks=tuple((frame.x_of(value), count(value)) for value in _powers(frame.x)),
        y_ticks=tuple((frame.y_of(value), f"{value:g}\u202f×") for value in ratio_ticks(frame.y)),
        one=frame.y_of(1.0) if frame.y[0] <= 1 <= frame.y[1] else None,
        lines=tuple(lines),
        cursor=(frame.x_of(min(max(cursor[0], frame.x[0]), frame.x[1])), cursor[1]) if cursor else None,
        crossings=tuple(
            (frame.x_of(x), frame.y_of(ratio), text) for x, ratio, text in crossings if _within(frame, x, ratio)
        ),
        summary=summary,
    )


def ratio_ticks(ends: tuple[float, float]) -> tuple[float, ...]:
    """Return the ticks of an axis of ratios."""
    return tuple(value for value in RATIO_TICKS if ends[0] <= value <= ends[1])


def ratio_range(ratios: Iterable[float], largest: float) -> tuple[float, float]:
    """Return an axis between two ticks that holds 1 and these ratios, up to `largest`."""
    values = [min(value, largest) for value in (*ratios, 1.0)]
    low = max((tick for tick in RATIO_TICKS if tick <= min(values) * 0.97), default=RATIO_TICKS[0])
    high = min((tick for tick in RATIO_TICKS if tick >= max(values)), default=RATIO_TICKS[-1])
    return low, max(high, 1.2)


def _points(frame: Frame, curve: Curve) -> tuple[tuple[float, float], ...]:
    """Return the part of a line within the drawing, with its ends on the edge."""
    low, high = (math.log10(value) for value in frame.x)
    xs = [10 ** (low + (high - low) * step / STEPS) for step in range(STEPS + 1)]
    every = [(frame.x_of(x), frame.y_of(curve.ratio(x))) for x in xs]
    inside: list[tuple[float, float]] = []
    for before, after in zip([every[0], *every], every, strict=False):
        if _is_visible(before) != _is_visible(after):
            inside.append(_edge(before, after))
        if _is_visible(after):
            inside.append(after)
    return _without_straights(inside)


def _edge(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """Return the point of a segment at the upper or lower edge of the drawing."""
    outer = b[1] if _is_visible(a) else a[1]
    edge = 0.0 if outer < 0 else float(HEIGHT)
    return round(a[0] + (b[0] - a[0]) * (edge - a[1]) / (b[1] - a[1]), 1), edge


def _without_straights(points: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return the points without those inside a horizontal run, which add nothing to the line."""
    last = len(points) - 1
    return tuple(
        point
        for place, point in enumerate(points)
        if place in (0, last) or not points[place - 1][1] == point[1] == points[place + 1][1]
    )


def _spread(ys: Sequence[float]) -> list[float]:
    """Return positions of names near these ends, in the same order, inside the drawing and without overlap."""
    order = sorted(range(len(ys)), key=lambda place: ys[place])
    ends = list(ys)
    for number, place in enumerate(order):
        above = ends[order[number - 1]] + END_GAP if number else 0.0
        ends[place] = max(min(max(ends[place], 0.0), float(HEIGHT)), above)
    below = float(HEIGHT)
    for place in reversed(order):
        ends[place] = round(min(ends[place], below), 1)
        below = ends[place] - END_GAP
    return ends


def _powers(ends: tuple[float, float]) -> tuple[int, ...]:
    return tuple(10**power for power in range(math.ceil(math.log10(ends[0])), math.floor(math.log10(ends[1])) + 1))


def _within(frame: Frame, x: float, ratio: float) -> bool:
    return frame.x[0] <= x <= frame.x[1] and frame.y[0] <= ratio <= frame.y[1]


def _is_visible(point: tuple[float, float]) -> bool:
    return 0 <= point[1] <= HEIGHT
