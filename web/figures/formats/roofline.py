"""The roofline: how near each kernel is to what the bandwidth of the device allows.

Williams, Waterman, Patterson: Roofline, an insightful visual performance model, CACM 52 (2009).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.records import Measurement
from web.figures.base import Head, LogAxis, Table, blank, escape, log_axis
from web.figures.formats.groups import NO_TIME, Groups, by_place, fastest_by_format, in_words
from web.figures.panels import Legend, panels
from web.palette import position, style
from web.shown import Shown
from web.units import column, gflops, number, percent, rate

PANEL_PX = 360


@dataclass(frozen=True, slots=True)
class Point:
    """A kernel on a matrix.

    intensity  2·nnz / compulsory bytes, in FLOP/byte: the same for every kernel of a matrix
    roof       bytes/s that its floor divides by: the copy rate of the device at that footprint
    """

    measurement: Measurement
    intensity: float
    roof: float

    @property
    def share(self) -> float:
        """Of the roof; above 1 for a format that moves fewer bytes than CSR."""
        return (self.measurement.gflops or 0.0) * 1e9 / (self.intensity * self.roof)


def draw(shown: Shown) -> go.Figure:
    """GFLOP/s over arithmetic intensity, both log, a point per kernel and matrix, with the roofs of the bandwidth.

    A panel per device and cache. The lowest and the highest roof are drawn: warm, small matrices have the cache's.
    """
    found = {place: points(groups, shown) for place, groups in by_place(shown.measurements).items()}
    found = {place: group for place, group in found.items() if group}
    if not found:
        return blank("No results yet.")
    every = [point for group in found.values() for point in group]
    names = {point.measurement.format for point in every}
    x = log_axis([point.intensity for point in every], least_span=2.0)
    highest = 10 ** x.settings["range"][1] * max(point.roof for point in every) / 1e9
    y = log_axis([highest, *(point.measurement.gflops or 0.0 for point in every)])
    figure = panels([in_words(place) for place in found], [PANEL_PX] * len(found), len(names))
    legend = Legend()
    for row, group in enumerate(found.values(), start=1):
        for name in sorted(names, key=position, reverse=True):
            own = [point for point in group if point.measurement.format == name]
            if own:
                figure.add_trace(_markers(own, name, shown, legend), row=row, col=1)
        for roof in _roofs(group):
            figure.add_trace(_roof(roof, x), row=row, col=1)
    # Libraries are drawn first, behind our own, and listed last.
    figure.update_layout(legend_traceorder="reversed")
    figure.update_xaxes(**x.settings)
    figure.update_yaxes(**y.settings, title_text="GFLOP/s")
    figure.update_xaxes(title_text="FLOP per compulsory byte", title_standoff=4, row=len(found), col=1)
    return figure


def table(shown: Shown) -> Table:
    """The fastest kernel of each format on each matrix, with its share of the roof."""
    texts = (*(Head(text, numeric=False) for text in ("matrix", "device", "cache")), Head("intensity", "FLOP/byte"))
    heads = (*texts, Head("roof"), Head("kernel", numeric=False), Head("rate", "GFLOP/s"), Head("share of", "roof"))
    rows: list[tuple[str, ...]] = []
    for place, groups in by_place(shown.measurements).items():
        fastest = {matrix_id: list(fastest_by_format(group).values()) for matrix_id, group in groups.items()}
        found = points(fastest, shown)
        rates = column([point.measurement.gflops for point in found])
        for point, gflops_text in zip(found, rates, strict=True):
            name = shown.matrix(point.measurement.matrix_id).name
            share = point.measurement.kernel, gflops_text, percent(point.share)
            rows.append((name, *place, number(point.intensity), rate(point.roof), *share))
    return Table(heads, tuple(rows))


def summary(shown: Shown) -> str:
    """What a product can reach at most, and how near the best kernels come."""
    said = "Every kernel of every matrix under the copy bandwidth of the device; the distance to the roof is what a "
    said += "better kernel could still gain, and a format that stores less than CSR may pass it."
    found = {place: points(groups, shown) for place, groups in by_place(shown.measurements).items()}
    if not any(found.values()):
        return NO_TIME
    for place, group in found.items():
        best: dict[str, float] = {}
        for point in group:
            matrix_id = point.measurement.matrix_id
            best[matrix_id] = max(best.get(matrix_id, 0.0), point.share)
        if best:
            low, high = percent(min(best.values())), percent(max(best.values()))
            reach = f"reaches {low}" if low == high else f"reaches {low} to {high}"
            said += f" On {in_words(place)} the fastest kernel of a matrix {reach} of it."
    return said


def points(groups: Groups, shown: Shown) -> list[Point]:
    """The timed kernels of matrices whose shape is known, in the order of the groups."""
    found = []
    for matrix_id, group in groups.items():
        known = shown.matrix(matrix_id)
        for m in group:
            if known.nnz and m.median_s and m.floor_s:
                compulsory = known.compulsory_bytes
                found.append(Point(m, 2 * known.nnz / compulsory, compulsory / m.floor_s))
    return found


def _markers(group: Sequence[Point], name: str, shown: Shown, legend: Legend) -> go.Scatter:
    look = style(name)
    return go.Scatter(
        **legend.entry(escape(name)),
        x=[point.intensity for point in group],
        y=[point.measurement.gflops for point in group],
        mode="markers",
        marker={"color": look.color, "symbol": look.symbol, "size": 7, "line": {"width": 0.5}},
        hovertext=[_hover(point, shown.matrix(point.measurement.matrix_id).name) for point in group],
        hoverinfo="text",
        meta={"role": "point", "format": name},
    )


def _hover(point: Point, name: str) -> str:
    m = point.measurement
    return f"<b>{escape(m.kernel)}</b> on {escape(name)}<br>{gflops(m.gflops)}, {percent(point.share)} of the roof"


def _roofs(group: Sequence[Point]) -> list[float]:
    """The lowest and the highest roof, to three digits: floors are rounded, and equal roofs are one line."""
    rounded = [float(f"{point.roof:.2e}") for point in group]
    return sorted({min(rounded), max(rounded)})


def _roof(roof: float, x: LogAxis) -> go.Scatter:
    ends = [10**end for end in x.settings["range"]]
    return go.Scatter(
        x=ends,
        y=[end * roof / 1e9 for end in ends],
        mode="lines+text",
        text=[f" {rate(roof)}", ""],
        textposition="bottom right",
        line={"width": 1.5},
        hoverinfo="skip",
        showlegend=False,
        meta={"role": "roof", "bytes_per_s": roof},
    )
