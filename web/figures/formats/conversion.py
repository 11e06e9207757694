"""Cost of a format: bytes stored per nonzero, and the break-even, the number of SpMVs that amortizes the conversion."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats.groups import baseline_of, once_s, products_to_pay
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, count, number, seconds
from web.figures import markers
from web.figures.base import LogAxis, blank, caption, escape, log_axis
from web.figures.formats.groups import NO_RESULTS, NO_TIME, Groups, Place, by_place, fastest_by_format, place_in_words
from web.figures.panels import panels
from web.palette import position, style

ROW_PX = 22
CSR_BYTES = 12.0
"""Bytes per nonzero in CSR: a value and a column."""

STORAGE, BREAK_EVEN = "storage", "break-even"
UNITS = {STORAGE: "bytes per nonzero", BREAK_EVEN: "SpMVs"}
"""Panels of a device and cache state, and the units of their axes."""


@dataclass(frozen=True, slots=True)
class Point:
    """The fastest kernel of a format on a matrix.

    stored    bytes per nonzero
    products  break-even in SpMVs; 0: at once, inf: never, None: inconclusive or unknown
    """

    matrix: str
    measurement: Measurement
    baseline: str
    stored: float
    products: float | None


@dataclass(frozen=True, slots=True)
class Info:
    """The points by device and cache state; formats: those of each place in the order of FORMATS."""

    points: Mapping[Place, tuple[Point, ...]]
    formats: Mapping[Place, tuple[str, ...]]


def info(data: StudyData) -> Info:
    """Return the fastest kernel of each format on each matrix whose nnz is known, including the format of the baseline.

    data.baseline  the kernel that a conversion must pay off against
    """
    places = by_place(data.measurements)
    points = {
        place: points_of_place for place, groups in places.items() if (points_of_place := tuple(_points(groups, data)))
    }
    names = {place: {p.measurement.format for p in points_of_place} for place, points_of_place in points.items()}
    return Info(points, {place: tuple(sorted(formats, key=position)) for place, formats in names.items()})


def draw(info: Info) -> go.Figure:
    """Return bytes per nonzero and the break-even: two panels per device and cache state, a row per format.

    Each matrix is a point. The second panel has no point of the baseline, and is absent if no break-even is known.
    """
    if not info.points:
        return blank(NO_RESULTS)
    every = [point for points in info.points.values() for point in points]
    axes = {
        STORAGE: log_axis([*(point.stored for point in every), CSR_BYTES], least_span=4.0),
        BREAK_EVEN: log_axis([p.products for p in every if p.products is not None], before="at once", after="never"),
    }
    panels_of_places = [
        (place, what) for place, points in info.points.items() for what in UNITS if what == STORAGE or _settled(points)
    ]
    titles = [f"{what} · {place_in_words(place)}" for place, what in panels_of_places]
    figure = panels(titles, [len(info.formats[place]) * ROW_PX for place, _ in panels_of_places], showlegend=False)
    for row, (place, what) in enumerate(panels_of_places, start=1):
        points = info.points[place]
        values = [
            point.stored if what == STORAGE else axis_position(axes[BREAK_EVEN], point.products) for point in points
        ]
        for name in info.formats[place]:
            figure.add_trace(_markers(name, points, values, is_of_times=what == BREAK_EVEN), row=row, col=1)
        markers.label_rows(figure, row, info.formats[place])
        figure.update_xaxes(**axes[what].settings, title_text=UNITS[what], title_standoff=2, row=row, col=1)
    return figure


def table(info: Info) -> Table:
    """Return a row per matrix and format."""
    heads = (
        *(Head(text, numeric=False) for text in ("matrix", "device", "cache", "kernel")),
        Head("storage", "bytes/nnz"),
        Head("conversion", "from CSR"),
        Head("break-even", "SpMVs"),
        Head("baseline", numeric=False),
    )
    rows = []
    for place, points in info.points.items():
        for point in points:
            m = point.measurement
            convert = seconds(once_s(m)) if once_s(m) else "none"
            costs = number(point.stored), convert, break_even_text(point.products)
            rows.append((point.matrix, *place, m.kernel, *costs, point.baseline))
    return Table(heads, tuple(rows))


def summary(info: Info) -> str:
    """Return what is drawn, and the baseline of the break-even."""
    every = [point for points in info.points.values() for point in points]
    if not every:
        return NO_TIME
    others = [point for point in every if point.measurement.kernel != point.baseline]
    against = " or ".join(dict.fromkeys(point.baseline for point in every))
    text = "Storage in bytes per nonzero, including padding (CSR: 12, and 4 per row)"
    if not _settled(every):
        return caption(f"{text}. The break-even against {against} is inconclusive on every matrix.")
    text += f", and break-even of the conversion against {against}."
    inconclusive = sum(point.products is None for point in others)
    unsettled = f"{inconclusive} of {len(others)} are inconclusive and have no point." if inconclusive else ""
    return caption(text, (), ("“Never” means the kernel is not measurably faster than the baseline.", unsettled))


def _settled(points: Sequence[Point]) -> bool:
    return any(point.products is not None for point in points)


def _points(groups: Groups, data: StudyData) -> Iterator[Point]:
    for matrix_id, group in groups.items():
        matrix = data.matrix(matrix_id)
        baseline = baseline_of([m for m in group if m.median_s], data.baseline)
        for m in fastest_by_format(group).values():
            if matrix.nnz and m.stored_bytes is not None and baseline is not None:
                products = None if m is baseline else products_to_pay(m, baseline)
                yield Point(matrix.name, m, baseline.kernel, m.stored_bytes / matrix.nnz, products)


def break_even_text(products: float | None) -> str:
    """Return `at once`, `120`, `never`, or an en dash if it is inconclusive."""
    if products is None:
        return MISSING
    return "never" if math.isinf(products) else count(products) if products else "at once"


def axis_position(axis: LogAxis, products: float | None) -> float | None:
    """Return the position of a break-even on an axis with `at once` and `never`; None if it is unknown."""
    if products is None:
        return None
    return axis.after if math.isinf(products) else products or axis.before


def _markers(name: str, points: Sequence[Point], values: Sequence[float | None], is_of_times: bool) -> go.Scatter:
    look = style(name)
    return markers.points(
        [
            (value, name, _hover(point), *([point.measurement] if is_of_times else []))
            for point, value in zip(points, values, strict=True)
            if point.measurement.format == name and value is not None
        ],
        markers.point(look.color, look.symbol, 8),
        name=escape(name),
        meta={"role": "point", "format": name},
    )


def _hover(point: Point) -> str:
    m = point.measurement
    spmvs = " SpMVs" if point.products and math.isfinite(point.products) else ""
    return markers.hover(
        m.kernel,
        f" on {point.matrix}",
        f"{number(point.stored)} bytes per nonzero, conversion {seconds(once_s(m))}",
        f"break-even vs {point.baseline}: {break_even_text(point.products)}{spmvs}",
    )
