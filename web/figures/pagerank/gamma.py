"""Convergence of a run: γ of every iteration, and the precision of the iteration."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.runs import FP64, FREE, SCHEDULE, Run, RunGroup, has_right_ranks, power
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, count
from web.figures import markers
from web.figures.base import blank, caption, escape, log_axis
from web.figures.pagerank.facets import COLUMNS, NO_RUN, Panel, Panels, axis_end, headings, panels_of
from web.figures.pagerank.levels import LEVELS, RUN_RANK, Level, Stretch, legend_entry, levels_of, stretches
from web.figures.panels import Legend, panels
from web.palette import DASHES, OTHERS

PANEL_PX, SMALL_PX = 320, 190
POINTS_MAX = 5_000
"""Maximum number of points of all lines; longer runs show every second, third … iteration."""

RUN_DASHES = (*DASHES, "longdashdot", "2px,6px")
"""Dashes of precisions and schedules: more than the formats of a color need."""

MARKERS = 24
"""Approximate number of markers of a run, so that narrow screens separate them; each new precision has one."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A marked iteration, counted from 1: its precision, its γ, and the segments that it reads and writes."""

    level: Level
    iteration: int
    gamma: float
    read: float
    written: float


@dataclass(frozen=True, slots=True)
class Row:
    """A run; name: the precision and what distinguishes its schedule.

    alike      key of runs that converge alike: precision and schedule
    marks      evenly spread iterations, and the first of each precision; a log scale has no position for γ = 0
    stretches  of its precisions
    raised     (iteration, its γ) before each iteration that writes more segments than it reads
    """

    label: str
    name: str
    alike: tuple[str, ...]
    is_right: bool
    segments: int
    gammas: tuple[float, ...]
    levels: frozenset[Level]
    marks: tuple[Mark, ...]
    stretches: tuple[Stretch, ...]
    raised: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Info:
    """The runs with a γ; lines: the first run of each precision and schedule, since they converge alike."""

    panels: Panels[Row]
    lines: Panels[Row]


def info(data: StudyData) -> Info:
    """Return γ of every iteration of every run."""
    panels = panels_of(data, lambda group, run: _row(group, run, data) if any(run.array("gamma")) else None)
    several = len(panels.panels) > 1
    return Info(panels, Panels(tuple(_first_alike(panel, 1 if several else None) for panel in panels.panels)))


def draw(info: Info) -> go.Figure:
    """Return γ on a log scale over the iterations, a panel per matrix, a line per run, markers by precision."""
    if not info.lines.panels:
        return blank(NO_RUN)
    visible_panels = info.lines.visible
    rows = [row for panel in visible_panels for row in panel.rows]
    names = list(dict.fromkeys(row.name for row in rows))
    step = -(-sum(len(row.gammas) for row in rows) // POINTS_MAX)
    used = [entry for entry in LEVELS if any(entry in row.levels for row in rows)]
    height = SMALL_PX if len(visible_panels) > 1 else PANEL_PX
    figure = panels(headings(visible_panels), [height] * len(visible_panels), len(names) + len(used), across=COLUMNS)
    legend = Legend()
    for number, panel in enumerate(visible_panels, start=1):
        place = {"row": number, "col": 1}
        for row in panel.rows:
            dash = RUN_DASHES[names.index(row.name) % len(RUN_DASHES)]
            for trace in (_entry(row, dash, legend), *_lines(row, dash, step), _markers(row)):
                figure.add_trace(trace, **place)
        end = axis_end((len(row.gammas), row.is_right) for row in panel.rows)
        figure.update_xaxes(range=[0, end], **place)
    figure.add_traces([_level(entry, legend) for entry in used], rows=1, cols=1)
    axis = log_axis([gamma for row in rows for gamma in row.gammas if gamma])
    figure.update_yaxes(**axis.settings, title_text="γ")
    figure.update_xaxes(title_text="iteration", title_standoff=4, row=len(visible_panels))
    return figure


def table(info: Info) -> Table:
    """Return per run the iterations, the first and the last γ, and γ at each raise of the precision."""
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
    """Return what the markers mean, and whether lower precision costs iterations."""
    if not info.lines.panels:
        return NO_RUN
    text = "γ: change of the ranks per iteration. Colors show the precision, markers the start of each precision."
    text += info.lines.omission
    first = (
        "Only the first schedule of each precision is drawn; the table has all." if len(info.lines.panels) > 1 else ""
    )
    falls = "All precisions converge alike until γ reaches the resolution of the stored mantissa."
    return caption(text, (), (falls, first, info.lines.cut))


def _row(group: RunGroup, run: Run, data: StudyData) -> Row:
    gammas, read, written = (run.array(name) for name in ("gamma", "read", "written"))
    levels, label = levels_of(run), group.label(run)
    # With all bits from the first iteration on, a run converges as one in fp64: pattern-only, and with segments.
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
        tuple(stretches(levels)),
        tuple((i, gammas[i - 1]) for i in range(1, len(gammas)) if written[i] > read[i]),
    )


