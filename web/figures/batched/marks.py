"""What the figures of the study share: how kernels are drawn, and the words of their panels and tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import plotly.graph_objects as go

from gpu_engine.findings.batched.groups import BatchGroup, name_of
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import share
from gpu_engine.findings.tables import Head
from gpu_engine.findings.units import gflops, percent, seconds
from gpu_engine.records import Measurement
from web.figures.base import escape, shorten
from web.figures.panels import Legend, panels
from web.palette import batch_position, batch_style

NO_TIME = "No kernel has a time on such a batch here."
"""The summary where nothing was timed."""

FACET = tuple(Head(text, numeric=False) for text in ("matrix", "device", "cache"))


class Facet(NamedTuple):
    """What a panel is of, as the cells under FACET: matrix or mixture, device, cache state."""

    name: str
    device: str
    cache: str

    @property
    def title(self) -> str:
        """Of the panel."""
        return f"{escape(shorten(self.name))} · {self.device} · {self.cache}"


@dataclass(frozen=True, slots=True)
class Point:
    """The kernels with a time at one place of the x axis.

    name   what distinguishes it from the other points
    floor  GFLOP/s of a product that takes as long as the floor
    """

    x: float
    name: str
    kernels: Mapping[str, Measurement]
    floor: float | None = None


def facet(group: BatchGroup, data: StudyData) -> Facet:
    """Of a batch."""
    return Facet(name_of(group, data), group.device, group.cache)


def in_order(kernels: Iterable[str]) -> list[str]:
    """Each once: ours in the order of the engine, then libraries."""
    return sorted(set(kernels), key=batch_position)


def line_panels(titles: Sequence[str], lines: Sequence[Sequence[Point]], px: int) -> go.Figure:
    """GFLOP/s over x, a line a kernel, a panel of so many pixels a title; rates of floors dotted."""
    kernels = in_order(kernel for points in lines for point in points for kernel in point.kernels)
    floors = any(point.floor for points in lines for point in points)
    figure = panels(titles, [px] * len(titles), len(kernels) + floors)
    legend = Legend()
    for row, points in enumerate(lines, start=1):
        # Libraries are drawn first, behind our own.
        for kernel in reversed(kernels):
            own = [point for point in points if kernel in point.kernels]
            if own:
                figure.add_trace(_line(kernel, own, legend), row=row, col=1)
        if any(point.floor for point in points):
            figure.add_trace(_floor_line(points, legend), row=row, col=1)
    figure.update_layout(legend_traceorder="reversed")
    figure.update_yaxes(rangemode="tozero", title_text="GFLOP/s")
    return figure


def marks(kernel: str, x: Sequence[float | None], y: Sequence[str], texts: Sequence[str], **options: Any) -> go.Scatter:
    """A kernel in rows; texts: what each mark says of itself."""
    return go.Scatter(
        x=x,
        y=y,
        mode="markers",
        hovertext=texts,
        hoverinfo="text",
        meta={"role": "point", "kernel": kernel},
        **options,
    )


def rows_axis(labels: Sequence[str]) -> dict[str, Any]:
    """The settings of a y axis with a row a label, the first on top."""
    return {"categoryorder": "array", "categoryarray": list(labels), "range": [len(labels) - 0.5, -0.5]}


def marker(kernel: str, size: int) -> dict[str, Any]:
    """The marker of a kernel."""
    look = batch_style(kernel)
    return {"color": look.color, "symbol": look.symbol, "size": size, "line": {"width": 0.5}}


def hover(m: Measurement, of: str) -> str:
    """What a mark says of its kernel."""
    of_floor = share(m.floor_s, m)
    floor = f", {percent(of_floor)} of the floor" if of_floor is not None else ""
    return f"<b>{escape(m.kernel)}</b> on {escape(of)}<br>{gflops(m.gflops)}{floor}<br>median {seconds(m.median_s)}"


def left_out(most: int, count: int) -> str:
    """A sentence on what is not drawn; empty where all is."""
    return f" Drawn are the first {most} of {count}; the table has all." if count > most else ""


def _line(kernel: str, points: Sequence[Point], legend: Legend) -> go.Scatter:
    look = batch_style(kernel)
    return go.Scatter(
        **legend.entry(escape(kernel)),
        x=[point.x for point in points],
        y=[point.kernels[kernel].gflops for point in points],
        mode="lines+markers",
        line={"color": look.color, "dash": look.dash, "width": 1.5},
        marker=marker(kernel, 7),
        hovertext=[hover(point.kernels[kernel], point.name) for point in points],
        hoverinfo="text",
        meta={"role": "point", "kernel": kernel},
    )


def _floor_line(points: Sequence[Point], legend: Legend) -> go.Scatter:
    rates = [(point.x, point.floor) for point in points if point.floor]
    return go.Scatter(
        **legend.entry("floor"),
        x=[x for x, _ in rates],
        y=[rate for _, rate in rates],
        mode="lines",
        line={"dash": "dot", "width": 1.5},
        hovertext=[f"floor: {gflops(rate)}" for _, rate in rates],
        hoverinfo="text",
        meta={"role": "roof"},
    )
