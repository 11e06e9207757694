"""Drawing of kernels, and titles and table heads, shared by the figures of the study."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Any, NamedTuple

import plotly.graph_objects as go

from gpu_engine.findings.batched.groups import LOOPS, PADDING, BatchGroup, is_ours, name_of
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import share
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head
from gpu_engine.text.units import count, gflops, percent, seconds
from web.figures import busy
from web.figures.base import escape, shorten
from web.figures.highlighting import NAMED_MAX, OTHERS_MARKER
from web.figures.markers import Mark
from web.figures.markers import points as scatter
from web.figures.panels import Legend, panels
from web.palette import OTHERS, batch_position, batch_style

NO_TIME = "No kernel was timed on such a batch."
"""Summary if nothing was timed."""

BALANCED_TEXT = f"Balanced: in ELL, the padding is less than {percent(PADDING)} of the nonzeros."
"""Definition of balanced in the summaries of figures that name it."""

FACET = tuple(Head(text, numeric=False) for text in ("matrix", "device", "cache"))


class Facet(NamedTuple):
    """Subject of a panel, as the cells under FACET: matrix or mixture, device, cache state."""

    name: str
    device: str
    cache: str

    @property
    def title(self) -> str:
        """Return the title of the panel."""
        return f"{escape(shorten(self.name, 48))} · {self.device} · {self.cache}"


@dataclass(frozen=True, slots=True)
class Point:
    """The kernels with a time at one position of the x axis.

    name      what distinguishes it from the other points
    roofline  GFLOP/s of the roofline
    """

    x: float
    name: str
    kernels: Mapping[str, Measurement]
    roofline: float | None = None

    @property
    def rates(self) -> list[float]:
        """Return all values drawn at this point, in GFLOP/s."""
        return [rate for rate in (*(m.gflops for m in self.kernels.values()), self.roofline) if rate]


def facet(group: BatchGroup, data: StudyData) -> Facet:
    """Return the facet of a batch."""
    return Facet(name_of(group, data), group.device, group.cache)


def in_order(kernels: Iterable[str]) -> list[str]:
    """Return each kernel once: Sparsight kernels in the order of the engine, then library kernels."""
    return sorted(set(kernels), key=batch_position)


def line_panels(
    titles: Sequence[str], lines: Sequence[Sequence[Point]], px: int, colored: Collection[str] = ()
) -> go.Figure:
    """Return GFLOP/s over x, a line per kernel, a panel of `px` pixels per title, with rooflines dotted.

    colored  kernels in color among many, see `colored_among`; else the NAMED_MAX best, with the fastest library kernel

    The other kernels are gray.
    """
    kernels = in_order(kernel for points in lines for point in points for kernel in point.kernels)
    with_roofline = any(point.roofline for points in lines for point in points)
    named = colored_among(kernels, colored) or _named(kernels, [point for points in lines for point in points])
    figure = panels(titles, [px] * len(titles), len(named) + (len(kernels) > len(named)) + with_roofline, across=3)
    legend = Legend()
    # Gray lines are drawn first, then library kernels, behind Sparsight kernels.
    ordered = [*(k for k in reversed(kernels) if k not in named), *(k for k in reversed(kernels) if k in named)]
    for row, points in enumerate(lines, start=1):
        for kernel in ordered:
            if any(kernel in point.kernels for point in points):
                figure.add_trace(_line(kernel, points, legend, kernel in named), row=row, col=1)
        if any(point.roofline for point in points):
            figure.add_trace(_roofline(points, legend), row=row, col=1)
    figure.update_layout(legend_traceorder="reversed")
    figure.update_yaxes(rangemode="tozero", title_text="GFLOP/s")
    return figure


def colored_among(kernels: Collection[str], colored: Collection[str]) -> list[str]:
    """Return the kernels of `colored` that are present; none of few kernels, which all have a color."""
    return [kernel for kernel in kernels if kernel in colored] if len(kernels) > NAMED_MAX else []


def kernel_points(kernel: str, kernel_marks: Sequence[Mark], marker: dict[str, Any], **options: Any) -> go.Scatter:
    """Return the points of a kernel."""
    return scatter(kernel_marks, marker, meta={"role": "point", "kernel": kernel}, **options)


def rows_axis(labels: Sequence[str]) -> dict[str, Any]:
    """Return the settings of a y axis with a row per label, the first on top."""
    return {"categoryorder": "array", "categoryarray": list(labels), "range": [len(labels) - 0.5, -0.5]}


def marker(kernel: str, size: int) -> dict[str, Any]:
    """Return the marker of a kernel."""
    look = batch_style(kernel)
    return {"color": look.color, "symbol": look.symbol, "size": size, "line": {"width": 0.5}}


def hover(m: Measurement, of: str) -> str:
    """Return the hover text of a kernel: throughput, % of roofline, and median."""
    of_roofline = share(m.roofline_s, m)
    roofline = f", {percent(of_roofline)} of roofline" if of_roofline is not None else ""
    return f"<b>{escape(m.kernel)}</b> on {escape(of)}<br>{gflops(m.gflops)}{roofline}<br>median {seconds(m.median_s)}"


def loops_max(groups: Iterable[BatchGroup]) -> int:
    """Return the largest batch size with a timed launch loop, if larger batches have none; otherwise 0."""
    loops = [
        (m.median_s is not None, group.batch_size) for group in groups for m in group.measurements if m.kernel in LOOPS
    ]
    most = max((batch_size for is_timed, batch_size in loops if is_timed), default=0)
    return most if any(batch_size > most for _, batch_size in loops) else 0


def loops_end(most: int) -> str:
    """Return a sentence on the limit of launch loops, given by `loops_max`; empty if it is 0."""
    if not most:
        return ""
    return f" Launch loops are measured up to batch size {count(most)}, because they launch each item separately."


def left_out(most: int, every: int) -> str:
    """Return a sentence on what is not drawn; empty if all is."""
    return f" Showing the first {most} of {every}; the table has all." if every > most else ""


def _named(kernels: Sequence[str], points: Sequence[Point]) -> list[str]:
    """Return all of few kernels; of many, the best ones where they have a time, with a library kernel last."""
    if len(kernels) <= NAMED_MAX:
        return list(kernels)
    nearest = sorted(kernels, key=lambda kernel: -_nearness(kernel, points))
    library = next((kernel for kernel in nearest if not is_ours(kernel)), nearest[0])
    return [*[kernel for kernel in nearest if kernel != library][: NAMED_MAX - 1], library]


def _nearness(kernel: str, points: Sequence[Point]) -> float:
    """Return the geometric mean of its throughput over the best of each point; 0 without a time."""
    rates = [{k: m.gflops for k, m in point.kernels.items() if m.gflops} for point in points]
    shares = [throughputs[kernel] / max(throughputs.values()) for throughputs in rates if kernel in throughputs]
    return geometric_mean(shares) if shares else 0.0


def _line(kernel: str, points: Sequence[Point], legend: Legend, named: bool) -> go.Scatter:
    look, measurements = batch_style(kernel), [point.kernels.get(kernel) for point in points]
    line = {"color": look.color, "dash": look.dash, "width": 1.5} if named else {"color": OTHERS, "width": 1}
    # Every line has all x values: otherwise Plotly reports an error in narrow figures with log axes.
    return go.Scatter(
        **legend.entry(escape(kernel) if named else "others"),
        x=[point.x for point in points],
        y=[m and m.gflops for m in measurements],
        mode="lines+markers",
        connectgaps=True,
        line=line,
        marker=marker(kernel, 7) if named else OTHERS_MARKER,
        opacity=1.0 if named else 0.5,
        hovertext=[m and hover(m, point.name) for m, point in zip(measurements, points, strict=True)],
        hoverinfo="text",
        meta={"role": "point", "kernel": kernel},
        **busy.evidence([m] if m else [] for m in measurements),
    )


def _roofline(points: Sequence[Point], legend: Legend) -> go.Scatter:
    return go.Scatter(
        **legend.entry("roofline"),
        x=[point.x for point in points],
        y=[point.roofline or None for point in points],
        mode="lines",
        connectgaps=True,
        line={"dash": "dot", "width": 1.5},
        hovertext=[f"roofline: {gflops(point.roofline)}" for point in points],
        hoverinfo="text",
        meta={"role": "roof"},
    )
