"""GFLOP/s and bandwidth of mixed batches side by side; Figures 6 and 7 of the batched SpMV paper."""

from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.batched.groups import (
    BATCH,
    BatchGroup,
    bandwidth,
    bandwidth_with_padding,
    batch_groups,
    largest,
)
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import share_text
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.records import Measurement
from gpu_engine.studies.batched import ROWS_MAX as SMALL_ROWS
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures import markers
from web.figures.base import blank, caption, escape
from web.figures.batched.markers import FACET, Facet, facet, hover, rows_axis
from web.figures.panels import panels
from web.palette import batch_style

ROW_PX = 26
NONE = (
    "No mixed batch was timed. A job forms one if it has at least two matrices "
    f"of at most {units.count(SMALL_ROWS)} rows."
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel with a time.

    bandwidth  bytes read per second, with x and y; padded: the same with all padding, as the paper counts it
    """

    measurement: Measurement
    roofline_share: str
    bandwidth: float | None
    padded: float | None

    @property
    def name(self) -> str:
        """Return the name of the kernel."""
        return self.measurement.kernel


@dataclass(frozen=True, slots=True)
class Mixture:
    """A mixed batch.

    matrices         names
    kernels          the fastest first; fastest: the first and those equal to it; most: the highest bandwidth
    roofline_gflops  GFLOP/s of the roofline
    """

    facet: Facet
    batch_size: int
    matrices: tuple[str, ...]
    kernels: tuple[Kernel, ...]
    fastest: tuple[str, ...]
    most: Kernel
    roofline_gflops: float | None


@dataclass(frozen=True, slots=True)
class Mixed:
    """The mixtures that have a time."""

    mixtures: tuple[Mixture, ...]


def info(data: StudyData) -> Mixed:
    """Return, for each mixture, the batch of the selected size, or the largest."""
    groups = [group for group in batch_groups(data) if group.compose == "mixed" and group.timed]
    return Mixed(tuple(_mixture(group, data) for group in largest(groups, data.number(BATCH))))


def draw(info: Mixed) -> go.Figure:
    """Return bars by kernel, the fastest first: GFLOP/s left, GB/s read right, a row of panels per batch."""
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
        if mixture.roofline_gflops:
            figure.add_trace(_roofline(mixture.roofline_gflops, names, row == 1), row=row, col=1)
        figure.update_yaxes(**rows_axis(names), ticklabelstandoff=4, row=row)
    figure.update_xaxes(rangemode="tozero", nticks=4, tickangle=0)
    figure.update_xaxes(title_text="GFLOP/s", title_standoff=4, row=len(info.mixtures), col=1)
    figure.update_xaxes(title_text="GB/s read", title_standoff=4, row=len(info.mixtures), col=2)
    return figure


def table(info: Mixed) -> Table:
    """Return a row per kernel: throughput, % of roofline, stored bytes, and bandwidth without and with padding."""
    heads = (
        *FACET,
        Head("batch size"),
        Head("kernel", numeric=False),
        Head("throughput", "GFLOP/s"),
        Head("roofline", "%"),
        Head("storage"),
        Head("bandwidth", "read"),
        Head("bandwidth", "with padding"),
        Head("matrices", numeric=False),
    )
    rows = []
    for mixture in info.mixtures:
        rates = units.column([kernel.measurement.gflops for kernel in mixture.kernels])
        for kernel, rate in zip(mixture.kernels, rates, strict=True):
            rates_of_bytes = units.rate(kernel.bandwidth), units.rate(kernel.padded)
            numbers = rate, kernel.roofline_share, units.size(kernel.measurement.stored_bytes), *rates_of_bytes
            of = *mixture.facet, units.count(mixture.batch_size)
            rows.append((*of, kernel.name, *numbers, ", ".join(mixture.matrices)))
    return Table(heads, tuple(rows))


def summary(info: Mixed) -> str:
    """Return the fastest kernel on each mixture, and the one with the highest bandwidth."""
    if not info.mixtures:
        return NONE
    text = "Mixed batch of all matrices of a job in random order: throughput, and bytes read per second."
    more = (
        "Bytes read include x and y. ELL reads the columns of its padding, but not the zeros. Much padding raises the "
        "bandwidth and lowers the throughput. The paper counts all padding as read; so does the column with padding."
    )
    return caption(text, map(_fastest, info.mixtures), (more,))


def _fastest(mixture: Mixture) -> str:
    (name, device, cache), first = mixture.facet, mixture.kernels[0]
    throughput = f"{units.gflops(first.measurement.gflops)} ({first.roofline_share} of roofline)"
    fastest = f"fastest {join(mixture.fastest, NAMED)}" if mixture.fastest else "no clear winner, the first kernel"
    return (
        f"On {name}, batch size {units.count(mixture.batch_size)}, {device}, {cache}: {fastest}. "
        f"Throughput: {throughput}. Highest bandwidth: {mixture.most.name} with {units.rate(mixture.most.bandwidth)}."
    )


def _mixture(group: BatchGroup, data: StudyData) -> Mixture:
    kernels = tuple(
        Kernel(m, share_text(m.roofline_s, m), bandwidth(m), bandwidth_with_padding(m)) for m in group.timed
    )
    return Mixture(
        facet=facet(group, data),
        batch_size=group.batch_size,
        matrices=tuple(data.matrix(member).name for member in group.members),
        kernels=kernels,
        fastest=group.leaders,
        most=max(kernels, key=lambda kernel: kernel.bandwidth or 0.0),
        roofline_gflops=group.floor_gflops,
    )


def _bar(kernel: Kernel, length: float | None, of: str) -> go.Bar:
    # One trace per bar: Plotly does not draw patterns over a list of colors.
    look = batch_style(kernel.name)
    text = f"{hover(kernel.measurement, of)}<br>{units.rate(kernel.bandwidth)} read"
    marker = markers.fill(look.color, look.pattern, outline=1, opacity=0.45)
    return markers.bars(
        [(length, kernel.name, text, kernel.measurement)], marker, name=escape(kernel.name), showlegend=False
    )


def _roofline(rate: float, kernels: list[str], legend: bool) -> go.Scatter:
    return go.Scatter(
        name="roofline",
        legendgroup="roofline",
        showlegend=legend,
        x=[rate] * len(kernels),
        y=kernels,
        mode="markers",
        marker={"symbol": "line-ns", "size": ROW_PX - 8, "line": {"width": 2}},
        hovertext=[f"roofline: {units.gflops(rate)}"] * len(kernels),
        hoverinfo="text",
        meta={"role": "floor"},
    )
