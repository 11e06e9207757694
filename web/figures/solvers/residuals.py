"""Convergence: relative residual over the iterations and over the time, a line per method and preconditioner."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.solvers.groups import Solve, SolveGroup
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, TIME, count, scaled, scientific, seconds, unit_for
from web.figures import markers
from web.figures.base import blank, caption, escape, log_axis
from web.figures.panels import Legend, panels
from web.figures.solvers.problems import Panels, headings, look, panels_of, way

PANEL_PX = 260
NO_TRACE = "No solve has residuals."

AXIS_TITLE_PX = 18
"""Height of the axis title of every panel, because the unit of time differs."""

MARKERS = 16
"""Approximate number of points of a line with a hover text."""


@dataclass(frozen=True, slots=True)
class Row:
    """The fastest solve of a method and preconditioner that has residuals, because all kernels converge alike.

    points  (iteration, relative residual), without zeros
    """

    way: str
    group: SolveGroup
    solve: Solve
    points: tuple[tuple[float, float], ...]

    @property
    def iteration_s(self) -> float:
        """Seconds of an iteration."""
        return self.solve.iteration_s or 0.0


def info(data: StudyData) -> Panels[Row]:
    """Return a line per method and preconditioner of every problem."""
    return panels_of(data, _rows)


def _rows(group: SolveGroup) -> list[Row]:
    traced = ((solve, tuple(p for p in solve.residuals if p[1] > 0)) for solve in group.built_in)
    return [Row(way(group), group, solve, points) for solve, points in traced if points][:1]


def draw(info: Panels[Row]) -> go.Figure:
    """Return the residuals on a log scale, left over the iterations, right over the time."""
    if not info.panels:
        return blank(NO_TRACE)
    visible = info.visible
    rows = [row for panel in visible for row in panel.rows]
    preconditioners = list(dict.fromkeys(row.group.preconditioner for row in rows))
    titles = [title for heading in headings(visible) for title in (heading, "")]
    ways = dict.fromkeys(row.way for row in rows)
    figure = panels(titles, [PANEL_PX] * len(visible), len(ways), columns=2, below_px=AXIS_TITLE_PX)
    legend = Legend()
    for number, panel in enumerate(visible, start=1):
        unit = unit_for([row.iteration_s * row.points[-1][0] for row in panel.rows], TIME)
        for row in panel.rows:
            color, dash = look(row.group, preconditioners)
            each_s = scaled(row.iteration_s, unit) or 0.0
            for column, factor in enumerate((1.0, each_s), start=1):
                for trace in _traces(row, factor, color, dash, legend):
                    figure.add_trace(trace, row=number, col=column)
        axis = log_axis([residual for row in panel.rows for _, residual in row.points])
        figure.update_yaxes(**axis.settings, row=number)
        figure.update_yaxes(title_text="‖r‖ / ‖b‖", row=number, col=1)
        figure.update_xaxes(title_text="iteration", title_standoff=4, rangemode="tozero", row=number, col=1)
        figure.update_xaxes(title_text=f"time ({unit.symbol})", title_standoff=4, rangemode="tozero", row=number, col=2)
    return figure


def _traces(row: Row, factor: float, color: str, dash: str, legend: Legend) -> Iterator[go.Scatter]:
    """Yield the line of a solve, and some points of it with hover texts."""
    yield go.Scatter(
        **legend.entry(escape(row.way)),
        x=[factor * iteration for iteration, _ in row.points],
        y=[residual for _, residual in row.points],
        mode="lines",
        line={"color": color, "dash": dash, "width": 2},
        hoverinfo="skip",
        meta={"role": "gamma"},
    )
    points = _marked(row.points)
    yield markers.points(
        [(factor * iteration, residual, _hover(row, iteration, residual)) for iteration, residual in points],
        {"color": color, "size": 4, "line": {"width": 0}},
        showlegend=False,
        meta={"role": "level"},
    )


def _marked(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    step = max(1, len(points) // MARKERS)
    return [*points[:-1:step], points[-1]]


def _hover(row: Row, iteration: float, residual: float) -> str:
    after = f"iteration {count(iteration)}, {seconds(iteration * row.iteration_s)}"
    return markers.hover(row.way, f" with {row.solve.label}", after, f"‖r‖ / ‖b‖ = {scientific(residual)}")


def table(info: Panels[Row]) -> Table:
    """Return per solve the iterations to each power of ten, and the last residual."""
    names = (Head(text, numeric=False) for text in ("matrix", "device", "method", "kernel"))
    goals = (1e-2, 1e-4, 1e-6, 1e-8)
    heads = (
        *names,
        *(Head("iterations", f"to {scientific(goal)}") for goal in goals),
        Head("iterations", "all"),
        Head("time", "of the solve"),
        Head("residual", "true"),
    )
    rows = []
    for panel in info.panels:
        for row in panel.rows:
            m = row.solve.measurement
            reached = (next((i for i, residual in row.points if residual <= goal), None) for goal in goals)
            residual = MISSING if m.details.residual is None else scientific(m.details.residual)
            numbers = *map(count, reached), count(m.details.iterations), seconds(m.median_s), residual
            rows.append((*panel.place, row.way, row.solve.label, *numbers))
    return Table(heads, tuple(rows))


def summary(info: Panels[Row]) -> str:
    """Return what the lines show."""
    if not info.panels:
        return NO_TRACE
    return caption(
        f"Relative residual of the recurrence, over iterations and over time.{info.omission}",
        (),
        (
            "A line is the solve with the fastest Sparsight kernel; other kernels converge alike.",
            "On a GPU the residual is known at each test of convergence. Times assume iterations of equal length.",
            "The true residual decides. It is computed at the end in twice the precision; the table has it.",
        ),
    )
