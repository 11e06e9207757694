"""Break-even of a batch: the number of batched SpMVs that amortizes a layout other than CSR."""

import math
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
from web.figures.batched.markers import FACET, NO_TIME, Facet, facet, in_order, kernel_points, marker, rows_axis
from web.figures.panels import panels

ROW_PX = 24
PLAIN = "csr"
"""Format in which a batch arrives: its kernels need no conversion."""

NO_PLAIN = "No CSR kernel was timed, so there is no baseline for a break-even."


@dataclass(frozen=True, slots=True)
class Point:
    """A Sparsight kernel with its own layout, on a batch.

    baseline   the fastest kernel on CSR; measurements: of the kernel and of the baseline
    convert_s  seconds; stored: bytes per nonzero
    products   break-even in batched SpMVs; 0: at once, inf: never, None: inconclusive
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
    """The points that have a baseline; nothing: the reason if there are none."""

    points: tuple[Point, ...]
    nothing: str


def info(data: StudyData) -> Conversions:
    """Return, for each matrix and mixture, the batch of the selected size, or the largest."""
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
    """Return the break-even, a row per kernel, a mark per batch, a panel per device and cache state."""
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
    figure.update_xaxes(title_text="SpMVs", title_standoff=4, row=len(places), col=1)
    return figure


def table(info: Conversions) -> Table:
    """Return a row per batch and kernel."""
    heads = (
        *FACET,
        Head("batch size"),
        Head("kernel", numeric=False),
        Head("storage", "bytes/nnz"),
        Head("conversion", "from CSR"),
        Head("break-even", "SpMVs"),
        Head("baseline", numeric=False),
    )
    rows = (
        (
            *point.facet,
            units.count(point.batch_size),
            point.kernel,
            units.number(point.stored),
            units.seconds(point.convert_s) if point.convert_s else "none",
            break_even_text(point.products),
            point.baseline,
        )
        for point in info.points
    )
    return Table(heads, tuple(rows))


def summary(info: Conversions) -> str:
    """Return what the break-even is, and for how many batches it is inconclusive."""
    if not info.points:
        return info.nothing
    text = "Break-even of the conversion from CSR, in batched SpMVs, against the fastest kernel without conversion."
    number = sum(point.products is None for point in info.points)
    inconclusive = f"{number} of {len(info.points)} are inconclusive and have no mark." if number else ""
    return caption(text, (), ("“Never” means the kernel is not measurably faster than that one.", inconclusive))


def _stored(m: Measurement) -> float | None:
    # The GFLOP/s count 2·nnz of all batch items.
    if m.stored_bytes is None or not m.gflops or not m.median_s:
        return None
    return m.stored_bytes / (m.gflops * 1e9 * m.median_s / 2)


def _marks(kernel: str, points: Sequence[Point], axis: LogAxis) -> go.Scatter:
    positions = [(axis_position(axis, point.products), kernel, _hover(point), *point.measurements) for point in points]
    return kernel_points(kernel, positions, marker(kernel, 8), name=escape(kernel))


def _hover(point: Point) -> str:
    return "<br>".join(
        (
            f"<b>{escape(point.kernel)}</b> on {escape(point.facet.name)}",
            f"{units.number(point.stored)} bytes per nonzero, conversion {units.seconds(point.convert_s)}",
            f"break-even vs {point.baseline}: {break_even_text(point.products)}",
        )
    )


def break_even_text(products: float | None) -> str:
    """Return `at once`, `120`, `never`, or an en dash if it is inconclusive."""
    if products is None:
        return units.MISSING
    return "never" if math.isinf(products) else units.count(products) if products else "at once"


def axis_position(axis: LogAxis, products: float | None) -> float | None:
    """Return the position of a break-even on an axis with `at once` and `never`; None if it is unknown."""
    if products is None:
        return None
    return axis.after if math.isinf(products) else products or axis.before
