"""GFLOP/s over the number of nonzeros: from which size on a format is fast, and where the cache ends."""

from collections.abc import Sequence

import plotly.graph_objects as go

from gpu_engine.records import Measurement
from web.figures.base import Head, Table, blank, escape, log_axis
from web.figures.formats.groups import NO_TIME, Groups, Place, by_place, fastest_by_format, in_words
from web.figures.panels import Legend, panels
from web.palette import SYMBOLS, position, style
from web.shown import Shown
from web.units import column, count, gflops

PANEL_PX = 340

Point = tuple[str, Measurement]
"""(what it is drawn as: a format or a kernel, its measurement)."""


def draw(shown: Shown) -> go.Figure:
    """GFLOP/s over nnz, both log, a point per matrix and format, a panel per device and cache.

    shown.kernels  drawn one by one; empty: the fastest of each format
    """
    found = {place: _points(groups, shown) for place, groups in by_place(shown.measurements).items()}
    found = {place: group for place, group in found.items() if group}
    if not found:
        return blank("No results yet.")
    every = [point for group in found.values() for point in group]
    # Libraries are drawn first, behind our own, and listed last.
    last_first = sorted(every, key=lambda point: position(point[1].format), reverse=True)
    names = dict.fromkeys(name for name, _ in last_first)
    figure = panels([in_words(place) for place in found], [PANEL_PX] * len(found), len(names))
    legend = Legend()
    for row, group in enumerate(found.values(), start=1):
        for number, name in enumerate(names):
            own = [m for drawn_as, m in group if drawn_as == name]
            if own:
                symbol = SYMBOLS[number % len(SYMBOLS)] if shown.kernels else style(own[0].format).symbol
                figure.add_trace(_markers(own, name, symbol, shown, legend), row=row, col=1)
    figure.update_layout(legend_traceorder="reversed")
    figure.update_xaxes(**log_axis([shown.matrix(m.matrix_id).nnz for _, m in every]).settings)
    figure.update_yaxes(**log_axis([m.gflops or 0.0 for _, m in every]).settings, title_text="GFLOP/s")
    figure.update_xaxes(title_text="nnz", title_standoff=4, row=len(found), col=1)
    return figure


def table(shown: Shown) -> Table:
    """A row per matrix and format or kernel, by ascending nnz."""
    heads = (*(Head(text, numeric=False) for text in ("matrix", "device", "cache")), Head("nnz"))
    rows: list[tuple[str, ...]] = []
    for place, groups in by_place(shown.measurements).items():
        rows += _rows(place, _points(groups, shown), shown)
    return Table((*heads, Head("kernel", numeric=False), Head("rate", "GFLOP/s")), tuple(rows))


def summary(shown: Shown) -> str:
    """What the points are, and how far the sizes span."""
    sizes = [shown.matrix(m.matrix_id).nnz for m in shown.measurements if m.median_s]
    if not sizes:
        return NO_TIME
    span = f", from {count(min(sizes))} to {count(max(sizes))} nonzeros"
    what = "Each chosen kernel" if shown.kernels else "The fastest kernel of each format"
    return f"{what} on each matrix{span}: small matrices do not fill a device, large ones leave its cache."


def _points(groups: Groups, shown: Shown) -> list[Point]:
    """By ascending nnz; matrices whose nnz is not known are left out."""
    known = [matrix_id for matrix_id in groups if shown.matrix(matrix_id).nnz]
    ordered = sorted(known, key=lambda matrix_id: shown.matrix(matrix_id).nnz)
    if shown.kernels:
        return [(m.kernel, m) for i in ordered for m in groups[i] if m.median_s and m.kernel in shown.kernels]
    return [point for matrix_id in ordered for point in fastest_by_format(groups[matrix_id]).items()]


def _rows(place: Place, points: Sequence[Point], shown: Shown) -> list[tuple[str, ...]]:
    rates = column([m.gflops for _, m in points])
    known = [shown.matrix(m.matrix_id) for _, m in points]
    return [
        (matrix.name, *place, count(matrix.nnz), m.kernel, rate)
        for matrix, (_, m), rate in zip(known, points, rates, strict=True)
    ]


def _markers(group: Sequence[Measurement], name: str, symbol: str, shown: Shown, legend: Legend) -> go.Scatter:
    known = [shown.matrix(m.matrix_id) for m in group]
    return go.Scatter(
        **legend.entry(escape(name)),
        x=[matrix.nnz for matrix in known],
        y=[m.gflops for m in group],
        mode="markers",
        marker={"color": style(group[0].format).color, "symbol": symbol, "size": 8, "line": {"width": 0.5}},
        hovertext=[
            f"<b>{escape(m.kernel)}</b> {gflops(m.gflops)}<br>{escape(matrix.name)}, {count(matrix.nnz)} nonzeros"
            for m, matrix in zip(group, known, strict=True)
        ],
        hoverinfo="text",
        meta={"role": "point", "format": group[0].format},
    )
