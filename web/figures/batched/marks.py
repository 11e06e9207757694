"""What the figures of the study share: how kernels are drawn, and the words of their panels and tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Any, NamedTuple

import plotly.graph_objects as go

from gpu_engine.findings.batched.groups import LOOPS, BatchGroup, is_ours, name_of
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import share
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head
from gpu_engine.text.units import count, gflops, percent, seconds
from web.figures import busy
from web.figures.base import escape, shorten
from web.figures.emphasis import NAMED_MAX, OTHERS_MARKER
from web.figures.marks import Mark
from web.figures.marks import points as scatter
from web.figures.panels import Legend, panels
from web.palette import OTHERS, batch_position, batch_style

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
        return f"{escape(shorten(self.name, 48))} · {self.device} · {self.cache}"


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

    @property
    def rates(self) -> list[float]:
        """All that are drawn at it, in GFLOP/s."""
        return [rate for rate in (*(m.gflops for m in self.kernels.values()), self.floor) if rate]


def facet(group: BatchGroup, data: StudyData) -> Facet:
    """Of a batch."""
    return Facet(name_of(group, data), group.device, group.cache)


def in_order(kernels: Iterable[str]) -> list[str]:
    """Each once: ours in the order of the engine, then libraries."""
    return sorted(set(kernels), key=batch_position)


def line_panels(titles: Sequence[str], lines: Sequence[Sequence[Point]], px: int) -> go.Figure:
    """GFLOP/s over x, a line a kernel, a panel of so many pixels a title; rates of floors dotted.

    The NAMED_MAX nearest to the best are in colours, the fastest library among them; the others are grey.
    """
    kernels = in_order(kernel for points in lines for point in points for kernel in point.kernels)
    floors = any(point.floor for points in lines for point in points)
    named = _named(kernels, [point for points in lines for point in points])
    figure = panels(titles, [px] * len(titles), len(named) + (len(kernels) > len(named)) + floors, across=3)
    legend = Legend()
    # What is grey is drawn first, then libraries, behind our own.
    drawn = [*(k for k in reversed(kernels) if k not in named), *(k for k in reversed(kernels) if k in named)]
    for row, points in enumerate(lines, start=1):
        for kernel in drawn:
            if any(kernel in point.kernels for point in points):
                figure.add_trace(_line(kernel, points, legend, kernel in named), row=row, col=1)
        if any(point.floor for point in points):
            figure.add_trace(_floor_line(points, legend), row=row, col=1)
    figure.update_layout(legend_traceorder="reversed")
    figure.update_yaxes(rangemode="tozero", title_text="GFLOP/s")
    return figure


def marks(kernel: str, shown: Sequence[Mark], marker: dict[str, Any], **options: Any) -> go.Scatter:
    """Return the points of a kernel."""
    return scatter(shown, marker, meta={"role": "point", "kernel": kernel}, **options)


def rows_axis(labels: Sequence[str]) -> dict[str, Any]:
    """The settings of a y axis with a row a label, the first on top."""
    return {"categoryorder": "array", "categoryarray": list(labels), "range": [len(labels) - 0.5, -0.5]}


def marker(kernel: str, size: int) -> dict[str, Any]:
    """The marker of a kernel."""
    look = batch_style(kernel)
    return {"color": look.color, "symbol": look.symbol, "size": size, "line": {"width": 0.5}}


def hover(m: Measurement, of: str) -> str:
    """What a mark says of its kernel."""
    of_floor = share(m.roofline_s, m)
    floor = f", {percent(of_floor)} of the floor" if of_floor is not None else ""
    return f"<b>{escape(m.kernel)}</b> on {escape(of)}<br>{gflops(m.gflops)}{floor}<br>median {seconds(m.median_s)}"


def loops_max(groups: Iterable[BatchGroup]) -> int:
    """Most problems on which one product after the other has a time, where larger batches are without; else 0."""
    found = [
        (m.median_s is not None, group.batch_size) for group in groups for m in group.measurements if m.kernel in LOOPS
    ]
    most = max((batch_size for is_timed, batch_size in found if is_timed), default=0)
    return most if any(batch_size > most for _, batch_size in found) else 0


def loops_end(most: int) -> str:
    """A sentence on where they end, which `loops_max` has found; empty where they do not."""
    if not most:
        return ""
    return f" One product after the other is measured up to {count(most)} problems: it launches something for each."


def left_out(most: int, every: int) -> str:
    """A sentence on what is not drawn; empty where all is."""
    return f" Drawn are the first {most} of {every}; the table has all." if every > most else ""


def _named(kernels: Sequence[str], points: Sequence[Point]) -> list[str]:
    """Of few kernels all; of many those nearest to the best where they have a time, a library in the last place."""
    if len(kernels) <= NAMED_MAX:
        return list(kernels)
    nearest = sorted(kernels, key=lambda kernel: -_nearness(kernel, points))
    library = next((kernel for kernel in nearest if not is_ours(kernel)), nearest[0])
    return [*[kernel for kernel in nearest if kernel != library][: NAMED_MAX - 1], library]


def _nearness(kernel: str, points: Sequence[Point]) -> float:
    """The geometric mean of its rate over the best of each point; 0 without a time."""
    rates = [{k: m.gflops for k, m in point.kernels.items() if m.gflops} for point in points]
    shares = [own[kernel] / max(own.values()) for own in rates if kernel in own]
    return geometric_mean(shares) if shares else 0.0


def _line(kernel: str, points: Sequence[Point], legend: Legend, named: bool) -> go.Scatter:
    look, own = batch_style(kernel), [point.kernels.get(kernel) for point in points]
    line = {"color": look.color, "dash": look.dash, "width": 1.5} if named else {"color": OTHERS, "width": 1}
    # A place for every point: Plotly reports an error where lines of a narrow figure with log axes differ in theirs.
    return go.Scatter(
        **legend.entry(escape(kernel) if named else "others"),
        x=[point.x for point in points],
        y=[m and m.gflops for m in own],
        mode="lines+markers",
        connectgaps=True,
        line=line,
        marker=marker(kernel, 7) if named else OTHERS_MARKER,
        opacity=1.0 if named else 0.5,
        hovertext=[m and hover(m, point.name) for m, point in zip(own, points, strict=True)],
        hoverinfo="text",
        meta={"role": "point", "kernel": kernel},
        **busy.evidence([m] if m else [] for m in own),
    )


def _floor_line(points: Sequence[Point], legend: Legend) -> go.Scatter:
    return go.Scatter(
        **legend.entry("floor"),
        x=[point.x for point in points],
        y=[point.floor or None for point in points],
        mode="lines",
        connectgaps=True,
        line={"dash": "dot", "width": 1.5},
        hovertext=[f"floor: {gflops(point.floor)}" for point in points],
        hoverinfo="text",
        meta={"role": "roof"},
    )
