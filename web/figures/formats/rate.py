"""GFLOP/s over the number of nonzeros: from which size on a format is fast, and where the cache ends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import column, count, gflops
from web.figures import marks
from web.figures.base import blank, escape, log_axis
from web.figures.emphasis import NAMED_MAX, OTHERS_MARKER
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
from web.figures.panels import Legend, panels
from web.palette import SYMBOLS, position, style

PANEL_PX = 340


@dataclass(frozen=True, slots=True)
class Point:
    """A kernel on a matrix; name: what it is drawn as, its format or itself."""

    name: str
    matrix: str
    nnz: int
    measurement: Measurement


@dataclass(frozen=True, slots=True)
class Info:
    """The points by device and cache, each by ascending nnz.

    names      what the points are drawn as: libraries first, behind our own
    named      those in colours; the others are grey
    by_kernel  whether the reader chose kernels
    sizes      the least and the most nonzeros of what has a time; None where nothing has
    """

    points: Mapping[Place, tuple[Point, ...]]
    names: tuple[str, ...]
    named: tuple[str, ...]
    by_kernel: bool
    sizes: tuple[int, int] | None


def info(data: StudyData) -> Info:
    """A point per matrix whose nnz is known and format.

    data.kernels  are points one by one; empty: the fastest of each format
    """
    places = by_place(data.measurements)
    points = {place: own for place, groups in places.items() if (own := _points(groups, data))}
    every = [point for own in points.values() for point in own]
    last_first = sorted(every, key=lambda point: position(point.measurement.format), reverse=True)
    sizes = [data.matrix(m.matrix_id).nnz for m in data.measurements if m.median_s]
    names = tuple(dict.fromkeys(point.name for point in last_first))
    chosen = names[-NAMED_MAX:] if data.kernels else named_formats(places.values(), data.baseline)
    return Info(points, names, chosen, bool(data.kernels), (min(sizes), max(sizes)) if sizes else None)


def draw(info: Info) -> go.Figure:
    """GFLOP/s over nnz, both log, a point per matrix and format, a panel per device and cache."""
    if not info.points:
        return blank(NO_RESULTS)
    every = [point for own in info.points.values() for point in own]
    titles = [place_in_words(place) for place in info.points]
    figure = panels(titles, [PANEL_PX] * len(info.points), len(info.named) + 1)
    legend = Legend()
    for row, points in enumerate(info.points.values(), start=1):
        if others := [point for point in points if point.name not in info.named]:
            figure.add_trace(_markers(others, "others", OTHERS_MARKER, legend), row=row, col=1)
        for number, name in enumerate(info.names):
            own = [point for point in points if point.name == name and name in info.named]
            if own:
                look = style(own[0].measurement.format)
                symbol = SYMBOLS[number % len(SYMBOLS)] if info.by_kernel else look.symbol
                figure.add_trace(_markers(own, name, marks.point(look.color, symbol, 8), legend), row=row, col=1)
    # Libraries are drawn first, and listed last.
    figure.update_layout(legend_traceorder="reversed")
    figure.update_xaxes(**log_axis([point.nnz for point in every]).settings)
    figure.update_yaxes(**log_axis([p.measurement.gflops or 0.0 for p in every]).settings, title_text="GFLOP/s")
    figure.update_xaxes(title_text="nnz", title_standoff=4, row=len(info.points), col=1)
    return figure


def table(info: Info) -> Table:
    """A row per matrix and format or kernel, by ascending nnz."""
    heads = (*(Head(text, numeric=False) for text in ("matrix", "device", "cache")), Head("nnz"))
    rows = []
    for place, own in info.points.items():
        rates = column([point.measurement.gflops for point in own])
        rows += [(p.matrix, *place, count(p.nnz), p.measurement.kernel, r) for p, r in zip(own, rates, strict=True)]
    return Table((*heads, Head("kernel", numeric=False), Head("rate", "GFLOP/s")), tuple(rows))


def summary(info: Info) -> str:
    """What the points are, and how far the sizes span."""
    if info.sizes is None:
        return NO_TIME
    least, most = map(count, info.sizes)
    what = "Each chosen kernel" if info.by_kernel else "The fastest kernel of each format"
    span = f"from {least} to {most} nonzeros"
    others = set(info.names) - set(info.named)
    rest = " Grey are those that are seldom near the fastest; the table has all." if others else ""
    return f"{what} on each matrix, {span}: small matrices do not fill a device, large ones leave its cache.{rest}"


def _points(groups: Groups, data: StudyData) -> tuple[Point, ...]:
    points = []
    for matrix_id, group in groups.items():
        matrix = data.matrix(matrix_id)
        if data.kernels:
            own = [(m.kernel, m) for m in group if m.median_s and m.kernel in data.kernels]
        else:
            own = list(fastest_by_format(group).items())
        points += [Point(name, matrix.name, matrix.nnz, m) for name, m in own if matrix.nnz]
    return tuple(sorted(points, key=lambda point: point.nnz))


def _markers(points: Sequence[Point], name: str, marker: dict[str, Any], legend: Legend) -> go.Scatter:
    formats = {point.measurement.format for point in points}
    return marks.points(
        [(point.nnz, point.measurement.gflops, _hover(point), point.measurement) for point in points],
        marker,
        **legend.entry(escape(name)),
        meta={"role": "point", "format": formats.pop() if len(formats) == 1 else ""},
    )


def _hover(point: Point) -> str:
    m = point.measurement
    return marks.hover(m.kernel, f" {gflops(m.gflops)}", f"{point.matrix}, {count(point.nnz)} nonzeros")
