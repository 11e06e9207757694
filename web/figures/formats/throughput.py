"""Throughput over the number of nonzeros: the size from which a format is fast, and the end of the cache."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import column, count, gflops
from web.figures import markers
from web.figures.base import blank, escape, log_axis
from web.figures.formats.groups import (
    NO_RESULTS,
    NO_TIME,
    Groups,
    Place,
    by_place,
    fastest_by_format,
    named_formats,
    place_in_words,
)
from web.figures.highlighting import NAMED_MAX, OTHERS_MARKER
from web.figures.panels import Legend, panels
from web.palette import SYMBOLS, position, style

PANEL_PX = 340


@dataclass(frozen=True, slots=True)
class Point:
    """A kernel on a matrix; name: of the series that draws it, its format or its kernel."""

    name: str
    matrix: str
    nnz: int
    measurement: Measurement


@dataclass(frozen=True, slots=True)
class Info:
    """The points by device and cache state, each by ascending nnz.

    names      of the series: library kernels first, behind Sparsight kernels
    named      the series in color; the others are gray
    by_kernel  whether the reader selected kernels
    sizes      the smallest and the largest nnz of timed matrices; None without any
    """

    points: Mapping[Place, tuple[Point, ...]]
    names: tuple[str, ...]
    named: tuple[str, ...]
    by_kernel: bool
    sizes: tuple[int, int] | None


def info(data: StudyData) -> Info:
    """Return a point per format and matrix whose nnz is known.

    data.kernels  each of them has a point; empty: the fastest of each format
    """
    places = by_place(data.measurements)
    points = {place: points_of_place for place, groups in places.items() if (points_of_place := _points(groups, data))}
    every = [point for place_points in points.values() for point in place_points]
    last_first = sorted(every, key=lambda point: position(point.measurement.format), reverse=True)
    sizes = [data.matrix(m.matrix_id).nnz for m in data.measurements if m.median_s]
    names = tuple(dict.fromkeys(point.name for point in last_first))
    chosen = names[-NAMED_MAX:] if data.kernels else named_formats(places.values(), data.baseline)
    return Info(points, names, chosen, bool(data.kernels), (min(sizes), max(sizes)) if sizes else None)


def draw(info: Info) -> go.Figure:
    """Return GFLOP/s over nnz, both log, a point per matrix and format, a panel per device and cache state."""
    if not info.points:
        return blank(NO_RESULTS)
    every = [point for points in info.points.values() for point in points]
    titles = [place_in_words(place) for place in info.points]
    figure = panels(titles, [PANEL_PX] * len(info.points), len(info.named) + 1)
    legend = Legend()
    for row, points in enumerate(info.points.values(), start=1):
        if others := [point for point in points if point.name not in info.named]:
            figure.add_trace(_markers(others, "others", OTHERS_MARKER, legend), row=row, col=1)
        for number, name in enumerate(info.names):
            points_of_name = [point for point in points if point.name == name and name in info.named]
            if points_of_name:
                look = style(points_of_name[0].measurement.format)
                symbol = SYMBOLS[number % len(SYMBOLS)] if info.by_kernel else look.symbol
                figure.add_trace(
                    _markers(points_of_name, name, markers.point(look.color, symbol, 8), legend), row=row, col=1
                )
    # Library kernels are drawn first, and listed last.
    figure.update_layout(legend_traceorder="reversed")
    figure.update_xaxes(**log_axis([point.nnz for point in every]).settings)
    figure.update_yaxes(**log_axis([p.measurement.gflops or 0.0 for p in every]).settings, title_text="GFLOP/s")
    figure.update_xaxes(title_text="nnz", title_standoff=4, row=len(info.points), col=1)
    return figure


def table(info: Info) -> Table:
    """Return a row per matrix and format or kernel, by ascending nnz."""
    heads = (*(Head(text, numeric=False) for text in ("matrix", "device", "cache")), Head("nnz"))
    rows = []
    for place, points in info.points.items():
        rates = column([point.measurement.gflops for point in points])
        rows += [(p.matrix, *place, count(p.nnz), p.measurement.kernel, r) for p, r in zip(points, rates, strict=True)]
    return Table((*heads, Head("kernel", numeric=False), Head("throughput", "GFLOP/s")), tuple(rows))


def summary(info: Info) -> str:
    """Return what the points are, and the range of sizes."""
    if info.sizes is None:
        return NO_TIME
    least, most = map(count, info.sizes)
    what = "Each chosen kernel" if info.by_kernel else "The fastest kernel of each format"
    span = f"from {least} to {most} nonzeros"
    others = set(info.names) - set(info.named)
    rest = " Formats that are rarely among the fastest are gray." if others else ""
    return f"{what} on each matrix, {span}. Small matrices do not fill a device; large ones exceed its cache.{rest}"


def _points(groups: Groups, data: StudyData) -> tuple[Point, ...]:
    points = []
    for matrix_id, group in groups.items():
        matrix = data.matrix(matrix_id)
        if data.kernels:
            fastest = [(m.kernel, m) for m in group if m.median_s and m.kernel in data.kernels]
        else:
            fastest = list(fastest_by_format(group).items())
        points += [Point(name, matrix.name, matrix.nnz, m) for name, m in fastest if matrix.nnz]
    return tuple(sorted(points, key=lambda point: point.nnz))


def _markers(points: Sequence[Point], name: str, marker: dict[str, Any], legend: Legend) -> go.Scatter:
    formats = {point.measurement.format for point in points}
    return markers.points(
        [(point.nnz, point.measurement.gflops, _hover(point), point.measurement) for point in points],
        marker,
        **legend.entry(escape(name)),
        meta={"role": "point", "format": formats.pop() if len(formats) == 1 else ""},
    )


def _hover(point: Point) -> str:
    m = point.measurement
    return markers.hover(m.kernel, f" {gflops(m.gflops)}", f"{point.matrix}, {count(point.nnz)} nonzeros")
