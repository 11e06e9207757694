"""Figures of the `formats` study: how fast each kernel is, beside the bounds that no kernel of its kind beats."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from gpu_engine.records import Measurement
from web.comparison import group_by_facet
from web.figures.base import blank, escape, shorten
from web.palette import style
from web.units import gflops, percent, seconds

ROW_PX = 28
GAP_PX = 52
"""Between facets: the tick labels of one and the title of the next."""

TOP_PX, BOTTOM_PX = 32, 76
"""The first title; the axis title and the legend below the last facet."""

BOUNDS = (("floor_s", "floor", "line-ns"), ("gather_floor_s", "gather floor", "diamond-tall"))
NO_NAMES: Mapping[str, str] = MappingProxyType({})


def bars(measurements: Sequence[Measurement], names: Mapping[str, str] = NO_NAMES) -> go.Figure:
    """GFLOP/s by kernel, fastest first, a facet per matrix, device and cache, with both floors marked on each row.

    names  matrix id → name; an absent one is shown by its id. Failed and skipped kernels keep their row, without a bar.
    """
    facets = group_by_facet(measurements)
    if not facets:
        return blank("No results yet.")
    rows = [len(group) * ROW_PX for group in facets.values()]
    inner = sum(rows) + GAP_PX * (len(rows) - 1)
    figure = make_subplots(
        rows=len(rows),
        cols=1,
        row_heights=rows,
        vertical_spacing=GAP_PX / inner if len(rows) > 1 else 0,
        subplot_titles=[
            f"{escape(shorten(names.get(matrix, matrix)))} · {device} · {cache}" for matrix, device, cache in facets
        ],
    )
    for row, group in enumerate(facets.values(), start=1):
        _draw_facet(figure, group, row)
    figure.update_annotations(x=0, xanchor="left", font_size=13)
    figure.update_xaxes(title_text="GFLOP/s", title_standoff=4, row=len(rows), col=1)
    figure.update_layout(
        template="none",
        height=inner + TOP_PX + BOTTOM_PX,
        bargap=0.3,
        barmode="overlay",
        margin={"l": 8, "r": 16, "t": TOP_PX, "b": BOTTOM_PX},
        legend={"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"},
    )
    return figure


def _draw_facet(figure: go.Figure, group: Sequence[Measurement], row: int) -> None:
    order = [m.kernel for m in group]
    timed = [m for m in group if m.gflops is not None and m.median_s]
    for m in timed:
        figure.add_trace(_bar(m), row=row, col=1)
    for field, name, symbol in BOUNDS:
        marked = [m for m in timed if getattr(m, field)]
        figure.add_trace(_bound(marked, field, name, symbol, row == 1), row=row, col=1)
    untimed = [m for m in group if m.median_s is None]
    if untimed:
        figure.add_trace(_reasons(untimed), row=row, col=1)
    figure.update_yaxes(
        categoryorder="array", categoryarray=order, range=[len(order) - 0.5, -0.5], automargin=True, row=row, col=1
    )
    figure.update_xaxes(rangemode="tozero", row=row, col=1)


def _bar(m: Measurement) -> go.Bar:
    look = style(m.format)
    rate, low, high = _rate(m, m.median_s), _rate(m, m.ci_high_s), _rate(m, m.ci_low_s)
    lines = [
        f"<b>{escape(m.kernel)}</b> {gflops(m.gflops)}",
        f"median {seconds(m.median_s)}, 95 % interval {seconds(m.ci_low_s)} to {seconds(m.ci_high_s)}",
    ]
    return go.Bar(
        name=escape(m.kernel),
        x=[rate],
        y=[m.kernel],
        orientation="h",
        error_x={"type": "data", "symmetric": False, "array": [high - rate], "arrayminus": [rate - low]},
        marker={
            "color": look.color,
            "line": {"width": 1},
            "pattern": {"shape": look.pattern, "fillmode": "overlay", "fgopacity": 0.45, "size": 6},
        },
        hovertext=["<br>".join(lines)],
        hoverinfo="text",
        showlegend=False,
        meta={"role": "kernel", "format": m.format},
    )


def _bound(group: Sequence[Measurement], field: str, name: str, symbol: str, legend: bool) -> go.Scatter:
    def text(m: Measurement) -> str:
        bound = getattr(m, field)
        return f"{name} {seconds(bound)}; {escape(m.kernel)} runs at {percent(bound / (m.median_s or 1.0))} of it"

    return go.Scatter(
        name=name,
        x=[_rate(m, getattr(m, field)) for m in group],
        y=[m.kernel for m in group],
        mode="markers",
        marker={"symbol": symbol, "size": ROW_PX - 8 if symbol == "line-ns" else 9, "line": {"width": 2}},
        hovertext=[text(m) for m in group],
        hoverinfo="text",
        showlegend=legend and bool(group),
        legendgroup=name,
        meta={"role": field.removesuffix("_s")},
    )


def _reasons(group: Sequence[Measurement]) -> go.Scatter:
    return go.Scatter(
        name="no time",
        x=[0.0] * len(group),
        y=[m.kernel for m in group],
        mode="text",
        text=[f" {m.state}" for m in group],
        textposition="middle right",
        hovertext=[escape(m.note or m.state) for m in group],
        hoverinfo="text",
        showlegend=False,
        meta={"role": "reason"},
    )


def _rate(m: Measurement, time_s: float | None) -> float:
    """GFLOP/s that the matrix would reach in `time_s` seconds; its own rate where no time is given."""
    if m.gflops is None or not m.median_s or not time_s:
        return m.gflops or 0.0
    return m.gflops * m.median_s / time_s
