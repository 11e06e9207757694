"""Precision per iteration: the schedules of the runs side by side."""

from dataclasses import dataclass
from typing import TypeVar

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.runs import Run, RunGroup, has_right_ranks
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, count
from web.figures.base import blank, caption
from web.figures.pagerank.facets import NO_RUN, Panels, axis_end, bar_panels, panels_of, schedule_name
from web.figures.pagerank.levels import LEVELS, Stretch, levels_of, stretch_bars, stretches
from web.figures.panels import Legend


@dataclass(frozen=True, slots=True)
class Line:
    """The precisions of a run, one after the other.

    alike  key of runs that converge alike, in any layout; is_right: whether the ranks are verified
    """

    label: str
    alike: str
    is_right: bool
    stretches: tuple[Stretch, ...]


FOLDED = "Runs that differ only in their layout share a row; the table has all."

LineT = TypeVar("LineT", bound=Line)


@dataclass(frozen=True, slots=True)
class Row(Line):
    """A run: its iterations, in total and by precision as in LEVELS; fp64: those of the same kernel in fp64."""

    iterations: int
    by_level: tuple[int, ...]
    fp64: int | None


def info(data: StudyData) -> Panels[Row]:
    """Return the runs with a trace of the segments that they write."""

    def row(group: RunGroup, run: Run) -> Row | None:
        levels, plain = levels_of(run), group.plain(run)
        if not levels:
            return None
        fp64 = plain.measurement.details.iterations if plain else None
        counts = tuple(map(levels.count, LEVELS))
        right = has_right_ranks(run, data)
        label = group.label(run)
        return Row(label, schedule_name(run), right, tuple(stretches(levels)), len(levels), counts, fp64)

    return panels_of(data, row)


def draw(info: Panels[Row]) -> go.Figure:
    """Return a row per run, a bar per stretch of iterations with one precision."""
    return draw_lines(info, NO_RUN)


def draw_lines(info: Panels[LineT], nothing: str) -> go.Figure:
    """Return the precisions of each row; nothing: the sentence if there are no rows."""
    if not info.panels:
        return blank(nothing)
    several = len(info.panels) > 1
    panels = info.folded(lambda row: row.alike).visible
    used = {part.level for panel in panels for row in panel.rows for part in row.stretches}
    lines = [{row.alike if several else row.label: row.stretches for row in panel.rows} for panel in panels]
    figure = bar_panels(panels, list(map(list, lines)), len(used), "overlay", "iterations")
    legend = Legend()
    for number, (panel, line_stretches) in enumerate(zip(panels, lines, strict=True), start=1):
        end = axis_end((row.stretches[-1].end, row.is_right) for row in panel.rows)
        figure.update_xaxes(range=[0, end], row=number, col=1)
        for trace in stretch_bars(line_stretches, legend):
            figure.add_trace(trace, row=number, col=1)
    return figure


def table(info: Panels[Row]) -> Table:
    """Return Table II of the paper for the measured matrices: iterations by precision, and in fp64."""
    names = ("matrix", "device", "run")
    heads = (*(Head(name, numeric=False) for name in names), *(Head(entry.name) for entry in LEVELS))
    rows = []
    for panel in info.panels:
        for row in panel.rows:
            counts = (count(number) if number else MISSING for number in row.by_level)
            rows.append((*panel.place, row.label, *counts, count(row.iterations), count(row.fp64)))
    return Table((*heads, Head("total"), Head("same kernel", "in fp64")), tuple(rows))


def summary(info: Panels[Row]) -> str:
    """Return what the bars are."""
    if not info.panels:
        return NO_RUN
    text = f"Iterations of each run by precision; a kernel has a row per schedule.{info.omission}"
    return caption(text, (), (FOLDED if len(info.panels) > 1 else "", info.cut))
