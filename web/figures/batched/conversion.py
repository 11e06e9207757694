"""After how many products of a batch building another layout than CSR has paid off."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.records import Measurement
from web import units
from web.batches import BatchGroup, batch_groups, largest, name_of
from web.comparison import products_to_pay
from web.figures.base import Head, LogAxis, Table, blank, escape, log_axis
from web.figures.batched.marks import NO_TIME, PLACE, marker, place
from web.figures.formats.conversion import in_words_products, place_on
from web.figures.panels import panels
from web.palette import batch_position
from web.shown import Shown

ROW_PX = 24
PLAIN = "csr"
"""The format that a batch comes in: its kernels need no conversion."""

NO_PLAIN = "No kernel on CSR has a time here, so there is nothing that a conversion could pay off against."


@dataclass(frozen=True, slots=True)
class Point:
    """A kernel of ours on a batch, and the fastest kernel on CSR.

    stored    bytes per nonzero
    products  after which the conversion has paid off; 0: at once, inf: never, None: not settled
    """

    group: BatchGroup
    measurement: Measurement
    baseline: Measurement
    stored: float | None
    products: float | None


def draw(shown: Shown) -> go.Figure:
    """Products until the conversion has paid off, a row a kernel, a mark a batch, a panel per device and cache."""
    found = points(shown)
    if not found:
        return blank(NO_PLAIN)
    axis = log_axis([p.products for p in found if p.products is not None], before="at once", after="never")
    places: dict[str, list[Point]] = {}
    for point in found:
        places.setdefault(f"{point.group.device} · {point.group.cache}", []).append(point)
    kernels = [_kernels(group) for group in places.values()]
    figure = panels(list(places), [max(2, len(names)) * ROW_PX for names in kernels], showlegend=False)
    for row, (group, names) in enumerate(zip(places.values(), kernels, strict=True), start=1):
        for name in names:
            own = [point for point in group if point.measurement.kernel == name and point.products is not None]
            figure.add_trace(_marks(name, own, axis, shown), row=row, col=1)
        order = {"categoryorder": "array", "categoryarray": names, "range": [len(names) - 0.5, -0.5]}
        figure.update_yaxes(type="category", **order, row=row, col=1)
    figure.update_xaxes(**axis.settings)
    figure.update_xaxes(title_text="products", title_standoff=4, row=len(places), col=1)
    return figure


def table(shown: Shown) -> Table:
    """A row per batch and kernel."""
    heads = (
        *PLACE,
        Head("problems"),
        Head("kernel", numeric=False),
        Head("stored", "bytes/nnz"),
        Head("conversion", "from CSR"),
        Head("pays off", "after products"),
        Head("against", numeric=False),
    )
    rows = tuple(
        (
            *place(p.group, shown),
            units.count(p.group.problems),
            p.measurement.kernel,
            units.number(p.stored),
            units.seconds(p.measurement.convert_s) if p.measurement.convert_s else "none",
            in_words_products(p.products),
            p.baseline.kernel,
        )
        for p in points(shown)
    )
    return Table(heads, rows)


def summary(shown: Shown) -> str:
    """What has to pay off against what, and for how many it never does."""
    found = points(shown)
    if not found:
        return NO_PLAIN if batch_groups(shown) else NO_TIME
    said = "A batch comes in CSR: after how many products the conversion has paid off against the fastest kernel that "
    said += "needs none; never where a kernel is not measurably faster than that."
    open_ = sum(point.products is None for point in found)
    return f"{said} {open_} of {len(found)} are not settled and have no mark." if open_ else said


def points(shown: Shown) -> list[Point]:
    """Our kernels with a layout of their own, on the batches of the chosen size, else on the largest of each."""
    found: list[Point] = []
    for group in largest(batch_groups(shown), shown.batch):
        baseline = next((m for m in group.timed if m.format == PLAIN), None)
        converted = [m for m in group.ours if m.format != PLAIN and m.convert_s is not None]
        if baseline is not None:
            found += (Point(group, m, baseline, _stored(m), products_to_pay(m, baseline)) for m in converted)
    return found


def _stored(m: Measurement) -> float | None:
    # The rate counts 2·nnz of all problems.
    if m.stored_bytes is None or not m.gflops or not m.median_s:
        return None
    return m.stored_bytes / (m.gflops * 1e9 * m.median_s / 2)


def _kernels(found: Sequence[Point]) -> list[str]:
    return sorted({point.measurement.kernel for point in found}, key=batch_position)


def _marks(kernel: str, found: Sequence[Point], axis: LogAxis, shown: Shown) -> go.Scatter:
    return go.Scatter(
        name=escape(kernel),
        x=[place_on(axis, point.products) for point in found],
        y=[kernel] * len(found),
        mode="markers",
        marker=marker(kernel, 8),
        hovertext=[_hover(point, shown) for point in found],
        hoverinfo="text",
        meta={"role": "point", "kernel": kernel},
    )


def _hover(point: Point, shown: Shown) -> str:
    m = point.measurement
    return "<br>".join(
        (
            f"<b>{escape(m.kernel)}</b> on {escape(name_of(point.group, shown))}",
            f"{units.number(point.stored)} bytes a nonzero, converted in {units.seconds(m.convert_s)}",
            f"pays off against {point.baseline.kernel}: {in_words_products(point.products)}",
        )
    )
