"""What a format costs: the bytes it stores a nonzero, and after how many products its conversion has paid off."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.records import Measurement
from web.comparison import baseline_of, products_to_pay
from web.figures.base import Head, LogAxis, Table, blank, escape, log_axis
from web.figures.formats.groups import NO_TIME, Groups, by_place, fastest_by_format, in_words
from web.figures.panels import panels
from web.palette import position, style
from web.shown import Shown
from web.units import MISSING, count, number, seconds

ROW_PX = 22
CSR_BYTES = 12.0
"""A nonzero of CSR: a value and a column."""


@dataclass(frozen=True, slots=True)
class Point:
    """The fastest kernel of a format on a matrix.

    stored    bytes per nonzero
    products  after which the conversion has paid off; 0: at once, inf: never, None: not settled or not known
    """

    measurement: Measurement
    baseline: str
    stored: float
    products: float | None


def draw(shown: Shown) -> go.Figure:
    """Per device and cache two panels, a row a format, a point a matrix: bytes per nonzero, and products to pay off.

    shown.baseline  what a conversion has to pay off against; the baseline itself has no point there
    """
    found = {place: points(groups, shown) for place, groups in by_place(shown.measurements).items()}
    found = {place: group for place, group in found.items() if group}
    if not found:
        return blank("No results yet.")
    every = [point for group in found.values() for point in group]
    stored = log_axis([*(point.stored for point in every), CSR_BYTES], least_span=4.0)
    products = log_axis([p.products for p in every if p.products is not None], before="at once", after="never")
    titles = [f"{what} · {in_words(place)}" for place in found for what in ("stored", "conversion pays off")]
    rows = [len(_formats(group)) for group in found.values()]
    figure = panels(titles, [number * ROW_PX for number in rows for _ in range(2)], showlegend=False)
    for pair, group in enumerate(found.values()):
        _draw_panel(figure, 2 * pair + 1, group, shown, lambda point: point.stored, stored)
        _draw_panel(figure, 2 * pair + 2, group, shown, lambda point: place_on(products, point.products), products)
        figure.update_xaxes(title_text="bytes per nonzero", title_standoff=2, row=2 * pair + 1, col=1)
        figure.update_xaxes(title_text="products", title_standoff=2, row=2 * pair + 2, col=1)
    return figure


def table(shown: Shown) -> Table:
    """A row per matrix and format."""
    heads = (
        *(Head(text, numeric=False) for text in ("matrix", "device", "cache", "kernel")),
        Head("stored", "bytes/nnz"),
        Head("conversion", "from CSR"),
        Head("pays off", "after products"),
        Head("against", numeric=False),
    )
    rows = [
        (
            shown.matrix(point.measurement.matrix_id).name,
            *place,
            point.measurement.kernel,
            number(point.stored),
            seconds(point.measurement.convert_s) if point.measurement.convert_s else "none",
            in_words_products(point.products),
            point.baseline,
        )
        for place, groups in by_place(shown.measurements).items()
        for point in points(groups, shown)
    ]
    return Table(heads, tuple(rows))


def summary(shown: Shown) -> str:
    """Which formats pay off, and against what."""
    found = [point for groups in by_place(shown.measurements).values() for point in points(groups, shown)]
    if not found:
        return NO_TIME
    others = [point for point in found if point.measurement.kernel != point.baseline]
    against = " or ".join(dict.fromkeys(point.baseline for point in found))
    said = "Bytes stored a nonzero, padding included (CSR: 12 and 4 a row), and after how many products the conversion "
    said += f"has paid off against {against}: never where the kernel is not measurably faster."
    open_ = sum(point.products is None for point in others)
    return f"{said} {open_} of {len(others)} are not settled and have no point." if open_ else said


def in_words_products(products: float | None) -> str:
    """`at once`, `120`, `never`, or an en dash where it is not settled."""
    if products is None:
        return MISSING
    return "never" if math.isinf(products) else count(products) if products else "at once"


def points(groups: Groups, shown: Shown) -> list[Point]:
    """The fastest kernel of each format on each matrix whose nnz is known; the baseline's own format among them."""
    found = []
    for matrix_id, group in groups.items():
        nnz = shown.matrix(matrix_id).nnz
        baseline = baseline_of([m for m in group if m.median_s], shown.baseline)
        for m in fastest_by_format(group).values():
            if nnz and m.stored_bytes is not None and baseline is not None:
                products = None if m is baseline else products_to_pay(m, baseline)
                found.append(Point(m, baseline.kernel, m.stored_bytes / nnz, products))
    return found


def _formats(group: Sequence[Point]) -> list[str]:
    return sorted({point.measurement.format for point in group}, key=position)


def place_on(axis: LogAxis, products: float | None) -> float | None:
    """Where on an axis with places for `at once` and `never` a number of products is; None where it is not known."""
    if products is None:
        return None
    return axis.after if math.isinf(products) else products or axis.before


def _draw_panel(
    figure: go.Figure,
    row: int,
    group: Sequence[Point],
    shown: Shown,
    value: Callable[[Point], float | None],
    axis: LogAxis,
) -> None:
    formats = _formats(group)
    for name in formats:
        own = [point for point in group if point.measurement.format == name and value(point) is not None]
        look = style(name)
        figure.add_trace(
            go.Scatter(
                name=escape(name),
                x=[value(point) for point in own],
                y=[name] * len(own),
                mode="markers",
                marker={"color": look.color, "symbol": look.symbol, "size": 8, "line": {"width": 0.5}},
                hovertext=[_hover(point, shown) for point in own],
                hoverinfo="text",
                meta={"role": "point", "format": name},
            ),
            row=row,
            col=1,
        )
    figure.update_xaxes(**axis.settings, row=row, col=1)
    order = {"categoryorder": "array", "categoryarray": formats, "range": [len(formats) - 0.5, -0.5]}
    figure.update_yaxes(type="category", **order, row=row, col=1)


def _hover(point: Point, shown: Shown) -> str:
    m = point.measurement
    return "<br>".join(
        (
            f"<b>{escape(m.kernel)}</b> on {escape(shown.matrix(m.matrix_id).name)}",
            f"{number(point.stored)} bytes a nonzero, converted in {seconds(m.convert_s)}",
            f"pays off against {escape(point.baseline)}: {in_words_products(point.products)}",
        )
    )
