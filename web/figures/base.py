"""Shared pieces of all figures: the empty state, escaped text, log axes, captions, and the classes of a figure."""

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
"""If a tick lies below this, all ticks of the axis are powers of ten, so that `0.0001` never stands next to `10⁻⁶`."""

OBSERVATIONS_MAX = 2
"""Maximum number of observations in the first line of a caption."""

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
"""Role of a trace, stored in its `meta`; figure_svg/colors.py and static/paint.js color each role by theme."""

Info = TypeVar("Info")
"""Numbers and names that a figure draws: a frozen dataclass."""


@dataclass(frozen=True, slots=True)
class Drawing(Generic[Info]):
    """A figure of a matrix, a device, or a history; draw: returns the Plotly figure."""

    name: str
    title: str
    draw: Callable[[Info], go.Figure]


@dataclass(frozen=True, slots=True)
class Figure(Drawing[Info]):
    """A figure of a study, whose info is computed once for the drawing, the summary, and the table.

    info          returns the numbers of the figure from the data of the study
    summary       returns the text of the figure in the form of `caption`; table: returns its numbers
    matrices_min  smallest number of matrices for which the figure makes sense; devices_min: the same for devices
    matrices_max  largest number of matrices for which a page offers it; 0: any number
    """

    summary: Callable[[Info], str]
    table: Callable[[Info], Table] | None = None
    matrices_min: int = 1
    devices_min: int = 1
    matrices_max: int = 0
    info: Callable[[StudyData], Info] = field(kw_only=True)


def caption(what: str, observations: Iterable[str] = (), more: Iterable[str] = ()) -> str:
    """Return a summary whose first line stands below the heading of the figure; further lines are folded.

    what          what the figure shows, and what it omits
    observations  what the reader can see; the first line has up to OBSERVATIONS_MAX of them
    more          method and limits
    """
    visible, details = list(observations), " ".join(filter(None, map(str.strip, more)))
    folded = (*visible[OBSERVATIONS_MAX:], details)
    lines = [" ".join(filter(None, map(str.strip, part))) for part in ((what, *visible[:OBSERVATIONS_MAX]), folded)]
    return "\n".join(filter(None, lines))


def escape(text: str) -> str:
    """Return text that Plotly renders literally: it parses tags and entities in labels, and users choose names."""
    return _escape(text, quote=False)


def shorten(text: str, limit: int = 24) -> str:
    """Return the text, cut to `limit` characters so that it fits a title on a narrow screen."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def blank(sentence: str) -> go.Figure:
    """Return a figure without axes that shows a sentence instead of data."""
    figure = go.Figure(layout={"template": "none", "height": 120, "margin": {"l": 8, "r": 8, "t": 8, "b": 8}})
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    figure.add_annotation(text=escape(sentence), x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)
    return figure


@dataclass(frozen=True, slots=True)
class LogAxis:
    """Settings of a log axis in Plotly, with positions before and after it for values that have no logarithm."""

    settings: dict[str, Any]
    before: float
    after: float


def log_axis(values: Sequence[float], before: str = "", after: str = "", least_span: float = 10.0) -> LogAxis:
    """Return a log axis around the positive values, with ticks at round numbers of each decade.

    before, after  labels of a position left and right of the values, for zero and infinity; empty: no such position
    least_span     minimum factor that the axis covers
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
    """Return the coarsest steps of a decade that give TICKS_MIN ticks; with many decades, some have no tick."""
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
    """Return a tick label for narrow screens: `0.05`, `20`, `5 k`, `10 M`."""
    factor, symbol = next(((f, s) for f, s in ((1e9, "G"), (1e6, "M"), (1e3, "k")) if tick >= f), (1.0, ""))
    return f"{tick / factor:g}{THIN}{symbol}" if symbol else f"{tick:g}"


def _power(tick: float) -> str:
    """Return a tick label as a power of ten, `10⁻⁶` or `2·10⁻⁶`, and `1` as it is."""
    return "1" if tick == 1 else scientific(tick).replace(".0·", "·")
