"""Precisions of an iteration, each with a color, a hatching, and a marker, any of which identifies it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import plotly.graph_objects as go

from gpu_engine.findings.pagerank.runs import Run
from web.figures import markers
from web.figures.base import escape
from web.figures.markers import Mark, hover
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
"""Precisions by ascending bits; 64 bits are fp64, with or without segments."""

RUN_RANK = 1
"""Legend rank of runs, which come first."""

CHANGE = Level("change", OKABE_ITO[5], "+", "x")
"""Changes of precision: scaling ‖p‖₁ to 1, converting segments to fp64, and adding corrections to the ranks."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive iterations of one precision, counted from 0; end: the first one after it."""

    level: Level
    begin: int
    end: int


def level(name: str) -> Level:
    """Return the precision of that name."""
    return next(entry for entry in LEVELS if entry.name == name)


def level_of(run: Run, segments: float) -> Level:
    """Return the precision of a number of segments of the run, or of a pass of iterative refinement."""
    if not run.precisions:
        return level("IEEE fp32" if run.precision == "fp32" else "64 bit")
    return level(f"{WORD_BITS // run.precisions * int(segments)} bit")


def levels_of(run: Run) -> list[Level]:
    """Return the precision of each iteration: that of the ranks that it writes."""
    written = run.array("written")
    # A run has hundreds of iterations and at most four levels.
    known = {segments: level_of(run, segments) for segments in set(written)}
    return [known[segments] for segments in written]


def stretches(levels: Sequence[Level]) -> Iterator[Stretch]:
    """Yield the precisions of a run one after the other."""
    begin = 0
    for entry, members in groupby(levels):
        end = begin + sum(1 for _ in members)
        yield Stretch(entry, begin, end)
        begin = end


def legend_entry(entry: Level, legend: Legend) -> dict[str, Any]:
    """Return the settings of a trace of that precision: one legend entry, after all runs, few bits first."""
    rank = (*LEVELS, CHANGE).index(entry)
    return {**legend.entry(entry.name), "legendrank": RUN_RANK + 1 + rank}


def level_bars(entry: Level, bars: Sequence[Mark], legend: Legend, **options: Any) -> go.Bar:
    """Return horizontal bars of one precision."""
    return markers.bars(bars, markers.fill(entry.color, entry.pattern), **legend_entry(entry, legend), **options)


def stretch_bars(rows: Mapping[str, Sequence[Stretch]], legend: Legend) -> Iterator[go.Bar]:
    """Yield the stretches of each precision in the rows that have it; rows: label → its stretches."""
    for entry in LEVELS:
        labeled = [(label, part) for label, parts in rows.items() for part in parts if part.level is entry]
        texts = [f"iterations {part.begin + 1} to {part.end}: {entry.name}" for _, part in labeled]
        bars = [
            (part.end - part.begin, escape(label), hover(label, "", text))
            for (label, part), text in zip(labeled, texts, strict=True)
        ]
        if bars:
            yield level_bars(entry, bars, legend, base=[part.begin for _, part in labeled])
