"""Throughput on every matrix by mean row length, and the fastest kernel; Figure 5 of the batched SpMV paper."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.batched.groups import BATCH, PAPER, BatchGroup, batch_groups, is_balanced, largest
from gpu_engine.findings.batched.paper import is_uniform
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.finding import gain, share_text
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING
from web.figures.base import blank, caption, escape, shorten
from web.figures.batched.markers import (
    BALANCED_TEXT,
    FACET,
    NO_TIME,
    hover,
    in_order,
    kernel_points,
    left_out,
    loops_end,
    loops_max,
    marker,
    rows_axis,
)
from web.figures.panels import DOT, Legend, panels

ROW_PX, LEAST_PX = 19, 120
ROWS_MAX = 60
"""Maximum number of matrices in a panel; the table has all."""

SIZE, WINNER_SIZE = 7, 13
BALANCE = {True: "balanced", False: "unbalanced", None: MISSING}


@dataclass(frozen=True, slots=True)
class Rival:
    """A kernel, and the speedup of the fastest kernel over it."""

    kernel: str
    gain: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """A uniform batch of a matrix.

    kernels         those with a time, the fastest first; fastest: the first and those equal to it
    roofline_share  % of roofline of the fastest
    paper, library  the fastest of each, None if none has a time
    """

    id: str
    matrix: MatrixFeatures
    kernels: tuple[Measurement, ...]
    fastest: tuple[str, ...]
    roofline_share: str
    paper: Rival | None
    library: Rival | None


@dataclass(frozen=True, slots=True)
class Panel:
    """Batches of one size by ascending mean row length.

    is_papers  whether its matrices are those of Figure 5 or stand-ins for them; all others have panels of their own
    wins       (kernel, number of matrices on which it is fastest), most first; noisy timings have no fastest kernel
    """

    device: str
    cache: str
    batch_size: int
    is_papers: bool
    rows: tuple[Row, ...]
    wins: tuple[tuple[str, int], ...]

    @property
    def title(self) -> str:
        """Return the title of the panel."""
        matrices = "the paper’s matrices, " if self.is_papers else ""
        return DOT.join((f"{matrices}batch size {units.count(self.batch_size)}", self.device, self.cache))

    @property
    def matrices_text(self) -> str:
        """Return `12 matrices of the paper with batch size 1 000 (3 more too noisy)`."""
        quiet = sum(number for _, number in self.wins)
        busy = f" ({len(self.rows) - quiet} more too noisy)" if quiet < len(self.rows) else ""
        matrices = f"{'matrix' if quiet == 1 else 'matrices'}{' of the paper' if self.is_papers else ''}"
        return f"{quiet} {matrices} with batch size {units.count(self.batch_size)}{busy}"


@dataclass(frozen=True, slots=True)
class Winners:
    """The panels, those of the paper first, then the largest batches.

    Throughputs at different sizes are not comparable.

    loops_max  largest batch size with a timed launch loop, if larger batches have none; otherwise 0
    """

    panels: tuple[Panel, ...]
    loops_max: int = 0


def info(data: StudyData) -> Winners:
    """Return uniform batches of each matrix, of the selected size or the largest."""
    copies = [group for group in batch_groups(data) if group.compose == "uniform" and group.timed]
    places: dict[tuple[str, str, int, bool], list[BatchGroup]] = {}
    of_size = [(group, is_uniform(group, data)) for group in largest(copies, data.number(BATCH))]
    for group, is_papers in sorted(of_size, key=lambda pair: (not pair[1], -pair[0].batch_size)):
        places.setdefault((group.device, group.cache, group.batch_size, is_papers), []).append(group)
    panels = tuple(_panel(place, groups, data) for place, groups in places.items())
    return Winners(panels, loops_max(batch_groups(data)))


def draw(info: Winners) -> go.Figure:
    """Return GFLOP/s, a row per matrix, a mark per kernel, the fastest larger; the shortest rows on top."""
    if not info.panels:
        return blank(NO_TIME)
    rows_of = [panel.rows[:ROWS_MAX] for panel in info.panels]
    kernels = in_order(m.kernel for rows in rows_of for row in rows for m in row.kernels)
    titles = [panel.title for panel in info.panels]
    figure = panels(titles, [max(LEAST_PX, ROW_PX * len(rows)) for rows in rows_of], len(kernels))
    legend = Legend()
    for number, rows in enumerate(rows_of, start=1):
        labels = _labels(rows)
        # Library kernels are drawn first, behind Sparsight kernels.
        for kernel in reversed(kernels):
            kernel_marks = [(label, row, m) for label, row in labels.items() for m in row.kernels if m.kernel == kernel]
            if kernel_marks:
                figure.add_trace(_marks(kernel, kernel_marks, legend), row=number, col=1)
        figure.update_yaxes(type="category", **rows_axis(list(labels)), row=number, col=1)
    figure.update_layout(legend_traceorder="reversed", legend_itemsizing="constant")
    figure.update_xaxes(rangemode="tozero").update_yaxes(ticklabelstandoff=WINNER_SIZE // 2)
    figure.update_xaxes(title_text="GFLOP/s", title_standoff=4, row=len(rows_of), col=1)
    return figure


def table(info: Winners) -> Table:
    """Return a row per matrix: its row lengths, the fastest kernel, and its speedups."""
    heads = (
        *FACET,
        Head("batch size"),
        Head("ave"),
        Head("σ"),
        Head("rows are", numeric=False),
        Head("fastest", numeric=False),
        Head("throughput", "GFLOP/s"),
        Head("roofline", "%"),
        Head("best of", "the paper", numeric=False),
        Head("speedup"),
        Head("best library", numeric=False),
        Head("speedup"),
    )
    rows = (
        (row.matrix.name, panel.device, panel.cache, units.count(panel.batch_size), *_cells(row))
        for panel in info.panels
        for row in panel.rows
    )
    return Table(heads, tuple(rows))


def summary(info: Winners) -> str:
    """Return on how many matrices each kernel is the fastest."""
    if not info.panels:
        return NO_TIME
    text = (
        "Throughput of every kernel on every matrix, the shortest mean row length on top. Larger mark: fastest kernel."
    )
    text += left_out(ROWS_MAX, max(len(panel.rows) for panel in info.panels))
    winners = []
    for panel in info.panels:
        counts = join([f"{kernel} on {number}" for kernel, number in panel.wins], NAMED)
        where = f"{panel.device}, {panel.cache}"
        winners.append(
            f"Fastest on {where}, {panel.matrices_text}: {counts}." if counts else f"No clear winner on {where}."
        )
    return caption(text, winners, (loops_end(info.loops_max), BALANCED_TEXT))


def _panel(place: tuple[str, str, int, bool], groups: Sequence[BatchGroup], data: StudyData) -> Panel:
    rows = sorted((_row(group, data) for group in groups), key=_by_length)
    return Panel(
        *place, tuple(rows), tuple(Counter(row.kernels[0].kernel for row in rows if row.fastest).most_common())
    )


def _row(group: BatchGroup, data: StudyData) -> Row:
    first, paper = group.timed[0], next(iter(group.among(PAPER)), None)
    return Row(
        id=group.matrix_id,
        matrix=data.matrix(group.matrix_id),
        kernels=tuple(group.timed),
        fastest=group.leaders,
        roofline_share=share_text(first.roofline_s, first),
        paper=Rival(paper.kernel, gain(paper, first)) if paper else None,
        library=Rival(group.peer.kernel, gain(group.peer, first)) if group.peer else None,
    )


def _by_length(row: Row) -> float:
    return math.inf if row.matrix.ave is None else row.matrix.ave


def _labels(rows: Iterable[Row]) -> dict[str, Row]:
    """Return a label per matrix, distinct even if names are equal or too long to differ."""
    labels: dict[str, Row] = {}
    for row in rows:
        label = escape(shorten(row.matrix.name, 20))
        labels[f"{label} ({row.id[-4:]})" if label in labels else label] = row
    return labels


def _marks(kernel: str, kernel_marks: Sequence[tuple[str, Row, Measurement]], legend: Legend) -> go.Scatter:
    sizes = [WINNER_SIZE if row.fastest and m is row.kernels[0] else SIZE for _, row, m in kernel_marks]
    return kernel_points(
        kernel,
        [(m.gflops, label, hover(m, row.matrix.name), m) for label, row, m in kernel_marks],
        {**marker(kernel, SIZE), "size": sizes, "opacity": 1.0},
        **legend.entry(escape(kernel)),
    )


def _cells(row: Row) -> tuple[str, ...]:
    """Return the cells after the batch size."""
    return (
        units.number(row.matrix.ave),
        units.number(row.matrix.sigma),
        BALANCE[is_balanced(row.matrix)],
        join(row.fastest, NAMED) or MISSING,
        units.number(row.kernels[0].gflops),
        row.roofline_share,
        *(cell for rival in (row.paper, row.library) for cell in _speedup_over(rival)),
    )


def _speedup_over(rival: Rival | None) -> tuple[str, str]:
    return (rival.kernel, units.ratio(rival.gain)) if rival else (MISSING, MISSING)
