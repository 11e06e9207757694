"""Speed with equal rows if half of the rows are longer by a ratio; Figure 6 of the MSREP paper."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling.cases import COLD, RESIDENT, WORKS
from gpu_engine.findings.scaling.groups import devices_in_words
from gpu_engine.findings.scaling.row_length_sweep import Point, Sweep, sweeps
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures.base import blank, caption, escape
from web.figures.busy import evidence
from web.figures.panels import Legend, panels
from web.figures.scaling.markers import virtual_note
from web.palette import DASHES, OKABE_ITO, SYMBOLS

PANEL_PX = 260
NO_SWEEP = (
    "No two matrices of the generator two_level were measured on several devices with both equal rows and equal "
    "nonzeros."
)
ALLOWED = "allowed by the balance"
LOOKS = {RESIDENT: 0, COLD: 1}
"""Number of the dash, the marker, and the color of each workload."""


@dataclass(frozen=True, slots=True)
class Ratios:
    """A sweep for each machine, partitioning, and number of devices."""

    sweeps: tuple[Sweep, ...]


def info(data: StudyData) -> Ratios:
    """Return SpMV from the host and resident SpMV, with the highlighted number of devices."""
    return Ratios(tuple(sweeps(data)))


def draw(info: Ratios) -> go.Figure:
    """Return the speed with equal rows over that with equal nonzeros against the ratio, and the allowed speed."""
    if not info.sweeps:
        return blank(NO_SWEEP)
    figure = panels([_title(sweep) for sweep in info.sweeps], [PANEL_PX] * len(info.sweeps), len(LOOKS) + 1, across=3)
    legend = Legend()
    for row, sweep in enumerate(info.sweeps, start=1):
        figure.add_trace(_allowed(sweep, legend), row=row, col=1)
        for work, points in sweep.points.items():
            figure.add_trace(_measured(work, points, legend), row=row, col=1)
    figure.update_yaxes(rangemode="tozero", title_text="speed vs equal nonzeros", ticksuffix=f"{units.THIN}%")
    figure.update_xaxes(title_text="row length ratio, long / short", title_standoff=4, row=len(info.sweeps), col=1)
    return figure


def table(info: Ratios) -> Table:
    """Return a row per matrix and workload."""
    heads = (
        Head("matrix", numeric=False),
        Head("machine", numeric=False),
        Head("workload", numeric=False),
        Head("kernel", numeric=False),
        Head("devices"),
        Head("ratio", "long/short"),
        Head("allowed", "% of speed"),
        Head("measured", "% of speed"),
    )
    rows = (
        (
            point.matrix,
            sweep.group.machine,
            WORKS[work],
            point.series.label,
            units.count(point.devices),
            units.number(point.ratio),
            units.percent(point.allowed),
            units.percent(point.measured),
        )
        for sweep in info.sweeps
        for work, points in sweep.points.items()
        for point in points
    )
    return Table(heads, tuple(rows))


def summary(info: Ratios) -> str:
    """Return what is drawn, and the speed at the largest ratio."""
    if not info.sweeps:
        return NO_SWEEP
    what = "Speed with equal rows per device, in % of that with equal nonzeros. Dashed: limit of the largest partition."
    more = "The limit is (1 + 1/r)/2 if half of the rows are r times as long as the others. "
    more += "The paper measures 54 % at r = 10 on eight GPUs."
    note = virtual_note(sweep.group for sweep in info.sweeps)
    return caption(what, map(_reached, info.sweeps), (more, note))


def _reached(sweep: Sweep) -> str:
    ratio, allowed = sweep.allowed[-1]
    reached = " and ".join(
        f"{units.percent(points[-1].measured)} {WORKS[work]}"
        for work, points in sweep.points.items()
        if points[-1].ratio == ratio
    )
    limit = f"at r = {units.number(ratio)}, {units.percent(allowed)} allowed"
    return f"{_title(sweep)}: {limit}, {reached} measured."


def _title(sweep: Sweep) -> str:
    machine, partitioning = sweep.group.machine, sweep.group.partitioning
    return f"{machine} · {partitioning} · {devices_in_words(sweep.devices, virtual=False)}"


def _allowed(sweep: Sweep, legend: Legend) -> go.Scatter:
    return go.Scatter(
        **legend.entry(ALLOWED),
        x=[ratio for ratio, _ in sweep.allowed],
        y=[100 * allowed for _, allowed in sweep.allowed],
        mode="lines",
        line={"dash": "dash", "width": 1.5},
        hoverinfo="skip",
        meta={"role": "roof"},
    )


def _measured(work: str, points: Sequence[Point], legend: Legend) -> go.Scatter:
    look = LOOKS[work]
    return go.Scatter(
        **legend.entry(WORKS[work]),
        x=[point.ratio for point in points],
        y=[100 * point.measured for point in points],
        mode="lines+markers",
        line={"color": OKABE_ITO[look], "dash": DASHES[look], "width": 1.5},
        marker={"color": OKABE_ITO[look], "symbol": SYMBOLS[look], "size": 8, "line": {"width": 0.5}},
        hovertext=[_hover(point) for point in points],
        hoverinfo="text",
        meta={"role": "point"},
        **evidence([point.measurement] for point in points),
    )


def _hover(point: Point) -> str:
    lines = (
        f"<b>{escape(point.matrix)}</b>, r = {units.number(point.ratio)}",
        escape(point.series.label),
        f"{units.percent(point.measured)} measured, {units.percent(point.allowed)} allowed",
    )
    return "<br>".join(lines)
