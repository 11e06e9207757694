"""Throughput by batch size; Figure 3 of the batched SpMV paper."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.batched.groups import (
    CSR_LOOPS,
    ELL_LOOPS,
    LOOPS,
    PAPER,
    BatchGroup,
    batch_groups,
)
from gpu_engine.findings.batched.outlook import FLEXIBLE
from gpu_engine.findings.batched.paper import SIMILAR, is_uniform
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import gain
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.words import capital
from web.figures.base import blank, caption, log_axis
from web.figures.batched.markers import (
    FACET,
    Facet,
    Point,
    colored_among,
    facet,
    in_order,
    line_panels,
    loops_end,
    loops_max,
)

PANEL_PX = 236
PANELS_MAX = len(SIMILAR)
"""Maximum number of panels: those of Figure 3. The table has all."""

COLORED = (*PAPER, FLEXIBLE, CSR_LOOPS[0], ELL_LOOPS[0])
"""Kernels in color: those of Figure 3, with the loops of the standard ones, and Sparsight's automatic kernel."""

ONE_SIZE = "Only one batch size was measured. Measure several sizes to see the scaling."


@dataclass(frozen=True, slots=True)
class Series:
    """The batches of one matrix or mixture by ascending size; x: the batch size."""

    facet: Facet
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class LoopGain:
    """Speedup of the fastest kernel of the paper over a launch loop: the smallest and the largest."""

    device: str
    cache: str
    loop: str
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Growth:
    """Series of at least two sizes: the matrices of Figure 3, other uniform batches, mixed ones.

    Among them, those with the most sizes come first.

    loops_max  largest batch size with a timed launch loop, if larger batches have none; otherwise 0
    """

    series: tuple[Series, ...]
    gains: tuple[LoopGain, ...]
    loops_max: int = 0


def info(data: StudyData) -> Growth:
    """Return batches with times, and the speedups over each loop in the largest batch of a series that has both."""
    series: dict[tuple[str, str, str, str, str], list[BatchGroup]] = {}
    for group in batch_groups(data):
        if group.timed:
            key = group.compose, group.matrix_id, group.mixture, group.device, group.cache
            series.setdefault(key, []).append(group)
    growing = sorted((groups for groups in series.values() if len(groups) > 1), key=lambda each: _position(each, data))
    return Growth(
        tuple(Series(facet(groups[0], data), tuple(_point(group) for group in groups)) for groups in growing),
        _loop_gains(growing),
        loops_max(group for groups in growing for group in groups),
    )


def draw(info: Growth) -> go.Figure:
    """Return GFLOP/s over the batch size, both log, a line per kernel, a panel per matrix, with the roofline dotted."""
    series = info.series[:PANELS_MAX]
    if not series:
        return blank(ONE_SIZE)
    titles, lines = [batches.facet.title for batches in series], [batches.points for batches in series]
    figure = line_panels(titles, lines, PANEL_PX, COLORED)
    figure.update_xaxes(**log_axis([point.x for batches in series for point in batches.points]).settings)
    for row, batches in enumerate(series, start=1):
        figure.update_yaxes(
            **log_axis([rate for point in batches.points for rate in point.rates]).settings, row=row, col=1
        )
    figure.update_xaxes(title_text="batch size", title_standoff=4, row=len(series), col=1)
    return figure


def table(info: Growth) -> Table:
    """Return a row per matrix and kernel, a column per batch size, with the roofline below them."""
    sizes = sorted({point.x for series in info.series for point in series.points})
    heads = (*FACET, Head("kernel", numeric=False), *(Head(units.count(size), "GFLOP/s") for size in sizes))
    rows: list[tuple[str, ...]] = []
    for series in info.series:
        points = series.points
        lines = {
            kernel: [m.gflops if (m := point.kernels.get(kernel)) else None for point in points]
            for kernel in in_order(kernel for point in points for kernel in point.kernels)
        }
        lines["roofline"] = [point.roofline for point in points]
        texts = iter(units.column([rate for rates in lines.values() for rate in rates]))
        for kernel in lines:
            cells = {point.x: next(texts) for point in points}
            rows.append((*series.facet, kernel, *(cells.get(size, units.MISSING) for size in sizes)))
    return Table(heads, tuple(rows))


def summary(info: Growth) -> str:
    """Return what the lines are, and the speedups over launch loops at the largest size."""
    if not info.series:
        return ONE_SIZE
    text = "Throughput by batch size, a line per kernel. Dotted: roofline, which falls when a batch exceeds the cache."
    kernels = {kernel for series in info.series for point in series.points for kernel in point.kernels}
    if colored_among(kernels, COLORED):
        text += f" In color: the paper’s kernels and {FLEXIBLE}."
    if len(info.series) > PANELS_MAX:
        text += f" Showing {PANELS_MAX} of {len(info.series)}, the paper’s matrices first; the table has all."
    more = []
    for device, cache in dict.fromkeys((over.device, over.cache) for over in info.gains):
        here = [over for over in info.gains if (over.device, over.cache) == (device, cache)]
        gains = " ".join(f"{capital(_gain_text(over))}." for over in here)
        more.append(f"Speedup of the fastest kernel of the paper in the largest batches on {device}, {cache}. {gains}")
    return caption(text, (), (*more, loops_end(info.loops_max)))


def _position(groups: Sequence[BatchGroup], data: StudyData) -> tuple[bool, bool, int]:
    return groups[0].compose == "mixed", not is_uniform(groups[0], data, SIMILAR), -len(groups)


def _point(group: BatchGroup) -> Point:
    kernels = {m.kernel: m for m in group.timed}
    return Point(float(group.batch_size), f"batch of {units.count(group.batch_size)}", kernels, group.floor_gflops)


def _gain_text(over: LoopGain) -> str:
    low, high = (f"{units.number(gain)}{units.THIN}×" for gain in (over.low, over.high))
    return f"over {over.loop}: {low if low == high else f'{low} to {high}'}"


def _loop_gains(series: Iterable[Sequence[BatchGroup]]) -> tuple[LoopGain, ...]:
    gains: dict[tuple[str, str, str], list[float]] = {}
    for groups in series:
        for loop in LOOPS:
            quiet = [group for group in reversed(groups) if not group.ranking.busy]
            largest_first = (gain(group.of(loop), next(iter(group.among(PAPER)), None)) for group in quiet)
            if (last := next(filter(None, largest_first), None)) is not None:
                gains.setdefault((groups[0].device, groups[0].cache, loop), []).append(last)
    return tuple(LoopGain(*where, min(values), max(values)) for where, values in gains.items())