def _first_alike(panel: Panel[Row], depth: int | None) -> Panel[Row]:
    """Return the panel with the first run of each precision and schedule; depth: 1 for the first of each precision."""
    alike: dict[tuple[str, ...], Row] = {}
    for row in panel.rows:
        alike.setdefault(row.alike[:depth], row if depth is None else replace(row, name=row.alike[0]))
    return replace(panel, rows=tuple(alike.values()), all_right=all(row.is_right for row in alike.values()))


def _entry(row: Row, dash: str, legend: Legend) -> go.Scatter:
    """Return the legend entry of the dashes of a run; colors stand for precisions."""
    line = {"color": OTHERS, "dash": dash, "width": 1.5}
    return go.Scatter(
        **legend.entry(escape(row.name)),
        legendrank=RUN_RANK,
        x=[None],
        y=[None],
        mode="lines",
        line=line,
        meta={"role": "gamma"},
    )


def _level(entry: Level, legend: Legend) -> go.Scatter:
    """Return the legend entry of a precision: its color and its marker; dashes stand for runs."""
    return go.Scatter(
        **legend_entry(entry, legend),
        x=[None],
        y=[None],
        mode="lines+markers",
        line={"color": entry.color, "width": 2},
        marker={"color": entry.color, "symbol": entry.symbol, "size": 8},
        meta={"role": "gamma"},
    )


def _lines(row: Row, dash: str, step: int) -> Iterator[go.Scatter]:
    """Yield a line in the color of each precision, from the last iteration before it."""
    for part in row.stretches:
        indices = sorted({*range(max(0, part.begin - 1), part.end, step), part.end - 1})
        yield go.Scatter(
            name=part.level.name,
            legendgroup=part.level.name,
            showlegend=False,
            x=[i + 1 for i in indices],
            y=[row.gammas[i] or None for i in indices],
            mode="lines",
            line={"color": part.level.color, "dash": dash, "width": 2},
            hoverinfo="skip",
            meta={"role": "gamma"},
        )


def _markers(row: Row) -> go.Scatter:
    """Return the first iteration of each precision, and some between them with hover texts."""
    begins = {part.begin + 1 for part in row.stretches}
    marker = {
        "color": [mark.level.color for mark in row.marks],
        "symbol": [mark.level.symbol for mark in row.marks],
        "line": {"width": 0},
        "size": [8 if mark.iteration in begins else 3 for mark in row.marks],
    }
    points = [(mark.iteration, mark.gamma, _hover(row, mark)) for mark in row.marks]
    return markers.points(points, marker, showlegend=False, meta={"role": "level"})


def _marked(levels: Sequence[Level]) -> list[int]:
    even = range(0, len(levels), max(1, -(-len(levels) // MARKERS)))
    return sorted({*even, *(stretch.begin for stretch in stretches(levels))})


def _hover(row: Row, mark: Mark) -> str:
    lines = [f"iteration {mark.iteration}: γ = {power(mark.gamma)}"]
    if row.segments:
        lines.append(f"reads {mark.read:.0f} and writes {mark.written:.0f} of {row.segments} segments")
    return markers.hover(row.label, "", *lines)
