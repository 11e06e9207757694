"""Roofline: throughput of each kernel against the limit that the memory bandwidth sets.

Williams, Waterman, Patterson: Roofline, an insightful visual performance model, CACM 52 (2009).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import column, gflops, number, percent, rate
from web.figures import markers
from web.figures.base import LogAxis, blank, caption, escape, log_axis
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
from web.figures.highlighting import OTHERS_MARKER
from web.figures.panels import Legend, Panels, panels
from web.palette import position, style, symbol_of

PANEL_PX = 360
LABELS = 2
"""Upper end of the axis as a multiple of the highest roof: room for its label."""


@dataclass(frozen=True, slots=True)
class Point:
    """A kernel on a matrix.

    intensity  2·nnz / compulsory bytes, in FLOP/byte: equal for all kernels of a matrix
    roof       copy bandwidth in bytes/s at that footprint, from which the roofline time is computed
    share      of the roofline; above 1 if a format moves fewer bytes than CSR
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
    roofs    the lowest and the highest with their names, one if they are equal: small matrices in a warm cache have the
             bandwidth of the cache
    named    the formats in color; the others are gray
    reach    least and greatest share of the roofline of the best kernel of a matrix; None if all timings are too noisy
    """

    place: Place
    points: tuple[Point, ...]
    fastest: tuple[Point, ...]
    roofs: Mapping[float, str]
    named: tuple[str, ...]
    reach: tuple[float, float] | None


def info(data: StudyData) -> Panels[Panel]:
    """Return a panel per device and cache state that has a point."""
    return Panels(
        tuple(
            _panel(place, groups, points, data)
            for place, groups in by_place(data.measurements).items()
            if (points := _points(groups, data))
        )
    )


def draw(info: Panels[Panel]) -> go.Figure:
    """Return GFLOP/s over arithmetic intensity, both log, a point per kernel and matrix, with the rooflines."""
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
            points = [point for point in panel.points if point.measurement.format == name]
            if points:
                symbols = [symbol_of(point.measurement.kernel) for point in points]
                look = markers.point(style(name).color, symbols, 7)
                figure.add_trace(_markers(points, name, look, legend), row=row, col=1)
        for roof, name in panel.roofs.items():
            figure.add_trace(_roof(roof, name, x), row=row, col=1)
    # Library kernels are drawn first, behind Sparsight kernels, and listed last.
    figure.update_layout(legend_traceorder="reversed")
    figure.update_xaxes(**x.settings)
    figure.update_yaxes(**y.settings, title_text="GFLOP/s")
    figure.update_xaxes(title_text="FLOP per compulsory byte", title_standoff=4, row=len(info.panels), col=1)
    return figure


def table(info: Panels[Panel]) -> Table:
    """Return the fastest kernel of each format on each matrix, with its share of the roofline."""
    texts = (*(Head(text, numeric=False) for text in ("matrix", "device", "cache")), Head("intensity", "FLOP/byte"))
    heads = (
        *texts,
        Head("bandwidth"),
        Head("kernel", numeric=False),
        Head("throughput", "GFLOP/s"),
        Head("roofline", "%"),
    )
    rows: list[tuple[str, ...]] = []
    for panel in info.panels:
        rates = column([point.measurement.gflops for point in panel.fastest])
        for point, throughput in zip(panel.fastest, rates, strict=True):
            kernel = point.measurement.kernel, throughput, percent(point.share)
            rows.append((point.matrix, *panel.place, number(point.intensity), rate(point.roof), *kernel))
    return Table(heads, tuple(rows))


def summary(info: Panels[Panel]) -> str:
    """Return what limits a kernel, and what share of it the best kernels reach."""
    if not info.panels:
        return NO_TIME
    reached = []
    for panel in info.panels:
        if panel.reach is None:
            continue
        low, high = map(percent, panel.reach)
        reach = f"reaches {low}" if low == high else f"reaches {low} to {high}"
        reached.append(f"On {place_in_words(panel.place)}, the fastest kernel of a matrix {reach} of its roofline.")
    what = "Throughput of every kernel and matrix under the measured copy bandwidth of the cache or the memory."
    more = "The roof assumes the bytes of CSR. A kernel below it can still gain. A format that stores fewer bytes can "
    return caption(what, reached, (f"{more}exceed it.",))


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
    """Return the roofs, rounded to three digits, with their names; equal roofs are one line."""
    low, high = (float(f"{roof:.2e}") for roof in (min(roofs), max(roofs)))
    return {low: "bandwidth"} if low == high else {low: "memory", high: "cache"}


def _markers(points: Sequence[Point], name: str, marker: dict[str, Any], legend: Legend) -> go.Scatter:
    formats = {point.measurement.format for point in points}
    return markers.points(
        [(point.intensity, point.measurement.gflops, _hover(point), point.measurement) for point in points],
        marker,
        **legend.entry(escape(name)),
        meta={"role": "point", "format": formats.pop() if len(formats) == 1 else ""},
    )


def _hover(point: Point) -> str:
    m = point.measurement
    return markers.hover(m.kernel, f" on {point.matrix}", f"{gflops(m.gflops)}, {percent(point.share)} of roofline")


def _roof(roof: float, name: str, x: LogAxis) -> go.Scatter:
    ends = [10**end for end in x.settings["range"]]
    return go.Scatter(
        x=ends,
        y=[end * roof / 1e9 for end in ends],
        mode="lines+text",
        # Both rise to the right: one label is above the end of the upper line, one below the start of the lower line.
        text=["", f"{name} {rate(roof)} "] if name == "cache" else [f" {name} {rate(roof)}", ""],
        textposition="top left" if name == "cache" else "bottom right",
        line={"width": 1.5},
        hoverinfo="skip",
        showlegend=False,
        meta={"role": "roof", "bytes_per_s": roof},
    )
