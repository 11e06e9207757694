"""The precisions that an iteration can have, each with a colour, a hatching and a marker: any one is enough."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import plotly.graph_objects as go

from gpu_engine.findings.pagerank.runs import Run
from web.figures import marks
from web.figures.base import escape
from web.figures.marks import Mark, hover
from web.figures.panels import Legend
from web.palette import OKABE_ITO

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
"""Scaling ‖p‖₁ to 1, turning segments into fp64, and adding what mends the ranks."""


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
    """The precision of so many segments of a value of the run, or of a pass of a refinement."""
    if not run.precisions:
        return level("IEEE fp32" if run.precision == "fp32" else "64 bit")
    return level(f"{WORD_BITS // run.precisions * int(segments)} bit")


def levels_of(run: Run) -> list[Level]:
    """The precision under which each iteration counts: that of what it writes."""
    written = run.array("written")
    # A run has hundreds of iterations and at most four levels.
    known = {segments: level_of(run, segments) for segments in set(written)}
    return [known[segments] for segments in written]


def stretches(levels: Sequence[Level]) -> Iterator[Stretch]:
    """The precisions of a run one after the other."""
    begin = 0
    for entry, members in groupby(levels):
        end = begin + sum(1 for _ in members)
        yield Stretch(entry, begin, end)
        begin = end


def legend_entry(entry: Level, legend: Legend) -> dict[str, Any]:
    """The settings of a trace of that precision: once in the legend, behind all runs, few bits first."""
    place = (*LEVELS, CHANGE).index(entry)
    return {**legend.entry(entry.name), "legendrank": RUN_RANK + 1 + place}


def level_bars(entry: Level, bars: Sequence[Mark], legend: Legend, **options: Any) -> go.Bar:
    """Horizontal bars of one precision."""
    return marks.bars(bars, marks.fill(entry.color, entry.pattern), **legend_entry(entry, legend), **options)


def stretch_bars(rows: Mapping[str, Sequence[Stretch]], legend: Legend) -> Iterator[go.Bar]:
    """The stretches of each precision in the rows that have it; rows: label → its stretches."""
    for entry in LEVELS:
        own = [(label, part) for label, parts in rows.items() for part in parts if part.level is entry]
        texts = [f"iterations {part.begin + 1} to {part.end} in {entry.name}" for _, part in own]
        bars = [
            (part.end - part.begin, escape(label), hover(label, "", text))
            for (label, part), text in zip(own, texts, strict=True)
        ]
        if bars:
            yield level_bars(entry, bars, legend, base=[part.begin for _, part in own])
