"""Time of one solve in total: a row per method and preconditioner, a point per kernel and library."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.solvers.groups import Solve, SolveGroup
from gpu_engine.findings.solvers.tables import once_texts
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

OF_LIBRARIES = {
    "cupy/solver": "square",
    "scipy/solver": "square",
    "warp/captured": "triangle-up",
    "warp/check-0": "triangle-down",
    "warp/check-10": "x",
}
"""Library solver → symbol; all are gray."""


@dataclass(frozen=True, slots=True)
class Row:
    """A solve; way: its method and preconditioner."""

    way: str
    solve: Solve

    @property
    def time_s(self) -> float:
        """Seconds of one solve with conversion and set-up."""
        return float(self.solve.total_s or 0.0)


def info(data: StudyData) -> Panels[Row]:
    """Return the converged solves of every problem, the method and preconditioner with the least total first."""
    made = panels_of(data, _rows)
    return Panels(tuple(replace(panel, rows=_by_total(panel.rows)) for panel in made.panels))


def _rows(group: SolveGroup) -> list[Row]:
    return [Row(way(group), solve) for solve in group.converged]


def _by_total(rows: Sequence[Row]) -> tuple[Row, ...]:
    least: dict[str, float] = {}
    for row in rows:
        least[row.way] = min(row.time_s, least.get(row.way, row.time_s))
    return tuple(sorted(rows, key=lambda row: (least[row.way], row.way, row.time_s)))


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
    figure.update_xaxes(title_text="one solve in total", title_standoff=4, row=len(visible))
    return figure


def _points(kernel: str, rows: list[Row], legend: Legend) -> go.Scatter:
    color = style(kernel.partition("/")[0]).color
    return markers.points(
        [(row.time_s, escape(row.way), _hover(row), row.solve.measurement) for row in rows],
        markers.point(color, OF_LIBRARIES.get(kernel) or SYMBOLS[mark_of(kernel)[1]], 10),
        **legend.entry(escape(kernel)),
        error_x=markers.intervals(
            [row.time_s for row in rows],
            [markers.interval_of(row.solve.total) for row in rows],
            thickness=1,
            width=3,
        ),
        meta={"role": "point"},
    )


def _hover(row: Row) -> str:
    m = row.solve.measurement
    conversion, set_up, time, total = once_texts(row.solve)
    parts = f"solve {time}, conversion {conversion}, set-up {set_up}"
    iterations = f"{count(m.details.iterations)} iterations, {seconds(row.solve.iteration_s)} each"
    return markers.hover(row.solve.label, f" {row.way}", f"{total} in total", parts, iterations)


def table(info: Panels[Row]) -> Table:
    """Return a row per solve."""
    names = (Head(text, numeric=False) for text in ("matrix", "device", "method", "kernel"))
    times = (Head(text) for text in ("iteration", "conversion", "set-up", "solve", "total"))
    heads = (*names, Head("iterations"), *times)
    rows = []
    for panel in info.panels:
        for row in panel.rows:
            m = row.solve.measurement
            numbers = count(m.details.iterations), seconds(row.solve.iteration_s), *once_texts(row.solve)
            rows.append((*panel.place, row.way, row.solve.label, *numbers))
    return Table(heads, tuple(rows))


def summary(info: Panels[Row]) -> str:
    """Return what the points are, and what a time includes."""
    if not info.panels:
        return NO_SOLVE
    ends = markers.with_intervals(row.solve.measurement for panel in info.panels for row in panel.rows)
    return caption(
        f"Median time of one solve, conversion and set-up included{ends}, until ‖b − A·x‖ ≤ rtol·‖b‖.{info.omission}",
        (),
        (
            "Each solution is verified on the host in twice the precision.",
            "A time includes launches and the final residual. The table has solve, conversion, and set-up apart.",
            "A library solves with its own CSR, without conversion. The set-up of its preconditioner is unknown.",
            "A library gets the tolerance with which its solution meets the same bound.",
            "GMRES of CuPy and NVIDIA Warp ends only after a whole cycle.",
        ),
    )
