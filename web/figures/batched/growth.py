"""GFLOP/s by batch size; Figure 3 of the batched SpMV paper."""

from collections.abc import Sequence

import plotly.graph_objects as go

from web import units
from web.batches import PAPER, BatchGroup, batch_groups, gain
from web.figures.base import Head, Table, blank, log_axis
from web.figures.batched.marks import PLACE, floor_line, heading, hover, kernels_of, line, place
from web.figures.panels import Legend, panels
from web.shown import Shown

PANEL_PX = 260
PANELS_MAX = 6
"""More panels one above the other nobody reads; the table has all."""

ONE_SIZE = "Every batch here has a single size: measure several to see how the rates grow."

Series = list[BatchGroup]
"""The batches of one matrix or mixture on one device in one cache state, by ascending size."""


def draw(shown: Shown) -> go.Figure:
    """GFLOP/s over the number of problems, a line a kernel, a panel a matrix; the floor's rate dotted."""
    found = growing(shown)[:PANELS_MAX]
    if not found:
        return blank(ONE_SIZE)
    kernels = kernels_of(group for series in found for group in series)
    titles = [heading(series[0], shown) for series in found]
    figure = panels(titles, [PANEL_PX] * len(found), len(kernels) + 1)
    legend = Legend()
    for row, series in enumerate(found, start=1):
        # Libraries are drawn first, behind our own.
        for kernel in reversed(kernels):
            points = [(float(group.problems), m) for group in series if (m := group.of(kernel))]
            texts = [hover(m, f"{units.count(size)} problems") for size, m in points]
            if points:
                figure.add_trace(line(points, legend, texts), row=row, col=1)
        floors = [(float(group.problems), rate) for group in series if (rate := group.floor_gflops)]
        if floors:
            figure.add_trace(floor_line(floors, legend), row=row, col=1)
    figure.update_layout(legend_traceorder="reversed")
    sizes = [float(group.problems) for series in found for group in series]
    figure.update_xaxes(**log_axis(sizes).settings)
    figure.update_yaxes(rangemode="tozero", title_text="GFLOP/s")
    figure.update_xaxes(title_text="problems of a batch", title_standoff=4, row=len(found), col=1)
    return figure


def table(shown: Shown) -> Table:
    """A row per matrix and kernel, a column a size; the floor's rate below them."""
    found = growing(shown)
    sizes = sorted({group.problems for series in found for group in series})
    heads = (*PLACE, Head("kernel", numeric=False), *(Head(units.count(size), "GFLOP/s") for size in sizes))
    rows: list[tuple[str, ...]] = []
    for series in found:
        by_size = {group.problems: group for group in series}
        lines = {
            kernel: [m.gflops if (m := by_size[size].of(kernel)) else None for size in by_size]
            for kernel in kernels_of(series)
        }
        lines["floor"] = [group.floor_gflops for group in by_size.values()]
        texts = iter(units.column([rate for rates in lines.values() for rate in rates]))
        for kernel in lines:
            cells = {size: next(texts) for size in by_size}
            rows.append((*place(series[0], shown), kernel, *(cells.get(size, units.MISSING) for size in sizes)))
    return Table(heads, tuple(rows))


def summary(shown: Shown) -> str:
    """What the lines are, and what the paper's kernels gain over one product after the other at the largest size."""
    found = growing(shown)
    if not found:
        return ONE_SIZE
    said = "GFLOP/s of batches of growing size, a kernel a line; the dotted line is the rate of the floor."
    if len(found) > PANELS_MAX:
        left = f" Drawn are {PANELS_MAX} of {len(found)}, those of the most sizes; the table has all."
        return said + _gains(found) + left
    return said + _gains(found)


def growing(shown: Shown) -> list[Series]:
    """The series with times at two sizes or more; copies before mixed ones, those of the most sizes first."""
    found: dict[tuple[str, str, str, str], Series] = {}
    for group in batch_groups(shown):
        if group.timed:
            found.setdefault((group.compose, group.matrix_id, group.device, group.cache), []).append(group)
    ordered = sorted(found.items(), key=lambda item: (item[0][0], -len(item[1])))
    return [series for _, series in ordered if len(series) > 1]


def _gains(found: Sequence[Series]) -> str:
    """A sentence per device and cache state where the loop was measured."""
    places: dict[tuple[str, str], list[float]] = {}
    loops: dict[tuple[str, str], str] = {}
    for series in found:
        for group in reversed(series):
            paper = group.among(PAPER)
            over = gain(group.loop, paper[0]) if paper else None
            if over is not None and group.loop is not None:
                loops[group.device, group.cache] = group.loop.kernel
                places.setdefault((group.device, group.cache), []).append(over)
                break
    return "".join(
        f" On {', '.join(where)} the fastest kernel of the paper is {_span(gains)} as fast as {loops[where]} in the "
        "largest batches that have both."
        for where, gains in places.items()
    )


def _span(values: Sequence[float]) -> str:
    low, high = units.ratio(min(values)), units.ratio(max(values))
    return low if low == high else f"{low} to {high}"
