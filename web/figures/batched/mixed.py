"""GFLOP/s and sustained bandwidth of mixed batches side by side; Figures 6 and 7 of the batched SpMV paper."""

from collections.abc import Sequence

import plotly.graph_objects as go

from gpu_engine.records import Measurement
from web import units
from web.batches import BatchGroup, bandwidth, batch_groups, largest, name_of, share_of_floor
from web.comparison import NAMED, join
from web.figures.base import Head, Table, blank, escape
from web.figures.batched.marks import PLACE, heading, hover, place
from web.figures.panels import panels
from web.palette import batch_style
from web.shown import Shown

ROW_PX = 26
NONE = "No mixed batch has a time here: choose two or more small matrices for a job to measure one."


def draw(shown: Shown) -> go.Figure:
    """Bars by kernel, fastest first: GFLOP/s on the left, GB/s on the right, a row of panels a batch."""
    found = mixtures(shown)
    if not found:
        return blank(NONE)
    titles = [part for group in found for part in (heading(group, shown), "")]
    heights = [max(2, len(group.timed)) * ROW_PX for group in found]
    figure = panels(titles, heights, 1, columns=2, bargap=0.3, barmode="overlay")
    for row, group in enumerate(found, start=1):
        order = [m.kernel for m in group.timed]
        for m in group.timed:
            moved, name = bandwidth(m), name_of(group, shown)
            figure.add_trace(_bar(m, m.gflops, name), row=row, col=1)
            figure.add_trace(_bar(m, moved / 1e9 if moved else None, name), row=row, col=2)
        floor = group.floor_gflops
        if floor:
            figure.add_trace(_floor(floor, order, row == 1), row=row, col=1)
        figure.update_yaxes(
            categoryorder="array", categoryarray=order, range=[len(order) - 0.5, -0.5], ticklabelstandoff=4, row=row
        )
    figure.update_xaxes(rangemode="tozero", nticks=5)
    figure.update_xaxes(title_text="GFLOP/s", title_standoff=4, row=len(found), col=1)
    figure.update_xaxes(title_text="GB/s", title_standoff=4, row=len(found), col=2)
    return figure


def table(shown: Shown) -> Table:
    """A row a kernel: its rate, its share of the floor, the bytes stored and what bandwidth it sustains."""
    heads = (
        *PLACE,
        Head("problems"),
        Head("kernel", numeric=False),
        Head("rate", "GFLOP/s"),
        Head("share of", "floor"),
        Head("stored"),
        Head("bandwidth", "sustained"),
        Head("matrices", numeric=False),
    )
    rows = []
    for group in mixtures(shown):
        names = ", ".join(shown.matrix(member).name for member in group.members)
        for m, rate in zip(group.timed, units.column([m.gflops for m in group.timed]), strict=True):
            share = units.percent(share_of_floor(m))
            moved = units.size(m.stored_bytes), units.rate(bandwidth(m))
            rows.append((*place(group, shown), units.count(group.problems), m.kernel, rate, share, *moved, names))
    return Table(heads, tuple(rows))


def summary(shown: Shown) -> str:
    """Which kernel is fastest on each mixture, and which one moves most."""
    found = mixtures(shown)
    if not found:
        return NONE
    said = (
        "All matrices of a job in random order, each with its own size: the rate, and the bandwidth sustained, which "
    )
    said += (
        "is stored bytes with padding, x and y over the time. Much padding is fast on the right and slow on the left."
    )
    for group in found:
        first, most = group.timed[0], max(group.timed, key=lambda m: bandwidth(m) or 0.0)
        where = f"{name_of(group, shown)}, {units.count(group.problems)} problems, {group.device}, {group.cache}"
        said += (
            f" On {where}: {join(group.leaders, NAMED) or 'nothing leads, the first'} with {units.gflops(first.gflops)}"
        )
        said += f" ({units.percent(share_of_floor(first))} of the floor)"
        said += f"; {most.kernel} sustains most, {units.rate(bandwidth(most))}."
    return said


def mixtures(shown: Shown) -> list[BatchGroup]:
    """Of each mixture the batch of the chosen size, else the largest."""
    mixed = [group for group in batch_groups(shown) if group.compose == "mixed" and group.timed]
    return largest(mixed, shown.batch)


def _bar(m: Measurement, value: float | None, name: str) -> go.Bar:
    # One trace a bar: patterns over a list of colours are not drawn in them.
    look = batch_style(m.kernel)
    return go.Bar(
        name=escape(m.kernel),
        x=[value],
        y=[m.kernel],
        orientation="h",
        error_x={"visible": False},
        marker={
            "color": look.color,
            "line": {"width": 1},
            "pattern": {"shape": look.pattern, "fillmode": "overlay", "fgopacity": 0.45, "size": 6},
        },
        hovertext=[f"{hover(m, name)}<br>{units.rate(bandwidth(m))} sustained"],
        hoverinfo="text",
        showlegend=False,
        meta={"role": "kernel"},
    )


def _floor(rate: float, kernels: Sequence[str], legend: bool) -> go.Scatter:
    return go.Scatter(
        name="floor",
        legendgroup="floor",
        showlegend=legend,
        x=[rate] * len(kernels),
        y=list(kernels),
        mode="markers",
        marker={"symbol": "line-ns", "size": ROW_PX - 8, "line": {"width": 2}},
        hovertext=[f"floor: {units.gflops(rate)}"] * len(kernels),
        hoverinfo="text",
        meta={"role": "floor"},
    )
