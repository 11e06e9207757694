"""The precisions that an iteration can have, each with a colour, a hatching and a marker: any one is enough."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import plotly.graph_objects as go

from web.figures.panels import Legend
from web.palette import OKABE_ITO
from web.runs import Run

WORD_BITS = 64


@dataclass(frozen=True, slots=True)
class Level:
    """A precision as it is drawn."""

    name: str
    color: str
    pattern: str
    symbol: str


LEVELS = (
    Level("16 bit", OKABE_ITO[1], ".", "triangle-up"),
    Level("32 bit", OKABE_ITO[4], "/", "square"),
    Level("48 bit", OKABE_ITO[2], "x", "diamond"),
    Level("64 bit", OKABE_ITO[0], "", "circle"),
    Level("IEEE fp32", OKABE_ITO[3], "-", "cross"),
)
"""Few bits to many; 64 bits are fp64 whether they were segments before or not."""

RUN_RANK = 1
"""Runs come first in a legend."""

CHANGE = Level("change", OKABE_ITO[5], "+", "x")
"""Scaling ‖p‖₁ to 1 and turning segments into fp64."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive iterations of one precision, counted from 0; end: the first one after it."""

    level: Level
    begin: int
    end: int


def level(name: str) -> Level:
    """The precision of that name."""
    return next(entry for entry in LEVELS if entry.name == name)


def level_of(run: Run, segments: float) -> Level:
    """The precision of so many segments of a value of the run."""
    if not run.segments:
        return level("IEEE fp32" if run.precision == "fp32" else "64 bit")
    return level(f"{WORD_BITS // run.segments * int(segments)} bit")


def levels_of(run: Run) -> list[Level]:
    """The precision under which each iteration counts: that of what it writes."""
    return [level_of(run, written) for written in run.array("written")]


def stretches(levels: Sequence[Level]) -> Iterator[Stretch]:
    """The precisions of a run one after the other."""
    begin = 0
    for entry, members in groupby(levels):
        end = begin + sum(1 for _ in members)
        yield Stretch(entry, begin, end)
        begin = end


def listed(entry: Level, legend: Legend) -> dict[str, Any]:
    """The settings of a trace of that precision: once in the legend, behind all runs, few bits first."""
    place = (*LEVELS, CHANGE).index(entry)
    return {**legend.entry(entry.name), "legendrank": RUN_RANK + 1 + place}


def level_bars(entry: Level, bars: Sequence[tuple[str, float, str]], legend: Legend, **options: Any) -> go.Bar:
    """Horizontal bars of one precision; bars: (label of the row, length, what is said on it)."""
    return go.Bar(
        **listed(entry, legend),
        x=[length for _, length, _ in bars],
        y=[label for label, _, _ in bars],
        orientation="h",
        error_x={"visible": False},
        marker=_hatched(entry),
        hovertext=[said for _, _, said in bars],
        hoverinfo="text",
        meta={"role": "kernel"},
        **options,
    )


def _hatched(entry: Level) -> dict[str, Any]:
    """The marker of a bar; the browser gives hatching and outline the ink of its theme."""
    return {
        "color": entry.color,
        "line": {"width": 0},
        "pattern": {"shape": entry.pattern, "fillmode": "overlay", "fgopacity": 0.5, "size": 6},
    }
