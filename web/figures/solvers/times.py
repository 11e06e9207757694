"""Time to the tolerance: a row per method and preconditioner, a point per kernel and library."""

from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.solvers.groups import Solve, SolveGroup
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import count, seconds
from web.figures import markers
from web.figures.base import blank, caption, escape, log_axis
from web.figures.panels import Legend, panels
from web.figures.solvers.problems import NO_SOLVE, Panels, headings, panels_of, way
from web.palette import mark_of, style

ROW_PX = 34

SYMBOLS = {
    "circle": "circle",
    "diamond": "diamond",
    "triangle": "triangle-up",
    "cross": "cross",
    "ring": "circle-open",
    "square": "square",
}
"""Form of a mark → symbol of Plotly."""


@dataclass(frozen=True, slots=True)
class Row:
    """A solve; way: its method and preconditioner."""

    way: str
    solve: Solve

    @property
    def time_s(self) -> float:
        """Seconds of the solve."""
        return float(self.solve.measurement.median_s or 0.0)


def info(data: StudyData) -> Panels[Row]:
    """Return the converged solves of every problem."""
    return panels_of(data, _rows)


def _rows(group: SolveGroup) -> list[Row]:
    return [Row(way(group), solve) for solve in group.converged]


def draw(info: Panels[Row]) -> go.Figure:
    """Return the times on a log scale, a panel per problem, a row per method and preconditioner."""
    if not info.panels:
        return blank(NO_SOLVE)
    visible = info.visible
    ways = [list(dict.fromkeys(row.way for row in panel.rows)) for panel in visible]
    kernels = list(dict.fromkeys(row.solve.label for panel in visible for row in panel.rows))
    label_px = 16 + markers.LETTER_PX * max(len(label) for labels in ways for label in labels)
    heights = [max(2, len(labels)) * ROW_PX for labels in ways]
    figure = panels(headings(visible), heights, len(kernels), label_px=label_px)
    legend = Legend()
    for number, (panel, labels) in enumerate(zip(visible, ways, strict=True), start=1):
        for kernel in kernels:
            rows = [row for row in panel.rows if row.solve.label == kernel]
            if rows:
                figure.add_trace(_points(kernel, rows, legend), row=number, col=1)
        markers.label_rows(figure, number, [escape(label) for label in labels])
        axis = log_axis([row.time_s for row in panel.rows])
        ticks = [seconds(tick) for tick in axis.settings["tickvals"]]
        figure.update_xaxes(**axis.settings | {"ticktext": ticks}, row=number, col=1)
    figure.update_xaxes(title_text="time to the tolerance", title_standoff=4, row=len(visible))
    return figure


def _points(kernel: str, rows: list[Row], legend: Legend) -> go.Scatter:
    color = style(kernel.partition("/")[0]).color
    return markers.points(
        [(row.time_s, escape(row.way), _hover(row), row.solve.measurement) for row in rows],
        markers.point(color, SYMBOLS[mark_of(kernel)[1]], 10),
        **legend.entry(escape(kernel)),
        error_x=markers.intervals(
            [row.time_s for row in rows],
            [markers.interval_of(row.solve.measurement) for row in rows],
            thickness=1,
            width=3,
        ),
        meta={"role": "point"},
    )


def _hover(row: Row) -> str:
    m = row.solve.measurement
    iterations = f"{count(m.details.iterations)} iterations, {seconds(row.solve.iteration_s)} each"
    return markers.hover(row.solve.label, f" {row.way}", seconds(m.median_s), iterations)


def table(info: Panels[Row]) -> Table:
    """Return a row per solve."""
    names = (Head(text, numeric=False) for text in ("matrix", "device", "method", "kernel"))
    heads = (*names, Head("iterations"), Head("time", "of the solve"), Head("iteration"))
    rows = []
    for panel in info.panels:
        for row in panel.rows:
            m = row.solve.measurement
            times = seconds(m.median_s), seconds(row.solve.iteration_s)
            rows.append((*panel.place, row.way, row.solve.label, count(m.details.iterations), *times))
    return Table(heads, tuple(rows))


def summary(info: Panels[Row]) -> str:
    """Return what the points are, and what a time includes."""
    if not info.panels:
        return NO_SOLVE
    ends = markers.with_intervals(row.solve.measurement for panel in info.panels for row in panel.rows)
    return caption(
        f"Median time of a complete solve{ends}, from x = 0 until ‖b − A·x‖ ≤ rtol·‖b‖.{info.omission}",
        (),
        (
            "Each solution is verified on the host in twice the precision.",
            "A time includes launches and the final residual. It excludes conversion and set-up of the preconditioner.",
            "A library gets the tolerance with which its solution meets the same bound.",
        ),
    )
