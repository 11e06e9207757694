"""How a run converges: γ of every iteration, and under which precision it counts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.runs import FP64, FREE, SCHEDULE, Run, RunGroup, has_right_ranks, power
from gpu_engine.findings.tables import Head, Table
from gpu_engine.findings.units import MISSING, count
from web.figures import marks
from web.figures.base import blank, escape, log_axis
from web.figures.pagerank.facets import NO_RUN, Panel, Panels, axis_end, panels_of
from web.figures.pagerank.levels import LEVELS, RUN_RANK, Level, legend_entry, levels_of, stretches
from web.figures.panels import Legend, panels
from web.palette import DASHES, OTHERS

PANEL_PX = 320
POINTS_MAX = 5_000
"""Most points of the lines of a figure; of longer runs every second, third … iteration is one."""

MARKERS = 24
"""Of a run, about: a narrow screen keeps them apart. Where the precision changes there is one in any case."""

SIZE, SIZE_MIN, INWARDS = 13, 4, 3
"""Markers of the first run in pixels; of each further one smaller, so that where runs coincide all can be seen."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A marked iteration, counted from 1: what it counts under, its γ, and the segments that it reads and writes."""

    level: Level
    iteration: int
    gamma: float
    read: float
    written: float


@dataclass(frozen=True, slots=True)
class Row:
    """A run; name: the precision and what sets its schedule apart.

    alike   what runs that converge alike have in common: precision and schedule
    marks   evenly spread iterations, and the first of each precision; γ = 0 has no place on a log scale
    raised  (iteration, its γ) before each iteration that writes more segments than it reads
    """

    label: str
    name: str
    alike: tuple[str, ...]
    is_right: bool
    segments: int
    gammas: tuple[float, ...]
    levels: frozenset[Level]
    marks: tuple[Mark, ...]
    raised: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Info:
    """The runs with a γ; lines: of each precision and schedule the first run, since they converge alike."""

    panels: Panels[Row]
    lines: Panels[Row]


def info(data: StudyData) -> Info:
    """γ of every iteration of every run."""
    panels = panels_of(data, lambda group, run: _row(group, run, data) if any(run.array("gamma")) else None)
    return Info(panels, Panels(tuple(_first_alike(panel) for panel in panels.panels)))


