"""What every figure shares: an empty state, text that Plotly shows as it is, axes, and the table beside it."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape as _escape
from typing import Any, Generic, Literal, TypeVar

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.text.tables import Table
from gpu_engine.text.units import THIN, scientific

STEPS = ((1.0,), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 3.0, 4.0, 6.0, 8.0))
TICKS_MIN = 4

POWERS_BELOW = 1e-4
"""With a tick below it all ticks of an axis are powers of ten: `0.0001` beside `10⁻⁶` would be two forms."""

FOUND = 2
"""Most findings in a caption."""

Role = Literal[
    "kernel",
    "point",
    "unsettled",
    "line",
    "roof",
    "floor",
    "gather_floor",
    "density",
    "heat",
    "reason",
    "beyond",
    "busy",
    "profile",
    "gamma",
    "level",
    "histogram",
]
"""What a trace is, in its `meta`: static/paint.js paints each in the theme of the page."""

Info = TypeVar("Info")
"""What a figure draws: a frozen dataclass of numbers and names."""


@dataclass(frozen=True, slots=True)
class Drawing(Generic[Info]):
    """A figure of a matrix, a device or a history; draw: the Plotly figure."""

    name: str
    title: str
    draw: Callable[[Info], go.Figure]


@dataclass(frozen=True, slots=True)
class Figure(Drawing[Info]):
    """A figure of a study: its info is computed once, and drawn, told and tabled from that.

    info          what it shows, from the data of the study
    summary       what there is to see, as `caption` has it; table: its numbers
    matrices_min  with fewer matrices it says nothing; devices_min: with fewer devices
    """

    summary: Callable[[Info], str]
    table: Callable[[Info], Table] | None = None
    matrices_min: int = 1
    devices_min: int = 1
    info: Callable[[StudyData], Info] = field(kw_only=True)


def caption(what: str, found: Iterable[str] = (), more: Iterable[str] = ()) -> str:
    """A summary whose first line is what a page shows below the heading of the figure; what comes after it is folded.

    what   what is drawn, and what is not; found: what there is to see, of which the first FOUND are shown
    more   how it was made, and what it does not say
    """
    seen, rest = list(found), [" ".join(map(str.strip, more))]
    lines = [" ".join(map(str.strip, part)).strip() for part in ((what, *seen[:FOUND]), (*seen[FOUND:], *rest))]
    return "\n".join(filter(None, lines))


def escape(text: str) -> str:
    """Text that Plotly renders literally: it reads tags and entities in every label, and names come from strangers."""
    return _escape(text, quote=False)


def shorten(text: str, limit: int = 24) -> str:
    """Text that fits a title on a narrow screen."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def blank(sentence: str) -> go.Figure:
    """A figure without axes that says why there is nothing to see."""
    figure = go.Figure(layout={"template": "none", "height": 120, "margin": {"l": 8, "r": 8, "t": 8, "b": 8}})
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    figure.add_annotation(text=escape(sentence), x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)
    return figure


@dataclass(frozen=True, slots=True)
class LogAxis:
    """A log axis as Plotly takes it, and the places before and after it for values that have no logarithm."""

    settings: dict[str, Any]
    before: float
    after: float


def log_axis(values: Sequence[float], before: str = "", after: str = "", least_span: float = 10.0) -> LogAxis:
    """A log axis around the positive values, ticks at round numbers of each decade.

    before, after  labels of a place left and right of the values, for zero and infinity; empty: no such place
    least_span     the axis covers at least this factor
    """
    positive = [value for value in values if value > 0 and math.isfinite(value)] or [1.0]
    low, high = min(positive), max(positive)
    margin = max(1.15, math.sqrt(least_span * low / high), (high / low) ** 0.04)
    low, high = low / margin, high * margin
    ticks = _ticks(low, high)
    labels = [_power(tick) if min(ticks) < POWERS_BELOW else _short(tick) for tick in ticks]
    gap = max(2.0, (high / low) ** 0.1)
    ends = low / gap, high * gap
    if before:
        ticks, labels, low = [ends[0], *ticks], [before, *labels], ends[0] / math.sqrt(gap)
    if after:
        ticks, labels, high = [*ticks, ends[1]], [*labels, after], ends[1] * math.sqrt(gap)
    span = [math.log10(low), math.log10(high)]
    return LogAxis({"type": "log", "range": span, "tickvals": ticks, "ticktext": labels}, *ends)


def _ticks(low: float, high: float) -> list[float]:
    """The coarsest steps of a decade that give TICKS_MIN ticks; with many decades not every one has a tick."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = 1 + len(decades) // 10
    ticks: list[float] = []
    for steps in STEPS:
        ticks = [step * 10.0**decade for decade in decades if decade % every == 0 for step in steps]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) >= TICKS_MIN:
            break
    return ticks


def _short(tick: float) -> str:
    """`0.05`, `20`, `5 k`, `10 M`: short enough for the ticks of a narrow screen."""
    factor, symbol = next(((f, s) for f, s in ((1e9, "G"), (1e6, "M"), (1e3, "k")) if tick >= f), (1.0, ""))
    return f"{tick / factor:g}{THIN}{symbol}" if symbol else f"{tick:g}"


def _power(tick: float) -> str:
    """`10⁻⁶`, `2·10⁻⁶`; `1` as it is."""
    return "1" if tick == 1 else scientific(tick).replace(".0·", "·")
