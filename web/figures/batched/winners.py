"""GFLOP/s of every matrix by ascending mean row length, and who is fastest; Figure 5 of the batched SpMV paper."""

import math
from collections import Counter
from collections.abc import Sequence

import plotly.graph_objects as go

from gpu_engine.records import Measurement
from web import units
from web.batches import PAPER, BatchGroup, batch_groups, gain, is_balanced, largest, share_of_floor
from web.comparison import NAMED, join
from web.figures.base import Head, Table, blank, escape, shorten
from web.figures.batched.marks import NO_TIME, PLACE, hover, kernels_of, marker, place
from web.figures.panels import Legend, panels
from web.shown import Shown
from web.units import MISSING

ROW_PX, LEAST_PX = 22, 120
ROWS_MAX = 60
"""Most matrices of a panel; the table has all."""

SIZE, WINNER_SIZE = 7, 13
BALANCE = {True: "balanced", False: "unbalanced", None: MISSING}


def draw(shown: Shown) -> go.Figure:
    """GFLOP/s, a row a matrix, a mark a kernel, the fastest larger; the shortest mean row length on top."""
    found = {key: groups[:ROWS_MAX] for key, groups in by_density(shown).items()}
    if not found:
        return blank(NO_TIME)
    kernels = kernels_of(group for groups in found.values() for group in groups)
    titles = [f"{units.count(size)} problems · {device} · {cache}" for device, cache, size in found]
    heights = [max(LEAST_PX, ROW_PX * len(groups)) for groups in found.values()]
    figure = panels(titles, heights, len(kernels))
    legend = Legend()
    for row, groups in enumerate(found.values(), start=1):
        labels = _labels(groups, shown)
        # Libraries are drawn first, behind our own.
        for kernel in reversed(kernels):
            drawn = {label: m for label, group in labels.items() if (m := group.of(kernel))}
            if drawn:
                figure.add_trace(_marks(kernel, drawn, labels, shown, legend), row=row, col=1)
        order = {"categoryorder": "array", "categoryarray": list(labels), "range": [len(labels) - 0.5, -0.5]}
        figure.update_yaxes(type="category", **order, row=row, col=1)
    figure.update_layout(legend_traceorder="reversed", legend_itemsizing="constant")
    figure.update_xaxes(rangemode="tozero")
    figure.update_xaxes(title_text="GFLOP/s", title_standoff=4, row=len(found), col=1)
    return figure


def table(shown: Shown) -> Table:
    """A row a matrix: what its rows are, which kernel is fastest, and what it gains."""
    heads = (
        *PLACE,
        Head("problems"),
        Head("ave"),
        Head("σ"),
        Head("rows are", numeric=False),
        Head("fastest", numeric=False),
        Head("rate", "GFLOP/s"),
        Head("share of", "floor"),
        Head("fastest of", "the paper", numeric=False),
        Head("over that"),
        Head("best library", numeric=False),
        Head("over that"),
    )
    return Table(heads, tuple(_row(group, shown) for groups in by_density(shown).values() for group in groups))


def summary(shown: Shown) -> str:
    """On how many matrices which kernel leads."""
    found = by_density(shown)
    if not found:
        return NO_TIME
    said = "Every kernel on every matrix, the shortest mean row length on top; the larger mark is the fastest."
    for (device, cache, size), groups in found.items():
        first = Counter(group.timed[0].kernel for group in groups).most_common()
        counts = join([f"{kernel} on {number}" for kernel, number in first], NAMED)
        matrices = "1 matrix" if len(groups) == 1 else f"{len(groups)} matrices"
        said += f" Fastest on {device}, {cache}, of {matrices} with {units.count(size)} problems: {counts}."
    longest = max(len(groups) for groups in found.values())
    return said + (f" Drawn are the first {ROWS_MAX} of {longest}; the table has all." if longest > ROWS_MAX else "")


def by_density(shown: Shown) -> dict[tuple[str, str, int], list[BatchGroup]]:
    """(device, cache, problems) → copies of each matrix by ascending mean row length, the largest batches first.

    Of each matrix the batch of the chosen size, else the largest; rates at different sizes are not to be compared.
    """
    copies = [group for group in batch_groups(shown) if group.compose == "copies" and group.timed]
    found: dict[tuple[str, str, int], list[BatchGroup]] = {}
    for group in sorted(largest(copies, shown.batch), key=lambda group: -group.problems):
        found.setdefault((group.device, group.cache, group.problems), []).append(group)
    return {key: sorted(groups, key=lambda group: _ave(group, shown)) for key, groups in found.items()}


def _ave(group: BatchGroup, shown: Shown) -> float:
    ave = shown.matrix(group.matrix_id).ave
    return math.inf if ave is None else ave


def _labels(groups: Sequence[BatchGroup], shown: Shown) -> dict[str, BatchGroup]:
    """A label per matrix, different even where names are equal or too long to tell apart."""
    labels: dict[str, BatchGroup] = {}
    for group in groups:
        label = escape(shorten(shown.matrix(group.matrix_id).name, 16))
        labels[f"{label} ({group.matrix_id[-4:]})" if label in labels else label] = group
    return labels


def _marks(
    kernel: str, drawn: dict[str, Measurement], labels: dict[str, BatchGroup], shown: Shown, legend: Legend
) -> go.Scatter:
    sizes = [WINNER_SIZE if labels[label].timed[0] is m else SIZE for label, m in drawn.items()]
    return go.Scatter(
        **legend.entry(escape(kernel)),
        x=[m.gflops for m in drawn.values()],
        y=list(drawn),
        mode="markers",
        marker={**marker(kernel, SIZE), "size": sizes, "opacity": 1.0},
        hovertext=[hover(m, shown.matrix(m.matrix_id).name) for m in drawn.values()],
        hoverinfo="text",
        meta={"role": "point", "kernel": kernel},
    )


def _row(group: BatchGroup, shown: Shown) -> tuple[str, ...]:
    known, first = shown.matrix(group.matrix_id), group.timed[0]
    paper = next(iter(group.among(PAPER)), None)
    return (
        *place(group, shown),
        units.count(group.problems),
        units.number(known.ave),
        units.number(known.sigma),
        BALANCE[is_balanced(known)],
        join(group.leaders, NAMED) or MISSING,
        units.number(first.gflops),
        units.percent(share_of_floor(first)),
        paper.kernel if paper else MISSING,
        units.ratio(gain(paper, first)),
        group.peer.kernel if group.peer else MISSING,
        units.ratio(gain(group.peer, first)),
    )
