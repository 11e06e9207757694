"""Speedup of complete runs; Figure 6 of the CPMS PageRank paper."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank import ranking_of
from gpu_engine.findings.pagerank.runs import FP64, Run, RunGroup, has_right_ranks, speed_up
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import ratio, seconds
from gpu_engine.verdicts.verdict import VerdictKind, compare, verdict_text
from web.figures import markers
from web.figures.base import blank, caption, escape
from web.figures.pagerank import dots
from web.figures.pagerank.facets import Panel, Panels, axis_end, bar_panels, mark_fp64, panels_of
from web.figures.panels import Legend
from web.palette import style

MEANS_NAMED = 3
"""Number of means in the sentence; the figure has all."""

WHISKER = "the 95 % intervals of both times combined"
NO_PAIR = "No run has a timed run of the same kernel in fp64."


@dataclass(frozen=True, slots=True)
class Row:
    """A run, compared with the same kernel in fp64.

    speed_up      of the time to convergence; interval: from the ends of both 95 % intervals
    over_fastest  speedup over the fastest run in fp64
    bound         compulsory bytes of the same kernel in fp64 over those of the run, as times at equal bandwidth
    counts        whether a mean includes the speedup: ranks verified, verdict conclusive, not all segments read
                  throughout, timings not too noisy
    """

    label: str
    measurement: Measurement
    against: str
    speed_up: float
    interval: tuple[float, float]
    over_fastest: float | None
    bound: float | None
    verdict: VerdictKind
    is_right: bool
    counts: bool

    @property
    def doubt(self) -> str:
        """Return the reason for doubting the speedup; empty if there is none."""
        if not self.is_right:
            return "ranks not verified to ε"
        return "inconclusive" if self.verdict == "inconclusive" else ""


@dataclass(frozen=True, slots=True)
class Mean:
    """Geometric-mean speedup of a kernel, over the fastest run of each matrix."""

    kernel: str
    speed_up: float
    matrices: int


@dataclass(frozen=True, slots=True)
class Info:
    """The panels, and the means of each device on which some kernel ran on several matrices."""

    panels: Panels[Row]
    means: dict[str, list[Mean]]


def info(data: StudyData) -> Info:
    """Return the runs with a time of the same kernel in fp64; no run is compared with itself."""
    panels = panels_of(data, lambda group, run: _row(group, run, data))
    return Info(panels, _means(panels.panels))


def draw(info: Info) -> go.Figure:
    """Return the speedup to convergence over the same kernel in fp64, a row per run, with the bound by bytes."""
    if not info.panels.panels:
        return blank(NO_PAIR)
    if len(info.panels.panels) > 1:
        return dots.draw(_fastest_first(info.panels), _dots, "speedup over fp64")
    panels = info.panels.visible
    labels = [[row.label for row in panel.rows] for panel in panels]
    figure = bar_panels(panels, labels, 2, "overlay", "speedup over fp64")
    legend = Legend()
    for number, panel in enumerate(panels, start=1):
        for look in dict.fromkeys((row.measurement.format, row.doubt) for row in panel.rows):
            alike = [row for row in panel.rows if (row.measurement.format, row.doubt) == look]
            figure.add_trace(_bars(alike, *look, legend), row=number, col=1)
        bounds = {row.label: row.bound for row in panel.rows if row.bound}
        if bounds:
            figure.add_trace(_bounds(bounds, legend), row=number, col=1)
        lengths = (1.0, *(row.speed_up for row in panel.rows), *bounds.values())
        figure.update_xaxes(range=[0, axis_end((length, True) for length in lengths)], row=number, col=1)
        mark_fp64(figure, {"row": number, "col": 1})
    return figure


def table(info: Info) -> Table:
    """Return a row per run: both speedups, the verdict on the first, and the bound by bytes."""
    heads = tuple(Head(text, numeric=False) for text in ("matrix", "device", "run", "baseline"))
    numbers = (Head("speedup", "same kernel"), Head("bound", "by bytes"), Head("verdict", numeric=False))
    rows = []
    for panel in info.panels.panels:
        for row in panel.rows:
            ratios = ratio(row.speed_up), ratio(row.bound), verdict_text(row.verdict), ratio(row.over_fastest)
            rows.append((*panel.place, row.label, row.against, *ratios))
    return Table((*heads, *numbers, Head("speedup", "fastest in fp64")), tuple(rows))


def summary(info: Info) -> str:
    """Return what the bars and marks are, and the mean speedups if there are several matrices."""
    if not info.panels.panels:
        return NO_PAIR
    highest = []
    for device, means in info.means.items():
        best = sorted(means, key=lambda mean: -mean.speed_up)[:MEANS_NAMED]
        named = ", ".join(f"{mean.kernel} {ratio(mean.speed_up)} ({mean.matrices})" for mean in best)
        highest.append(f"Highest geometric-mean speedups on {device}, conclusive runs only (graphs): {named}.")
    more = ["The speedup over the fastest run in fp64 is smaller; the table has both."]
    rows = [row for panel in info.panels.panels for row in panel.rows]
    timed = any(row.interval != (row.speed_up, row.speed_up) for row in rows)
    if len(info.panels.panels) == 1:
        whisker = f" Whisker: {WHISKER}." if timed else ""
        more.append(f"Mark: ratio of the compulsory bytes.{whisker}")
        more.append("Pale bars are inconclusive or not verified to ε.")
    else:
        whisker = f" Whisker: {WHISKER}." if timed else ""
        more.append(f"Point: fastest run of a kernel on a graph.{whisker}")
        more.append("Hollow points are inconclusive, too noisy, or not verified to ε.")
    omission = dots.left_out(info.panels, _dots) if len(info.panels.panels) > 1 else ""
    return caption(f"Speedup to convergence over the same kernel in fp64. {omission}", highest, more)


def _fastest_first(info: Panels[Row]) -> Panels[Row]:
    """Return the panels with the fastest verified run of each kernel first, kernels in their order."""
    sorted_panels = []
    for panel in info.panels:
        kernels = list(dict.fromkeys(row.measurement.kernel for row in panel.rows))
        sorted_panels.append(replace(panel, rows=tuple(sorted(panel.rows, key=lambda row: _rank(row, kernels)))))
    return Panels(tuple(sorted_panels))


def _rank(row: Row, kernels: Sequence[str]) -> tuple[int, bool, float]:
    return kernels.index(row.measurement.kernel), not row.counts, -row.speed_up


def _dots(row: Row) -> Iterator[dots.Dot]:
    m = row.measurement
    yield dots.Dot(m.kernel, style(m.format).color, row.speed_up, m, row.interval, row.counts)


def _row(group: RunGroup, run: Run, data: StudyData) -> Row | None:
    base, m = group.plain(run), run.measurement
    gain = speed_up(base, run)
    if run.storage == FP64 or base is None or gain is None:
        return None
    verdict, right = compare(base.measurement, m).kind, has_right_ranks(run, data)
    settled = verdict != "inconclusive" and not ranking_of(group, data).busy
    return Row(
        group.label(run),
        m,
        base.measurement.kernel,
        gain,
        markers.ratio_interval(base.measurement, m),
        speed_up(group.fastest_full, run),
        group.bound(run),
        verdict,
        right,
        right and settled and (run.in_fewer_bits or not run.segments),
    )


def _means(panels: Sequence[Panel[Row]]) -> dict[str, list[Mean]]:
    gains: dict[str, dict[str, dict[str, float]]] = {}
    for (graph, place), row in ((panel.place, row) for panel in panels for row in panel.rows if row.counts):
        best = gains.setdefault(place, {}).setdefault(row.measurement.kernel, {})
        best[graph] = max(row.speed_up, best.get(graph, 0.0))
    return {
        place: [Mean(kernel, geometric_mean(values.values()), len(values)) for kernel, values in kernels.items()]
        for place, kernels in gains.items()
        if any(len(values) > 1 for values in kernels.values())
    }


def _bars(rows: Sequence[Row], name: str, doubt: str, legend: Legend) -> go.Bar:
    """Return the runs of one format with their whiskers; doubtful ones are pale."""
    look = style(name)
    return markers.bars(
        [(row.speed_up, escape(row.label), _hover(row), row.measurement) for row in rows],
        markers.fill(look.color, look.pattern, outline=1, opacity=0.45),
        **(legend.entry(doubt) if doubt else {"name": name, "showlegend": False}),
        error_x=markers.intervals([row.speed_up for row in rows], [row.interval for row in rows], thickness=1, width=3),
        opacity=0.3 if doubt else 1.0,
    )


def _hover(row: Row) -> str:
    return markers.hover(
        row.label, "", f"speedup {ratio(row.speed_up)}, {seconds(row.measurement.median_s)} to convergence"
    )


def _bounds(bounds: dict[str, float], legend: Legend) -> go.Scatter:
    return markers.points(
        [(value, escape(label), f"ratio of compulsory bytes: {ratio(value)}") for label, value in bounds.items()],
        {"symbol": "line-ns", "size": 18, "line": {"width": 2}},
        **legend.entry("bound by bytes"),
        meta={"role": "floor"},
    )
