"""After how many products of a batch building another layout than CSR has paid off."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.batched.groups import BATCH, batch_groups, largest
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats.groups import products_to_pay
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures.base import LogAxis, blank, caption, escape, log_axis
from web.figures.batched.marks import FACET, NO_TIME, Facet, facet, in_order, marker, marks, rows_axis
from web.figures.formats.conversion import in_words_products, place_on
from web.figures.panels import panels

ROW_PX = 24
PLAIN = "csr"
"""The format that a batch comes in: its kernels need no conversion."""

NO_PLAIN = "No kernel on CSR has a time here, so there is nothing that a conversion could pay off against."


@dataclass(frozen=True, slots=True)
class Point:
    """A kernel of ours with a layout of its own, on a batch.

    baseline   the fastest kernel on CSR; measurements: of the kernel and of that one
    convert_s  seconds; stored: bytes per nonzero
    products   after which the conversion has paid off; 0: at once, inf: never, None: not settled
    """

    facet: Facet
    batch_size: int
    kernel: str
    baseline: str
    convert_s: float
    stored: float | None
    products: float | None
    measurements: tuple[Measurement, Measurement]


@dataclass(frozen=True, slots=True)
class Conversions:
    """What has something to pay off against; nothing: why there is nothing to see."""

    points: tuple[Point, ...]
    nothing: str


def info(data: StudyData) -> Conversions:
    """Of each matrix and mixture the batch of the chosen size, else the largest."""
    groups = batch_groups(data)
    points = tuple(
        Point(
            facet(group, data),
            group.batch_size,
            m.kernel,
            baseline.kernel,
            m.details.convert_s,
            _stored(m),
            products_to_pay(m, baseline),
            (m, baseline),
        )
        for group in largest(groups, data.number(BATCH))
        for baseline in [m for m in group.timed if m.format == PLAIN][:1]
        for m in group.ours
        if m.format != PLAIN and m.details.convert_s is not None
    )
    return Conversions(points, NO_PLAIN if groups else NO_TIME)


def draw(info: Conversions) -> go.Figure:
    """Products until the conversion has paid off, a row a kernel, a mark a batch, a panel per device and cache."""
    if not info.points:
        return blank(NO_PLAIN)
    axis = log_axis([p.products for p in info.points if p.products is not None], before="at once", after="never")
    places: dict[str, list[Point]] = {}
    for point in info.points:
        places.setdefault(f"{point.facet.device} · {point.facet.cache}", []).append(point)
    kernels = [in_order(point.kernel for point in points) for points in places.values()]
    figure = panels(list(places), [max(2, len(names)) * ROW_PX for names in kernels], showlegend=False)
    for row, (points, names) in enumerate(zip(places.values(), kernels, strict=True), start=1):
        for name in names:
            settled = [point for point in points if point.kernel == name and point.products is not None]
            figure.add_trace(_marks(name, settled, axis), row=row, col=1)
        figure.update_yaxes(type="category", **rows_axis(names), row=row, col=1)
    figure.update_xaxes(**axis.settings)
    figure.update_xaxes(title_text="products", title_standoff=4, row=len(places), col=1)
    return figure


def table(info: Conversions) -> Table:
    """A row per batch and kernel."""
    heads = (
        *FACET,
        Head("batch_size"),
        Head("kernel", numeric=False),
        Head("stored", "bytes/nnz"),
        Head("conversion", "from CSR"),
        Head("pays off", "after products"),
        Head("against", numeric=False),
    )
    rows = (
        (
            *point.facet,
            units.count(point.batch_size),
            point.kernel,
            units.number(point.stored),
            units.seconds(point.convert_s) if point.convert_s else "none",
            in_words_products(point.products),
            point.baseline,
        )
        for point in info.points
    )
    return Table(heads, tuple(rows))


def summary(info: Conversions) -> str:
    """What has to pay off against what, and for how many it never does."""
    if not info.points:
        return info.nothing
    text = "A batch comes in CSR: after how many products the conversion has paid off against the fastest kernel that "
    text += "needs none."
    unsettled = sum(point.products is None for point in info.points)
    open_ = f"{unsettled} of {len(info.points)} are not settled and have no mark." if unsettled else ""
    return caption(text, (), ("Never: where a kernel is not measurably faster than that.", open_))


def _stored(m: Measurement) -> float | None:
    # The rate counts 2·nnz of all problems.
    if m.stored_bytes is None or not m.gflops or not m.median_s:
        return None
    return m.stored_bytes / (m.gflops * 1e9 * m.median_s / 2)


def _marks(kernel: str, points: Sequence[Point], axis: LogAxis) -> go.Scatter:
    shown = [(place_on(axis, point.products), kernel, _hover(point), *point.measurements) for point in points]
    return marks(kernel, shown, marker(kernel, 8), name=escape(kernel))


def _hover(point: Point) -> str:
    return "<br>".join(
        (
            f"<b>{escape(point.kernel)}</b> on {escape(point.facet.name)}",
            f"{units.number(point.stored)} bytes a nonzero, converted in {units.seconds(point.convert_s)}",
            f"pays off against {point.baseline}: {in_words_products(point.products)}",
        )
    )
