"""The roofline: how near each kernel is to what the bandwidth of the device allows.

Williams, Waterman, Patterson: Roofline, an insightful visual performance model, CACM 52 (2009).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import column, gflops, number, rate, ratio
from web.figures import marks
from web.figures.base import LogAxis, blank, caption, escape, log_axis
from web.figures.emphasis import OTHERS_MARKER
from web.figures.formats.groups import (
    NO_RESULTS,
    NO_TIME,
    Groups,
    Place,
    by_place,
    fastest_by_format,
    named_formats,
    place_in_words,
    quiet,
)
from web.figures.panels import Legend, Panels, panels
from web.palette import position, style

PANEL_PX = 360
LABELS = 2
"""Times the highest roof: room for what stands above it."""


@dataclass(frozen=True, slots=True)
class Point:
    """A kernel on a matrix.

    intensity  2·nnz / compulsory bytes, in FLOP/byte: the same for every kernel of a matrix
    roof       bytes/s that its floor divides by: the copy rate of the device at that footprint
    share      of the roof; above 1 for a format that moves fewer bytes than CSR
    """

    matrix: str
    measurement: Measurement
    intensity: float
    roof: float
    share: float


@dataclass(frozen=True, slots=True)
class Panel:
    """The timed kernels of matrices whose shape is known, on one device in one cache state.

    fastest  of each format on each matrix
    roofs    the lowest and the highest with their names, one where they are equal: warm, small matrices have the
             cache's
    named    the formats in colours; the others are grey
    reach    the least and the most that the best kernel of a matrix has of its roof; None where every machine was busy
    """

    place: Place
    points: tuple[Point, ...]
    fastest: tuple[Point, ...]
    roofs: Mapping[float, str]
    named: tuple[str, ...]
    reach: tuple[float, float] | None


def info(data: StudyData) -> Panels[Panel]:
    """A panel per device and cache that has a point."""
    return Panels(
        tuple(
            _panel(place, groups, points, data)
            for place, groups in by_place(data.measurements).items()
            if (points := _points(groups, data))
        )
    )


def draw(info: Panels[Panel]) -> go.Figure:
    """GFLOP/s over arithmetic intensity, both log, a point per kernel and matrix, with the roofs of the bandwidth."""
    if not info.panels:
        return blank(NO_RESULTS)
    every = [point for panel in info.panels for point in panel.points]
    x = log_axis([point.intensity for point in every], least_span=2.0)
    highest = 10 ** x.settings["range"][1] * max(point.roof for point in every) / 1e9
    y = log_axis([LABELS * highest, *(point.measurement.gflops or 0.0 for point in every)])
    named = sorted({name for panel in info.panels for name in panel.named}, key=position, reverse=True)
    heights = [PANEL_PX] * len(info.panels)
    figure = panels([place_in_words(panel.place) for panel in info.panels], heights, len(named) + 1)
    legend = Legend()
    for row, panel in enumerate(info.panels, start=1):
        if others := [point for point in panel.points if point.measurement.format not in panel.named]:
            figure.add_trace(_markers(others, "others", OTHERS_MARKER, legend), row=row, col=1)
        for name in named:
            own = [point for point in panel.points if point.measurement.format == name]
            if own:
                look = style(name)
                figure.add_trace(_markers(own, name, marks.point(look.color, look.symbol, 7), legend), row=row, col=1)
        for roof, name in panel.roofs.items():
            figure.add_trace(_roof(roof, name, x), row=row, col=1)
    # Libraries are drawn first, behind our own, and listed last.
    figure.update_layout(legend_traceorder="reversed")
    figure.update_xaxes(**x.settings)
    figure.update_yaxes(**y.settings, title_text="GFLOP/s")
    figure.update_xaxes(title_text="FLOP per compulsory byte", title_standoff=4, row=len(info.panels), col=1)
    return figure


def table(info: Panels[Panel]) -> Table:
    """The fastest kernel of each format on each matrix, with its share of the roof."""
    texts = (*(Head(text, numeric=False) for text in ("matrix", "device", "cache")), Head("intensity", "FLOP/byte"))
    heads = (*texts, Head("roof"), Head("kernel", numeric=False), Head("rate", "GFLOP/s"), Head("of the CSR roof"))
    rows: list[tuple[str, ...]] = []
    for panel in info.panels:
        rates = column([point.measurement.gflops for point in panel.fastest])
        for point, own in zip(panel.fastest, rates, strict=True):
            kernel = point.measurement.kernel, own, ratio(point.share)
            rows.append((point.matrix, *panel.place, number(point.intensity), rate(point.roof), *kernel))
    return Table(heads, tuple(rows))


def summary(info: Panels[Panel]) -> str:
    """What a product can reach at most, and how near the best kernels come."""
    if not info.panels:
        return NO_TIME
    found = []
    for panel in info.panels:
        if panel.reach is None:
            continue
        low, high = map(ratio, panel.reach)
        reach = f"reaches {low}" if low == high else f"reaches {low} to {high}"
        found.append(f"On {place_in_words(panel.place)} the fastest kernel of a matrix {reach} its roof.")
    more = (
        "The roof counts the bytes of CSR: the distance to it is what a better kernel could still gain, and a format "
    )
    more += "that stores less may pass it."
    what = (
        "Every kernel of every matrix under the copy bandwidth of the device, that of its cache or that of its memory."
    )
    return caption(what, found, (more,))


def _panel(place: Place, groups: Groups, points: tuple[Point, ...], data: StudyData) -> Panel:
    fastest = {matrix_id: list(fastest_by_format(group).values()) for matrix_id, group in groups.items()}
    best: dict[str, float] = {}
    for point in _points(quiet(groups), data):
        matrix_id = point.measurement.matrix_id
        best[matrix_id] = max(best.get(matrix_id, 0.0), point.share)
    reach = (min(best.values()), max(best.values())) if best else None
    named = named_formats([groups], data.baseline)
    return Panel(place, points, _points(fastest, data), _roofs([point.roof for point in points]), named, reach)


def _points(groups: Groups, data: StudyData) -> tuple[Point, ...]:
    points = []
    for matrix_id, group in groups.items():
        matrix = data.matrix(matrix_id)
        for m in group:
            if matrix.nnz and m.median_s and m.roofline_s:
                intensity, roof = 2 * matrix.nnz / matrix.compulsory_bytes, matrix.compulsory_bytes / m.roofline_s
                points.append(Point(matrix.name, m, intensity, roof, (m.gflops or 0.0) * 1e9 / (intensity * roof)))
    return tuple(points)


def _roofs(roofs: Sequence[float]) -> dict[float, str]:
    """To three digits, with their names: floors are rounded, and equal roofs are one line."""
    low, high = (float(f"{roof:.2e}") for roof in (min(roofs), max(roofs)))
    return {low: "bandwidth"} if low == high else {low: "memory", high: "cache"}


def _markers(points: Sequence[Point], name: str, marker: dict[str, Any], legend: Legend) -> go.Scatter:
    formats = {point.measurement.format for point in points}
    return marks.points(
        [(point.intensity, point.measurement.gflops, _hover(point), point.measurement) for point in points],
        marker,
        **legend.entry(escape(name)),
        meta={"role": "point", "format": formats.pop() if len(formats) == 1 else ""},
    )


def _hover(point: Point) -> str:
    m = point.measurement
    return marks.hover(m.kernel, f" on {point.matrix}", f"{gflops(m.gflops)}, {ratio(point.share)} the CSR roof")


def _roof(roof: float, name: str, x: LogAxis) -> go.Scatter:
    ends = [10**end for end in x.settings["range"]]
    return go.Scatter(
        x=ends,
        y=[end * roof / 1e9 for end in ends],
        mode="lines+text",
        # Both rise to the right: a label is above the upper one at its end, and below the lower one where it begins.
        text=["", f"{name} {rate(roof)} "] if name == "cache" else [f" {name} {rate(roof)}", ""],
        textposition="top left" if name == "cache" else "bottom right",
        line={"width": 1.5},
        hoverinfo="skip",
        showlegend=False,
        meta={"role": "roof", "bytes_per_s": roof},
    )
