"""GFLOP/s by batch size; Figure 3 of the batched SpMV paper."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.batched.groups import LOOPS, PAPER, BatchGroup, batch_groups
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import gain
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures.base import blank, caption, log_axis
from web.figures.batched.marks import FACET, Facet, Point, facet, in_order, line_panels, loops_end, loops_max

PANEL_PX = 260
PANELS_MAX = 6
"""More panels one above the other nobody reads; the table has all."""

ONE_SIZE = "Every batch here has a single size: measure several to see how the rates grow."


@dataclass(frozen=True, slots=True)
class Series:
    """The batches of one matrix or mixture, x their problems, by ascending size."""

    facet: Facet
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class LoopGain:
    """How many times as fast as one product after the other the fastest kernel of the paper is: least and most."""

    device: str
    cache: str
    loop: str
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Growth:
    """Series of two sizes or more, copies before mixed batches, those of the most sizes first.

    loops_max  most problems on which one product after the other has a time, where larger batches are without; else 0
    """

    series: tuple[Series, ...]
    gains: tuple[LoopGain, ...]
    loops_max: int = 0


def info(data: StudyData) -> Growth:
    """Batches with times; gains of the largest batch of each series that has both and counts, for every loop."""
    series: dict[tuple[str, str, str, str, str], list[BatchGroup]] = {}
    for group in batch_groups(data):
        if group.timed:
            key = group.compose, group.matrix_id, group.mixture, group.device, group.cache
            series.setdefault(key, []).append(group)
    ordered = sorted(series.items(), key=lambda item: (item[0][0], -len(item[1])))
    growing = [groups for _, groups in ordered if len(groups) > 1]
    return Growth(
        tuple(Series(facet(groups[0], data), tuple(_point(group) for group in groups)) for groups in growing),
        _loop_gains(growing),
        loops_max(group for groups in growing for group in groups),
    )


def draw(info: Growth) -> go.Figure:
    """GFLOP/s over the number of problems, both log, a line a kernel, a panel a matrix; the floor's rate dotted."""
    series = info.series[:PANELS_MAX]
    if not series:
        return blank(ONE_SIZE)
    figure = line_panels([own.facet.title for own in series], [own.points for own in series], PANEL_PX)
    figure.update_xaxes(**log_axis([point.x for own in series for point in own.points]).settings)
    for row, own in enumerate(series, start=1):
        figure.update_yaxes(**log_axis([rate for point in own.points for rate in point.rates]).settings, row=row, col=1)
    figure.update_xaxes(title_text="problems of a batch", title_standoff=4, row=len(series), col=1)
    return figure


def table(info: Growth) -> Table:
    """A row per matrix and kernel, a column a size; the floor's rate below them."""
    sizes = sorted({point.x for series in info.series for point in series.points})
    heads = (*FACET, Head("kernel", numeric=False), *(Head(units.count(size), "GFLOP/s") for size in sizes))
    rows: list[tuple[str, ...]] = []
    for series in info.series:
        points = series.points
        lines = {
            kernel: [m.gflops if (m := point.kernels.get(kernel)) else None for point in points]
            for kernel in in_order(kernel for point in points for kernel in point.kernels)
        }
        lines["floor"] = [point.floor for point in points]
        texts = iter(units.column([rate for rates in lines.values() for rate in rates]))
        for kernel in lines:
            cells = {point.x: next(texts) for point in points}
            rows.append((*series.facet, kernel, *(cells.get(size, units.MISSING) for size in sizes)))
    return Table(heads, tuple(rows))


def summary(info: Growth) -> str:
    """What the lines are, and what the paper's kernels gain over one product after the other at the largest size."""
    if not info.series:
        return ONE_SIZE
    text = "GFLOP/s of batches of growing size, a kernel a line; dotted is the rate of the floor, which falls where a "
    text += "batch leaves the cache."
    if len(info.series) > PANELS_MAX:
        text += f" Drawn are {PANELS_MAX} of {len(info.series)}, those of the most sizes; the table has all."
    more = []
    for device, cache in dict.fromkeys((over.device, over.cache) for over in info.gains):
        here = [over for over in info.gains if (over.device, over.cache) == (device, cache)]
        gains = ", ".join(map(_said, here))
        more.append(
            f"On {device}, {cache} the fastest kernel of the paper is {gains} in the largest batches that have both."
        )
    return caption(text, (), (*more, loops_end(info.loops_max)))


def _point(group: BatchGroup) -> Point:
    kernels = {m.kernel: m for m in group.timed}
    return Point(float(group.batch_size), f"{units.count(group.batch_size)} problems", kernels, group.floor_gflops)


def _said(over: LoopGain) -> str:
    low, high = (f"{units.number(gain)}{units.THIN}×" for gain in (over.low, over.high))
    return f"{low if low == high else f'{low} to {high}'} as fast as {over.loop}"


def _loop_gains(series: Iterable[Sequence[BatchGroup]]) -> tuple[LoopGain, ...]:
    gains: dict[tuple[str, str, str], list[float]] = {}
    for groups in series:
        for loop in LOOPS:
            quiet = [group for group in reversed(groups) if not group.ranking.busy]
            found = (gain(group.of(loop), next(iter(group.among(PAPER)), None)) for group in quiet)
            if (last := next(filter(None, found), None)) is not None:
                gains.setdefault((groups[0].device, groups[0].cache, loop), []).append(last)
    return tuple(LoopGain(*where, min(own), max(own)) for where, own in gains.items())
