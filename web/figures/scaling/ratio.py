"""Equal rows where half of the rows are longer by a ratio; Figure 6 of the MSREP paper."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling.cases import COLD, RESIDENT, WORKS
from gpu_engine.findings.scaling.groups import devices_in_words
from gpu_engine.findings.scaling.sweep import Point, Sweep, sweeps
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures.base import blank, caption, escape
from web.figures.busy import evidence
from web.figures.panels import Legend, panels
from web.figures.scaling.marks import virtual_note
from web.palette import DASHES, OKABE_ITO, SYMBOLS

PANEL_PX = 260
NO_SWEEP = (
    "No two matrices of the family two_level, of rows of two lengths, were measured here with equal rows and with "
    "equal nonzeros on several devices."
)
ALLOWED = "allowed by the cut"
LOOKS = {RESIDENT: 0, COLD: 1}
"""Numbers of the dash, the marker and the colour of each work."""


@dataclass(frozen=True, slots=True)
class Ratios:
    """A sweep for each machine, partitioning and number of devices."""

    sweeps: tuple[Sweep, ...]


def info(data: StudyData) -> Ratios:
    """Products from the host and resident ones, with the number of devices that is spoken of."""
    return Ratios(tuple(sweeps(data)))


def draw(info: Ratios) -> go.Figure:
    """Speed of equal rows over that of equal nonzeros over the ratio, and what the largest part allows."""
    if not info.sweeps:
        return blank(NO_SWEEP)
    figure = panels([_title(sweep) for sweep in info.sweeps], [PANEL_PX] * len(info.sweeps), len(LOOKS) + 1, across=3)
    legend = Legend()
    for row, sweep in enumerate(info.sweeps, start=1):
        figure.add_trace(_allowed(sweep, legend), row=row, col=1)
        for work, points in sweep.points.items():
            figure.add_trace(_measured(work, points, legend), row=row, col=1)
    figure.update_yaxes(rangemode="tozero", title_text="of the speed of equal nonzeros", ticksuffix=f"{units.THIN}%")
    figure.update_xaxes(title_text="length of long rows / short rows", title_standoff=4, row=len(info.sweeps), col=1)
    return figure


def table(info: Ratios) -> Table:
    """A row a matrix and work."""
    heads = (
        Head("matrix", numeric=False),
        Head("machine", numeric=False),
        Head("workload", numeric=False),
        Head("kernel", numeric=False),
        Head("devices"),
        Head("ratio", "long/short"),
        Head("allowed", "by the cut"),
        Head("measured", "of equal nonzeros"),
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
    """What is drawn, and what is reached at the largest ratio."""
    if not info.sweeps:
        return NO_SWEEP
    what = (
        "Equal rows for each device in shares of the speed of equal nonzeros; dashed is what the largest part allows."
    )
    more = "That is (1 + 1/r)/2 where half of the rows are r times as long as the others. The paper measures 54 % at "
    more += "r = 10 on eight GPUs."
    note = virtual_note(sweep.group for sweep in info.sweeps)
    return caption(what, map(_reached, info.sweeps), (more, note))


def _reached(sweep: Sweep) -> str:
    ratio, allowed = sweep.allowed[-1]
    reached = " and ".join(
        f"{units.percent(points[-1].measured)} {WORKS[work]}"
        for work, points in sweep.points.items()
        if points[-1].ratio == ratio
    )
    cut = f"at r = {units.number(ratio)} the cut allows {units.percent(allowed)}"
    return f"{_title(sweep)}: {cut}, measured {reached}."


def _title(sweep: Sweep) -> str:
    machine, partitioning = sweep.group.machine, sweep.group.partitioning
    return f"{machine} · {partitioning} · {devices_in_words(sweep.devices, virtual=False)}"


def _allowed(sweep: Sweep, legend: Legend) -> go.Scatter:
    return go.Scatter(
        **legend.entry(ALLOWED),
        x=[ratio for ratio, _ in sweep.allowed],
        y=[100 * allowed for _, allowed in sweep.allowed],
        mode="rows",
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