def draw(info: Info) -> go.Figure:
    """γ on a log scale over the iterations, a panel a matrix, a line a run, markers by the precision."""
    if not info.lines.panels:
        return blank(NO_RUN)
    drawn = info.lines.drawn
    rows = [row for panel in drawn for row in panel.rows]
    names = list(dict.fromkeys(row.name for row in rows))
    step = -(-sum(len(row.gammas) for row in rows) // POINTS_MAX)
    used = [entry for entry in LEVELS if any(entry in row.levels for row in rows)]
    headings = [escape(panel.heading) for panel in drawn]
    figure = panels(headings, [PANEL_PX] * len(drawn), len(names) + len(used))
    legend = Legend()
    for number, panel in enumerate(drawn, start=1):
        for row in panel.rows:
            turn = names.index(row.name)
            figure.add_trace(_line(row, DASHES[turn % len(DASHES)], step, legend), row=number, col=1)
            size = max(SIZE_MIN, SIZE - INWARDS * turn)
            for entry in used:
                if entry in row.levels:
                    figure.add_trace(_markers(row, entry, size, legend), row=number, col=1)
        end = axis_end((len(row.gammas), row.is_right) for row in panel.rows)
        figure.update_xaxes(range=[0, end], row=number, col=1)
    axis = log_axis([gamma for row in rows for gamma in row.gammas if gamma])
    figure.update_yaxes(**axis.settings, title_text="γ")
    figure.update_xaxes(title_text="iteration", title_standoff=4, row=len(drawn), col=1)
    return figure


def table(info: Info) -> Table:
    """Per run how many iterations it took, γ at the first and the last, and γ where the precision was raised."""
    heads = (*(Head(text, numeric=False) for text in ("matrix", "device", "run")), Head("iterations"))
    gammas = (Head("γ", "first"), Head("γ", "last"), Head("γ when raised", "iteration: γ", numeric=False))
    rows = []
    for panel in info.panels.panels:
        for row in panel.rows:
            raised = ", ".join(f"{iteration}: {power(gamma)}" for iteration, gamma in row.raised) or MISSING
            ends = power(row.gammas[0]), power(row.gammas[-1])
            rows.append((*panel.place, row.label, count(len(row.gammas)), *ends, raised))
    return Table((*heads, *gammas), tuple(rows))


def summary(info: Info) -> str:
    """What the markers mean, and whether fewer bits cost iterations."""
    if not info.lines.panels:
        return NO_RUN
    text = "γ, the change of the ranks in an iteration, falls along the same line in every precision until it nears "
    text += (
        "what the precision resolves. A marker says under which one an iteration counts; where runs coincide, their "
    )
    text += "markers lie within each other in the order of the legend, the first outermost."
    return text + info.lines.cut + info.lines.omission


def _row(group: RunGroup, run: Run, data: StudyData) -> Row:
    gammas, read, written = (run.array(name) for name in ("gamma", "read", "written"))
    levels, label = levels_of(run), group.label(run)
    # In all bits from the first iteration on, a run goes as one in fp64: without values, and with segments.
    whole = run.storage == FREE or (run.segments and not run.in_fewer_bits)
    precision = FP64 if whole else run.storage
    schedule = (run.measurement.axes.get(name, "") for name in SCHEDULE if run.in_fewer_bits)
    return Row(
        label,
        label.partition("+")[2] if run.in_fewer_bits else precision,
        (precision, *schedule),
        has_right_ranks(run, data),
        run.segments,
        gammas,
        frozenset(levels),
        tuple(Mark(levels[i], i + 1, gammas[i], read[i], written[i]) for i in _marked(levels) if gammas[i]),
        tuple((i, gammas[i - 1]) for i in range(1, len(gammas)) if written[i] > read[i]),
    )


def _first_alike(panel: Panel[Row]) -> Panel[Row]:
    alike: dict[tuple[str, ...], Row] = {}
    for row in panel.rows:
        alike.setdefault(row.alike, row)
    return replace(panel, rows=tuple(alike.values()), all_right=all(row.is_right for row in alike.values()))


def _line(row: Row, dash: str, step: int, legend: Legend) -> go.Scatter:
    return go.Scatter(
        **legend.entry(escape(row.name)),
        legendrank=RUN_RANK,
        x=list(range(1, len(row.gammas) + 1, step)),
        y=[gamma or None for gamma in row.gammas[::step]],
        mode="lines",
        line={"color": OTHERS, "dash": dash, "width": 1.5},
        hoverinfo="skip",
        meta={"role": "gamma"},
    )


def _markers(row: Row, entry: Level, size: int, legend: Legend) -> go.Scatter:
    """The marked iterations of a run that count under one precision."""
    return marks.points(
        [(mark.iteration, mark.gamma, _hover(row, mark)) for mark in row.marks if mark.level is entry],
        marks.point(entry.color, f"{entry.symbol}-open", size, 2),
        **legend_entry(entry, legend),
        meta={"role": "level"},
    )


def _marked(levels: Sequence[Level]) -> list[int]:
    even = range(0, len(levels), max(1, -(-len(levels) // MARKERS)))
    return sorted({*even, *(stretch.begin for stretch in stretches(levels))})


def _hover(row: Row, mark: Mark) -> str:
    lines = [f"iteration {mark.iteration}: γ = {power(mark.gamma)}"]
    if row.segments:
        lines.append(f"reads {mark.read:.0f} and writes {mark.written:.0f} of {row.segments} segments")
    return marks.hover(row.label, "", *lines)
