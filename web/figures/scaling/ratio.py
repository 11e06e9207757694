"""Performance with equal rows if half of the devices have fewer nonzeros by a ratio; Figure 6 of the MSREP paper."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling.cases import WORKS
from gpu_engine.findings.scaling.groups import devices_in_words
from gpu_engine.findings.scaling.row_length_sweep import Point, Sweep, sweeps
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures.base import blank, caption, escape
from web.figures.busy import evidence
from web.figures.panels import Legend, panels
from web.figures.scaling.markers import virtual_note
from web.palette import DASHES, OKABE_ITO, SYMBOLS

PANEL_PX = 260
NO_SWEEP = (
    "No two matrices of the generator two_level were measured on several devices with both equal rows and equal "
    "nonzeros."
)
EQUAL_ROWS, EQUAL_NONZEROS, EXPECTED = "equal rows", "equal nonzeros", "expected with equal rows"
"""Names of the lines."""


@dataclass(frozen=True, slots=True)
class Ratios:
    """A sweep for each machine, partitioning, and number of devices."""

    sweeps: tuple[Sweep, ...]

    @property
    def panels(self) -> list[tuple[Sweep, str, tuple[Point, ...]]]:
        """Return (sweep, workload, points) of each panel: workloads have different scales."""
        return [(sweep, work, points) for sweep in self.sweeps for work, points in sweep.points.items()]


def info(data: StudyData) -> Ratios:
    """Return SpMV from the host and resident SpMV, with the highlighted number of devices."""
    return Ratios(tuple(sweeps(data)))


def draw(info: Ratios) -> go.Figure:
    """Return GFLOP/s against the ratio of the nonzeros: with equal rows, as expected, and with equal nonzeros."""
    if not info.sweeps:
        return blank(NO_SWEEP)
    titles = [_title(sweep, work) for sweep, work, _ in info.panels]
    figure = panels(titles, [PANEL_PX] * len(titles), 3, across=3)
    legend = Legend()
    for row, (_, _, points) in enumerate(info.panels, start=1):
        for trace in _lines(points, legend):
            figure.add_trace(trace, row=row, col=1)
        ratios = [point.ratio for point in points]
        figure.update_xaxes(tickvals=ratios, ticktext=[f"1:{ratio:g}" for ratio in ratios], row=row, col=1)
    figure.update_yaxes(rangemode="tozero", title_text="GFLOP/s")
    figure.update_xaxes(title_text="nonzeros per device, low:high", title_standoff=4, row=len(titles), col=1)
    return figure


def table(info: Ratios) -> Table:
    """Return a row per matrix and workload."""
    heads = (
        Head("matrix", numeric=False),
        Head("machine", numeric=False),
        Head("workload", numeric=False),
        Head("kernel", numeric=False),
        Head("devices"),
        Head("ratio", "long/short"),
        Head("equal rows", "GFLOP/s"),
        Head("equal nonzeros", "GFLOP/s"),
        Head("allowed", "% of speed"),
        Head("measured", "% of speed"),
    )
    rows = (
        (
            point.matrix,
            sweep.group.machine,
            WORKS[work],
            point.series.label,
            units.count(point.devices),
            units.number(point.ratio),
            units.number(point.measurement.gflops),
            units.number(point.balanced.gflops),
            units.percent(point.allowed),
            units.percent(point.measured),
        )
        for sweep, work, points in info.panels
        for point in points
    )
    return Table(heads, tuple(rows))


def summary(info: Ratios) -> str:
    """Return what is drawn, and the speed at the largest ratio."""
    if not info.sweeps:
        return NO_SWEEP
    what = "Performance with equal rows per device, where half of the rows are r times as long as the others. "
    what += "Dashed: expected from the performance with equal nonzeros."
    more = "Expected: (1 + 1/r)/2 of the performance with equal nonzeros. "
    more += "The paper measures 559 of 1,028 GFLOP/s (54\u202f%) at r = 10 on eight GPUs."
    note = virtual_note(sweep.group for sweep in info.sweeps)
    return caption(what, (_reached(*panel) for panel in info.panels), (more, note))


def _reached(sweep: Sweep, work: str, points: Sequence[Point]) -> str:
    last = points[-1]
    rates = f"{units.number(last.measurement.gflops)} of {units.number(last.balanced.gflops)} GFLOP/s"
    shares = f"{units.percent(last.measured)}, expected {units.percent(last.allowed)}"
    return f"{_title(sweep, work)}: at r = {last.ratio:g}, {rates} ({shares})."


def _title(sweep: Sweep, work: str) -> str:
    devices = devices_in_words(sweep.devices, virtual=False)
    return f"{sweep.group.machine} · {sweep.group.partitioning} · {devices} · {WORKS[work]}"


def _lines(points: Sequence[Point], legend: Legend) -> Iterator[go.Scatter]:
    """Yield the lines of a panel: equal nonzeros, expected, and equal rows on top."""
    yield _measured(EQUAL_NONZEROS, 1, points, [point.balanced for point in points], legend)
    yield go.Scatter(
        **legend.entry(EXPECTED),
        x=[point.ratio for point in points],
        y=[point.allowed * (point.balanced.gflops or 0.0) for point in points],
        mode="lines",
        line={"dash": "dash", "width": 1.5},
        hoverinfo="skip",
        meta={"role": "roof"},
    )
    yield _measured(EQUAL_ROWS, 0, points, [point.measurement for point in points], legend)


def _measured(
    name: str, look: int, points: Sequence[Point], measurements: Sequence[Measurement], legend: Legend
) -> go.Scatter:
    return go.Scatter(
        **legend.entry(name),
        x=[point.ratio for point in points],
        y=[m.gflops for m in measurements],
        mode="lines+markers",
        line={"color": OKABE_ITO[look], "dash": DASHES[look], "width": 1.5},
        marker={"color": OKABE_ITO[look], "symbol": SYMBOLS[look % len(SYMBOLS)], "size": 8, "line": {"width": 0.5}},
        hovertext=[_hover(name, point, m) for point, m in zip(points, measurements, strict=True)],
        hoverinfo="text",
        meta={"role": "point"},
        **evidence([m] for m in measurements),
    )


def _hover(name: str, point: Point, m: Measurement) -> str:
    lines = (
        f"<b>{escape(point.matrix)}</b>, nonzeros 1:{point.ratio:g}",
        f"{name}: {units.number(m.gflops)} GFLOP/s",
        f"{units.percent(point.measured)} measured, {units.percent(point.allowed)} expected",
    )
    return "<br>".join(lines)
