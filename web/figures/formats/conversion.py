"""What a format costs: the bytes it stores a nonzero, and after how many products its conversion has paid off."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats.groups import baseline_of, once_s, products_to_pay
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, count, number, seconds
from web.figures import marks
from web.figures.base import LogAxis, blank, caption, escape, log_axis
from web.figures.formats.groups import NO_RESULTS, NO_TIME, Groups, Place, by_place, fastest_by_format, place_in_words
from web.figures.panels import panels
from web.palette import position, style

ROW_PX = 22
CSR_BYTES = 12.0
"""A nonzero of CSR: a value and a column."""

STORED, PAYS = "stored", "conversion pays off"
UNITS = {STORED: "bytes per nonzero", PAYS: "products"}
"""The panels of a place, and what their axes say."""


@dataclass(frozen=True, slots=True)
class Point:
    """The fastest kernel of a format on a matrix.

    stored    bytes per nonzero
    products  after which the conversion has paid off; 0: at once, inf: never, None: not settled or not known
    """

    matrix: str
    measurement: Measurement
    baseline: str
    stored: float
    products: float | None


@dataclass(frozen=True, slots=True)
class Info:
    """The points by device and cache; formats: those of each place in the order of FORMATS."""

    points: Mapping[Place, tuple[Point, ...]]
    formats: Mapping[Place, tuple[str, ...]]


def info(data: StudyData) -> Info:
    """The fastest kernel of each format on each matrix whose nnz is known; the baseline's own format among them.

    data.baseline  what a conversion has to pay off against
    """
    places = by_place(data.measurements)
    points = {place: own for place, groups in places.items() if (own := tuple(_points(groups, data)))}
    names = {place: {point.measurement.format for point in own} for place, own in points.items()}
    return Info(points, {place: tuple(sorted(own, key=position)) for place, own in names.items()})


def draw(info: Info) -> go.Figure:
    """Per device and cache two panels, a row a format, a point a matrix: bytes per nonzero, and products to pay off.

    The baseline itself has no point in the second, which is not there where nothing is settled.
    """
    if not info.points:
        return blank(NO_RESULTS)
    every = [point for own in info.points.values() for point in own]
    axes = {
        STORED: log_axis([*(point.stored for point in every), CSR_BYTES], least_span=4.0),
        PAYS: log_axis([p.products for p in every if p.products is not None], before="at once", after="never"),
    }
    drawn = [(place, what) for place, own in info.points.items() for what in UNITS if what == STORED or _settled(own)]
    titles = [f"{what} · {place_in_words(place)}" for place, what in drawn]
    figure = panels(titles, [len(info.formats[place]) * ROW_PX for place, _ in drawn], showlegend=False)
    for row, (place, what) in enumerate(drawn, start=1):
        own = info.points[place]
        values = [point.stored if what == STORED else place_on(axes[PAYS], point.products) for point in own]
        for name in info.formats[place]:
            figure.add_trace(_markers(name, own, values, is_of_times=what == PAYS), row=row, col=1)
        marks.label_rows(figure, row, info.formats[place])
        figure.update_xaxes(**axes[what].settings, title_text=UNITS[what], title_standoff=2, row=row, col=1)
    return figure


def table(info: Info) -> Table:
    """A row per matrix and format."""
    heads = (
        *(Head(text, numeric=False) for text in ("matrix", "device", "cache", "kernel")),
        Head("stored", "bytes/nnz"),
        Head("conversion", "from CSR"),
        Head("pays off", "after products"),
        Head("against", numeric=False),
    )
    rows = []
    for place, own in info.points.items():
        for point in own:
            m = point.measurement
            convert = seconds(once_s(m)) if once_s(m) else "none"
            costs = number(point.stored), convert, in_words_products(point.products)
            rows.append((point.matrix, *place, m.kernel, *costs, point.baseline))
    return Table(heads, tuple(rows))


def summary(info: Info) -> str:
    """Which formats pay off, and against what."""
    every = [point for own in info.points.values() for point in own]
    if not every:
        return NO_TIME
    others = [point for point in every if point.measurement.kernel != point.baseline]
    against = " or ".join(dict.fromkeys(point.baseline for point in every))
    text = "Bytes stored a nonzero, padding included (CSR: 12 and 4 a row)"
    if not _settled(every):
        return caption(f"{text}. Whether a conversion pays off against {against} is settled nowhere here.")
    text += f", and after how many products the conversion has paid off against {against}."
    open_ = sum(point.products is None for point in others)
    unsettled = f"{open_} of {len(others)} are not settled and have no point." if open_ else ""
    return caption(text, (), ("Never: where the kernel is not measurably faster.", unsettled))


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


def in_words_products(products: float | None) -> str:
    """`at once`, `120`, `never`, or an en dash where it is not settled."""
    if products is None:
        return MISSING
    return "never" if math.isinf(products) else count(products) if products else "at once"


def place_on(axis: LogAxis, products: float | None) -> float | None:
    """Where on an axis with places for `at once` and `never` a number of products is; None where it is not known."""
    if products is None:
        return None
    return axis.after if math.isinf(products) else products or axis.before


def _markers(name: str, points: Sequence[Point], values: Sequence[float | None], is_of_times: bool) -> go.Scatter:
    look = style(name)
    return marks.points(
        [
            (value, name, _hover(point), *([point.measurement] if is_of_times else []))
            for point, value in zip(points, values, strict=True)
            if point.measurement.format == name and value is not None
        ],
        marks.point(look.color, look.symbol, 8),
        name=escape(name),
        meta={"role": "point", "format": name},
    )


def _hover(point: Point) -> str:
    m = point.measurement
    return marks.hover(
        m.kernel,
        f" on {point.matrix}",
        f"{number(point.stored)} bytes a nonzero, converted in {seconds(once_s(m))}",
        f"pays off against {point.baseline}: {in_words_products(point.products)}",
    )
