"""How fast each kernel is, beside the bounds that no kernel of its kind beats."""

from collections.abc import Sequence

import plotly.graph_objects as go

from gpu_engine.records import Measurement
from web.comparison import NAMED, Facet, comparisons, group_by_facet, join
from web.figures.base import blank, escape, shorten
from web.figures.panels import panels
from web.palette import style
from web.shown import Shown
from web.units import gflops, percent, seconds

ROW_PX = 28
ROWS_MAX = 60
"""Facets are drawn until they have so many bars together: more than that nobody reads."""

FASTEST_NAMED = 6
BOUNDS = (("floor_s", "floor", "line-ns"), ("gather_floor_s", "gather floor", "diamond-tall"))


def draw(shown: Shown) -> go.Figure:
    """GFLOP/s by kernel, fastest first, a facet per matrix, device and cache, with both floors marked on each row.

    Failed and skipped kernels keep their row, without a bar. Facets past ROWS_MAX rows are left out.
    """
    facets = _drawn(shown.measurements)
    if not facets:
        return blank("No results yet.")
    titles = [
        f"{escape(shorten(shown.matrix(matrix).name))} · {device} · {cache}" for (matrix, device, cache), _ in facets
    ]
    figure = panels(titles, [len(group) * ROW_PX for _, group in facets], len(BOUNDS), bargap=0.3, barmode="overlay")
    for row, (_, group) in enumerate(facets, start=1):
        _draw_facet(figure, group, row)
    figure.update_xaxes(title_text="GFLOP/s", title_standoff=4, row=len(facets), col=1)
    return figure


def summary(shown: Shown) -> str:
    """What the bars show, and the fastest kernels."""
    found = comparisons(shown.measurements)
    if not found:
        return "No results yet."
    axis = "GFLOP/s by kernel with 95 % intervals, beside both floors"
    if len(found) == 1:
        return f"{axis}: {found[0].sentence}"
    best = "; ".join(
        f"{shown.matrix(c.matrix_id).name} {join(c.leaders, NAMED) or 'nothing'}" for c in found[:FASTEST_NAMED]
    )
    more = f"; {len(found) - FASTEST_NAMED} more in the tables" if len(found) > FASTEST_NAMED else ""
    drawn = len(_drawn(shown.measurements))
    left = f" Drawn are the first {drawn} of {len(found)}; the tables have all." if drawn < len(found) else ""
    return f"{axis}. Fastest: {best}{more}.{left}"


def _drawn(measurements: Sequence[Measurement]) -> list[tuple[Facet, list[Measurement]]]:
    """The facets until ROWS_MAX, the first in any case."""
    drawn: list[tuple[Facet, list[Measurement]]] = []
    rows = 0
    for facet, group in group_by_facet(measurements).items():
        rows += len(group)
        if drawn and rows > ROWS_MAX:
            break
        drawn.append((facet, group))
    return drawn


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
    figure.update_yaxes(categoryorder="array", categoryarray=order, range=[len(order) - 0.5, -0.5], row=row, col=1)
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
