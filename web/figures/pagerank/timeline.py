"""Which precision when: the schedules of the runs side by side."""

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

    alike  what runs that go alike are called, whatever the layout; is_right: whether the ranks are
    """

    label: str
    alike: str
    is_right: bool
    stretches: tuple[Stretch, ...]


FOLDED = "Runs that differ in their layout alone go alike, and are one row; the table has all."

LineT = TypeVar("LineT", bound=Line)


@dataclass(frozen=True, slots=True)
class Row(Line):
    """A run: its iterations, and by precision, in the order of LEVELS; fp64: those of the same kernel in fp64."""

    iterations: int
    by_level: tuple[int, ...]
    fp64: int | None


def info(data: StudyData) -> Panels[Row]:
    """The runs with a trace of what they write."""

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
    """A row a run, a bar for each stretch of iterations that count under one precision."""
    return draw_lines(info, NO_RUN)


def draw_lines(info: Panels[LineT], nothing: str) -> go.Figure:
    """The precisions of each row; nothing: what is said where there is none."""
    if not info.panels:
        return blank(nothing)
    several = len(info.panels) > 1
    panels = info.folded(lambda row: row.alike).drawn
    used = {part.level for panel in panels for row in panel.rows for part in row.stretches}
    lines = [{row.alike if several else row.label: row.stretches for row in panel.rows} for panel in panels]
    figure = bar_panels(panels, list(map(list, lines)), len(used), "overlay", "iterations")
    legend = Legend()
    for number, (panel, own) in enumerate(zip(panels, lines, strict=True), start=1):
        end = axis_end((row.stretches[-1].end, row.is_right) for row in panel.rows)
        figure.update_xaxes(range=[0, end], row=number, col=1)
        for trace in stretch_bars(own, legend):
            figure.add_trace(trace, row=number, col=1)
    return figure


def table(info: Panels[Row]) -> Table:
    """Table II of the paper for the matrices here: iterations by precision, and those of the same kernel in fp64."""
    names = ("matrix", "device", "run")
    heads = (*(Head(name, numeric=False) for name in names), *(Head(entry.name) for entry in LEVELS))
    rows = []
    for panel in info.panels:
        for row in panel.rows:
            counts = (count(number) if number else MISSING for number in row.by_level)
            rows.append((*panel.place, row.label, *counts, count(row.iterations), count(row.fp64)))
    return Table((*heads, Head("total"), Head("same kernel", "in fp64")), tuple(rows))


def summary(info: Panels[Row]) -> str:
    """What the bars are."""
    if not info.panels:
        return NO_RUN
    text = (
        "The iterations of each run by the precision that they write; a kernel that ran under several schedules has a "
    )
    text += f"row for each.{info.omission}"
    return caption(text, (), (FOLDED if len(info.panels) > 1 else "", info.cut))
