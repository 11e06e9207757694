"""GFLOP/s of every matrix by ascending mean row length, and who is fastest; Figure 5 of the batched SpMV paper."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.batched.groups import BATCH, PAPER, BatchGroup, batch_groups, is_balanced, largest
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.finding import gain, share_text
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING
from web.figures.base import blank, caption, escape, shorten
from web.figures.batched.marks import (
    FACET,
    NO_TIME,
    hover,
    in_order,
    left_out,
    loops_end,
    loops_max,
    marker,
    marks,
    rows_axis,
)
from web.figures.panels import Legend, panels

ROW_PX, LEAST_PX = 22, 120
ROWS_MAX = 60
"""Most matrices of a panel; the table has all."""

SIZE, WINNER_SIZE = 7, 13
BALANCE = {True: "balanced", False: "unbalanced", None: MISSING}


@dataclass(frozen=True, slots=True)
class Rival:
    """A kernel, and how many times as fast as it the fastest of all is."""

    kernel: str
    gain: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """A batch of copies of a matrix.

    kernels         those with a time, the fastest first; leaders: it and those that are `same` with it
    floor_share     of the fastest
    paper, library  the fastest of each, None where none has a time
    """

    id: str
    matrix: MatrixFeatures
    kernels: tuple[Measurement, ...]
    leaders: tuple[str, ...]
    floor_share: str
    paper: Rival | None
    library: Rival | None


@dataclass(frozen=True, slots=True)
class Panel:
    """Batches of one size by ascending mean row length; wins: (kernel, on how many it is fastest), most first.

    Nothing is fastest where times are not plausible.
    """

    device: str
    cache: str
    batch_size: int
    rows: tuple[Row, ...]
    wins: tuple[tuple[str, int], ...]

    @property
    def counted(self) -> str:
        """`12 matrices with 1 000 problems (3 more without plausible times)`."""
        quiet = sum(number for _, number in self.wins)
        busy = f" ({len(self.rows) - quiet} more without plausible times)" if quiet < len(self.rows) else ""
        return f"{quiet} {'matrix' if quiet == 1 else 'matrices'} with {units.count(self.batch_size)} problems{busy}"


@dataclass(frozen=True, slots=True)
class Winners:
    """The largest batches first: rates at different sizes are not to be compared.

    loops_max  most problems on which one product after the other has a time, where larger batches are without; else 0
    """

    panels: tuple[Panel, ...]
    loops_max: int = 0


def info(data: StudyData) -> Winners:
    """Copies of each matrix: the batch of the chosen size, else the largest."""
    copies = [group for group in batch_groups(data) if group.compose == "uniform" and group.timed]
    places: dict[tuple[str, str, int], list[BatchGroup]] = {}
    for group in sorted(largest(copies, data.number(BATCH)), key=lambda group: -group.batch_size):
        places.setdefault((group.device, group.cache, group.batch_size), []).append(group)
    panels = tuple(_panel(place, groups, data) for place, groups in places.items())
    return Winners(panels, loops_max(batch_groups(data)))


def draw(info: Winners) -> go.Figure:
    """GFLOP/s, a row a matrix, a mark a kernel, the fastest larger; the shortest mean row length on top."""
    if not info.panels:
        return blank(NO_TIME)
    rows_of = [panel.rows[:ROWS_MAX] for panel in info.panels]
    kernels = in_order(m.kernel for rows in rows_of for row in rows for m in row.kernels)
    titles = [f"{units.count(panel.batch_size)} problems · {panel.device} · {panel.cache}" for panel in info.panels]
    figure = panels(titles, [max(LEAST_PX, ROW_PX * len(rows)) for rows in rows_of], len(kernels))
    legend = Legend()
    for number, rows in enumerate(rows_of, start=1):
        labels = _labels(rows)
        # Libraries are drawn first, behind our own.
        for kernel in reversed(kernels):
            own = [(label, row, m) for label, row in labels.items() for m in row.kernels if m.kernel == kernel]
            if own:
                figure.add_trace(_marks(kernel, own, legend), row=number, col=1)
        figure.update_yaxes(type="category", **rows_axis(list(labels)), row=number, col=1)
    figure.update_layout(legend_traceorder="reversed", legend_itemsizing="constant")
    figure.update_xaxes(rangemode="tozero").update_yaxes(ticklabelstandoff=WINNER_SIZE // 2)
    figure.update_xaxes(title_text="GFLOP/s", title_standoff=4, row=len(rows_of), col=1)
    return figure


def table(info: Winners) -> Table:
    """A row a matrix: what its rows are, which kernel is fastest, and what it gains."""
    heads = (
        *FACET,
        Head("batch_size"),
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
    rows = (
        (row.matrix.name, panel.device, panel.cache, units.count(panel.batch_size), *_cells(row))
        for panel in info.panels
        for row in panel.rows
    )
    return Table(heads, tuple(rows))


def summary(info: Winners) -> str:
    """On how many matrices which kernel leads."""
    if not info.panels:
        return NO_TIME
    text = "Every kernel on every matrix, the shortest mean row length on top; the larger mark is the fastest."
    text += left_out(ROWS_MAX, max(len(panel.rows) for panel in info.panels))
    found = []
    for panel in info.panels:
        counts = join([f"{kernel} on {number}" for kernel, number in panel.wins], NAMED)
        where = f"{panel.device}, {panel.cache}"
        found.append(f"Fastest on {where}, of {panel.counted}: {counts}." if counts else f"Nothing leads on {where}.")
    return caption(text, found, (loops_end(info.loops_max),))


def _panel(place: tuple[str, str, int], groups: Sequence[BatchGroup], data: StudyData) -> Panel:
    rows = sorted((_row(group, data) for group in groups), key=_by_length)
    return Panel(
        *place, tuple(rows), tuple(Counter(row.kernels[0].kernel for row in rows if row.leaders).most_common())
    )


def _row(group: BatchGroup, data: StudyData) -> Row:
    first, paper = group.timed[0], next(iter(group.among(PAPER)), None)
    return Row(
        id=group.matrix_id,
        matrix=data.matrix(group.matrix_id),
        kernels=tuple(group.timed),
        leaders=group.leaders,
        floor_share=share_text(first.roofline_s, first),
        paper=Rival(paper.kernel, gain(paper, first)) if paper else None,
        library=Rival(group.peer.kernel, gain(group.peer, first)) if group.peer else None,
    )


def _by_length(row: Row) -> float:
    return math.inf if row.matrix.ave is None else row.matrix.ave


def _labels(rows: Iterable[Row]) -> dict[str, Row]:
    """A label per matrix, different even where names are equal or too long to tell apart."""
    labels: dict[str, Row] = {}
    for row in rows:
        label = escape(shorten(row.matrix.name, 20))
        labels[f"{label} ({row.id[-4:]})" if label in labels else label] = row
    return labels


def _marks(kernel: str, own: Sequence[tuple[str, Row, Measurement]], legend: Legend) -> go.Scatter:
    sizes = [WINNER_SIZE if row.leaders and m is row.kernels[0] else SIZE for _, row, m in own]
    return marks(
        kernel,
        [(m.gflops, label, hover(m, row.matrix.name), m) for label, row, m in own],
        {**marker(kernel, SIZE), "size": sizes, "opacity": 1.0},
        **legend.entry(escape(kernel)),
    )


def _cells(row: Row) -> tuple[str, ...]:
    """What follows the number of problems."""
    return (
        units.number(row.matrix.ave),
        units.number(row.matrix.sigma),
        BALANCE[is_balanced(row.matrix)],
        join(row.leaders, NAMED) or MISSING,
        units.number(row.kernels[0].gflops),
        row.floor_share,
        *(cell for rival in (row.paper, row.library) for cell in _over(rival)),
    )


def _over(rival: Rival | None) -> tuple[str, str]:
    return (rival.kernel, units.ratio(rival.gain)) if rival else (MISSING, MISSING)
