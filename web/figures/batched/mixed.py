"""GFLOP/s and sustained bandwidth of mixed batches side by side; Figures 6 and 7 of the batched SpMV paper."""

from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.batched.groups import BATCH, BatchGroup, bandwidth, batch_groups, largest
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import share_text
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.records import Measurement
from gpu_engine.studies.batched import ROWS_MAX as SMALL_ROWS
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures import marks
from web.figures.base import blank, caption, escape
from web.figures.batched.marks import FACET, Facet, facet, hover, rows_axis
from web.figures.panels import panels
from web.palette import batch_style

ROW_PX = 26
NONE = (
    "No mixed batch has a time here: a job makes one of its matrices of at most "
    f"{units.count(SMALL_ROWS)} rows where there are two or more."
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel with a time; bandwidth: the bytes a second that it sustains, padding included."""

    measurement: Measurement
    floor_share: str
    bandwidth: float | None

    @property
    def name(self) -> str:
        """Its own."""
        return self.measurement.kernel


@dataclass(frozen=True, slots=True)
class Mixture:
    """A mixed batch.

    matrices      names
    kernels       the fastest first; leaders: it and those that are `same` with it; most: what sustains most
    floor_gflops  the rate of a product that takes as long as the floor
    """

    facet: Facet
    batch_size: int
    matrices: tuple[str, ...]
    kernels: tuple[Kernel, ...]
    leaders: tuple[str, ...]
    most: Kernel
    floor_gflops: float | None


@dataclass(frozen=True, slots=True)
class Mixed:
    """The mixtures that have a time."""

    mixtures: tuple[Mixture, ...]


def info(data: StudyData) -> Mixed:
    """Of each mixture the batch of the chosen size, else the largest."""
    groups = [group for group in batch_groups(data) if group.compose == "mixed" and group.timed]
    return Mixed(tuple(_mixture(group, data) for group in largest(groups, data.number(BATCH))))


def draw(info: Mixed) -> go.Figure:
    """Bars by kernel, fastest first: GFLOP/s on the left, GB/s on the right, a row of panels a batch."""
    if not info.mixtures:
        return blank(NONE)
    titles = [part for mixture in info.mixtures for part in (mixture.facet.title, "")]
    heights = [max(2, len(mixture.kernels)) * ROW_PX for mixture in info.mixtures]
    figure = panels(titles, heights, 1, columns=2, bargap=0.3, barmode="overlay")
    for row, mixture in enumerate(info.mixtures, start=1):
        for kernel in mixture.kernels:
            figure.add_trace(_bar(kernel, kernel.measurement.gflops, mixture.facet.name), row=row, col=1)
            moved = kernel.bandwidth / 1e9 if kernel.bandwidth else None
            figure.add_trace(_bar(kernel, moved, mixture.facet.name), row=row, col=2)
        names = [kernel.name for kernel in mixture.kernels]
        if mixture.floor_gflops:
            figure.add_trace(_floor(mixture.floor_gflops, names, row == 1), row=row, col=1)
        figure.update_yaxes(**rows_axis(names), ticklabelstandoff=4, row=row)
    figure.update_xaxes(rangemode="tozero", nticks=4, tickangle=0)
    figure.update_xaxes(title_text="GFLOP/s", title_standoff=4, row=len(info.mixtures), col=1)
    figure.update_xaxes(title_text="GB/s", title_standoff=4, row=len(info.mixtures), col=2)
    return figure


def table(info: Mixed) -> Table:
    """A row a kernel: its rate, its share of the floor, the bytes stored and what bandwidth it sustains."""
    heads = (
        *FACET,
        Head("batch_size"),
        Head("kernel", numeric=False),
        Head("rate", "GFLOP/s"),
        Head("share of", "floor"),
        Head("stored"),
        Head("bandwidth", "sustained"),
        Head("matrices", numeric=False),
    )
    rows = []
    for mixture in info.mixtures:
        rates = units.column([kernel.measurement.gflops for kernel in mixture.kernels])
        for kernel, rate in zip(mixture.kernels, rates, strict=True):
            moved = units.size(kernel.measurement.stored_bytes), units.rate(kernel.bandwidth)
            numbers = rate, kernel.floor_share, *moved
            of = *mixture.facet, units.count(mixture.batch_size)
            rows.append((*of, kernel.name, *numbers, ", ".join(mixture.matrices)))
    return Table(heads, tuple(rows))


def summary(info: Mixed) -> str:
    """Which kernel is fastest on each mixture, and which one moves most."""
    if not info.mixtures:
        return NONE
    text = "All matrices of a job in random order, each with its own size: the rate, and the bandwidth sustained."
    more = "That is what a product reads, columns of padding included, and x and y over the time: much padding is fast "
    more += "on the right and slow on the left."
    return caption(text, map(_fastest, info.mixtures), (more,))


def _fastest(mixture: Mixture) -> str:
    (name, device, cache), first = mixture.facet, mixture.kernels[0]
    leaders = join(mixture.leaders, NAMED) or "nothing leads, the first"
    return (
        f"On {name}, {units.count(mixture.batch_size)} problems, {device}, {cache}: {leaders} with "
        f"{units.gflops(first.measurement.gflops)} ({first.floor_share} of the floor); "
        f"{mixture.most.name} sustains most, {units.rate(mixture.most.bandwidth)}."
    )


def _mixture(group: BatchGroup, data: StudyData) -> Mixture:
    kernels = tuple(Kernel(m, share_text(m.roofline_s, m), bandwidth(m)) for m in group.timed)
    return Mixture(
        facet=facet(group, data),
        batch_size=group.batch_size,
        matrices=tuple(data.matrix(member).name for member in group.members),
        kernels=kernels,
        leaders=group.leaders,
        most=max(kernels, key=lambda kernel: kernel.bandwidth or 0.0),
        floor_gflops=group.floor_gflops,
    )


def _bar(kernel: Kernel, length: float | None, of: str) -> go.Bar:
    # One trace a bar: patterns over a list of colours are not drawn in them.
    look = batch_style(kernel.name)
    text = f"{hover(kernel.measurement, of)}<br>{units.rate(kernel.bandwidth)} sustained"
    marker = marks.fill(look.color, look.pattern, outline=1, opacity=0.45)
    return marks.bars(
        [(length, kernel.name, text, kernel.measurement)], marker, name=escape(kernel.name), showlegend=False
    )


def _floor(rate: float, kernels: list[str], legend: bool) -> go.Scatter:
    return go.Scatter(
        name="floor",
        legendgroup="floor",
        showlegend=legend,
        x=[rate] * len(kernels),
        y=kernels,
        mode="markers",
        marker={"symbol": "line-ns", "size": ROW_PX - 8, "line": {"width": 2}},
        hovertext=[f"floor: {units.gflops(rate)}"] * len(kernels),
        hoverinfo="text",
        meta={"role": "floor"},
    )
