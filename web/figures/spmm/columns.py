"""Time per column by the number of columns: a line per kernel, a panel per matrix."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import share
from gpu_engine.findings.spmm.groups import SpmmGroup, order_text, series_of, spmm_groups
from gpu_engine.findings.spmm.names import ORDER_NAMES, label
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, count, gflops, percent, seconds
from web.figures import markers, panels
from web.figures.base import blank, caption, escape, log_axis, shorten
from web.figures.panels import DOT, Legend
from web.palette import spmm_position, spmm_style

PANEL_PX = 260
PANELS_MAX = 12
"""Maximum number of panels, the first ones; the table has all."""

X_MARGIN = 1.15
"""Factor between the ends of the x axis and the outermost numbers of columns."""

NO_TIME = "No kernel was timed."


@dataclass(frozen=True, slots=True)
class Line:
    """A kernel by ascending number of columns, with None where it has no time."""

    kernel: str
    measurements: tuple[Measurement | None, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """The lines of one matrix; place: matrix, device, cache state, and order.

    roofline_s  roofline time per column, in seconds
    """

    place: tuple[str, str, str, str]
    columns: tuple[int, ...]
    lines: tuple[Line, ...]
    roofline_s: tuple[float | None, ...]

    @property
    def title(self) -> str:
        """Return the title of the panel."""
        name, device, cache, order = self.place
        return escape(DOT.join((shorten(name), device, f"{cache}{order_text(order)}")))

    @property
    def times(self) -> list[float]:
        """Return all times per column that are drawn, in seconds."""
        timed = (vector_s(m) for line in self.lines for m in line.measurements)
        return [time for time in (*timed, *self.roofline_s) if time]


class Panels(panels.Panels[Panel]):
    """The panels of the figure, of which the first PANELS_MAX are drawn."""


def info(data: StudyData) -> Panels:
    """Return a panel per matrix, device, cache state, and order with a time; those with the most columns first."""
    every = series_of(spmm_groups(data, every=True)).values()
    made = [_panel(groups, data) for groups in every if any(group.timed for group in groups)]
    return Panels(tuple(sorted(made, key=lambda panel: -len(panel.columns))), PANELS_MAX)


def _panel(groups: Sequence[SpmmGroup], data: StudyData) -> Panel:
    first = groups[0]
    timed = [group for group in groups if group.timed]
    kernels = sorted({m.kernel for group in timed for m in group.timed}, key=spmm_position)
    lines = (Line(kernel, tuple(group.of_kernel(kernel) for group in timed)) for kernel in kernels)
    return Panel(
        (data.matrix(first.matrix_id).name, first.device, first.cache, first.order),
        tuple(group.k for group in timed),
        tuple(lines),
        tuple(m.roofline_s / group.k if (m := group.timed[0]).roofline_s else None for group in timed),
    )


def draw(info: Panels) -> go.Figure:
    """Return the times per column, both axes logarithmic, with the roofline dotted."""
    visible = info.visible
    if not visible:
        return blank(NO_TIME)
    kernels = sorted({line.kernel for panel in visible for line in panel.lines}, key=spmm_position)
    titles = [panel.title for panel in visible]
    figure = panels.panels(titles, [PANEL_PX] * len(visible), len(kernels) + 1, across=2)
    legend = Legend()
    for row, panel in enumerate(visible, start=1):
        for line in panel.lines:
            figure.add_trace(_line(line, panel, legend), row=row, col=1)
        figure.add_trace(_roofline(panel, legend), row=row, col=1)
        axis = log_axis(panel.times)
        ticks = [seconds(tick) for tick in axis.settings["tickvals"]]
        figure.update_yaxes(**axis.settings | {"ticktext": ticks}, row=row, col=1)
        figure.update_xaxes(**_x_axis(panel.columns), row=row, col=1)
    figure.update_yaxes(title_text="time per column")
    figure.update_xaxes(title_text="columns", title_standoff=4, row=len(visible), col=1)
    return figure


def _x_axis(columns: Sequence[int]) -> dict[str, object]:
    """Return a logarithmic axis with a tick per measured number of columns."""
    ends = log_axis((columns[0] / X_MARGIN, columns[-1] * X_MARGIN), least_span=2.0).settings["range"]
    return {"type": "log", "range": ends, "tickvals": list(columns), "ticktext": [count(k) for k in columns]}


def _line(line: Line, panel: Panel, legend: Legend) -> go.Scatter:
    look = spmm_style(line.kernel)
    known = [(k, m) for k, m in zip(panel.columns, line.measurements, strict=True) if m is not None]
    return markers.points(
        [(k, vector_s(m), _hover(m, k), m) for k, m in known],
        markers.point(look.color, look.symbol, 7),
        **legend.entry(escape(label(line.kernel))),
        mode="lines+markers",
        line={"color": look.color, "dash": look.dash, "width": 1.5},
        meta={"role": "point", "kernel": line.kernel},
    )


def _roofline(panel: Panel, legend: Legend) -> go.Scatter:
    return go.Scatter(
        **legend.entry("roofline"),
        x=list(panel.columns),
        y=list(panel.roofline_s),
        mode="lines",
        connectgaps=True,
        line={"dash": "dot", "width": 1.5},
        hovertext=[f"roofline: {seconds(time)} per column" for time in panel.roofline_s],
        hoverinfo="text",
        meta={"role": "roof"},
    )


def _hover(m: Measurement, k: int) -> str:
    of_roofline = share(m.roofline_s, m)
    roofline = f", {percent(of_roofline)} of roofline" if of_roofline is not None else ""
    return markers.hover(
        label(m.kernel),
        f" with {count(k)} columns",
        f"{seconds(vector_s(m))} per column, {seconds(m.median_s)} in total",
        f"{gflops(m.gflops)}{roofline}",
    )


def vector_s(m: Measurement | None) -> float | None:
    """Return the seconds per column; None without a time."""
    time: float | None = m.details.vector_s if m is not None else None
    return time


def table(info: Panels) -> Table:
    """Return a row per matrix and kernel, with the time per column for each number of columns."""
    every = sorted({k for panel in info.panels for k in panel.columns})
    names = (Head(text, numeric=False) for text in ("matrix", "device", "cache", "order", "kernel"))
    heads = (*names, *(Head(f"k = {count(k)}", "per column") for k in every))
    rows = []
    for panel in info.panels:
        place = (*panel.place[:3], ORDER_NAMES.get(panel.place[3], panel.place[3]))
        lines = {label(line.kernel): map(vector_s, line.measurements) for line in panel.lines}
        for name, times in (*lines.items(), ("roofline", iter(panel.roofline_s))):
            by_k = dict(zip(panel.columns, times, strict=True))
            rows.append((*place, name, *(seconds(by_k[k]) if k in by_k else MISSING for k in every)))
    return Table(heads, tuple(rows))


def summary(info: Panels) -> str:
    """Return what the lines are."""
    if not info.panels:
        return NO_TIME
    omission = markers.omission(len(info.visible), len(info.panels))
    return caption(
        f"Median time per column of X, a line per kernel. Dotted: roofline.{omission}",
        (),
        (
            "k × a kernel: k SpMVs, each with a vector of its own. Their time per column hardly depends on k.",
            "The roofline counts the matrix once, the rows of X that are read, and Y.",
            "In column-major order, copies for kernels that need row-major matrices count.",
        ),
    )
