"""How much faster whole runs are; Figure 6 of the CPMS PageRank paper."""

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
from gpu_engine.verdicts.verdict import VerdictKind, compare
from web.figures import marks
from web.figures.base import blank, caption, escape
from web.figures.pagerank import dots
from web.figures.pagerank.facets import Panel, Panels, axis_end, bar_panels, mark_fp64, panels_of
from web.figures.panels import Legend
from web.palette import style

MEANS_NAMED = 3
"""In the sentence; the figure has all."""

WHISKER = "the 95 % intervals of both times put together"
NO_PAIR = "No run has a time beside a run of the same kernel in fp64."


@dataclass(frozen=True, slots=True)
class Row:
    """A run beside the same kernel in fp64.

    speed_up  of the time to convergence; interval: from the ends of both 95 % intervals
    over_fastest  the speed-up over the fastest run in fp64
    bound     compulsory bytes of the same kernel in fp64 over those of the run, as times at the same bandwidth
    counts    whether the speed-up enters a mean: the ranks right, the verdict not inconclusive, segments not all read
              throughout, the machine not busy
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
        """Why the speed-up is to be taken with care; empty: it is not."""
        if not self.is_right:
            return "ranks not right to ε"
        return "inconclusive" if self.verdict == "inconclusive" else ""


@dataclass(frozen=True, slots=True)
class Mean:
    """The geometric mean of the speed-ups of a kernel, of each matrix the fastest run."""

    kernel: str
    speed_up: float
    matrices: int


@dataclass(frozen=True, slots=True)
class Info:
    """The panels, and the means of each device of which some kernel ran on several matrices."""

    panels: Panels[Row]
    means: dict[str, list[Mean]]


def info(data: StudyData) -> Info:
    """The runs with a time beside the same kernel in fp64; no run is compared with itself."""
    panels = panels_of(data, lambda group, run: _row(group, run, data))
    return Info(panels, _means(panels.panels))


def draw(info: Info) -> go.Figure:
    """Speed-up of the time to convergence over the same kernel in fp64, a row a run, beside the bound by bytes."""
    if not info.panels.panels:
        return blank(NO_PAIR)
    if len(info.panels.panels) > 1:
        return dots.draw(_fastest_first(info.panels), _dots, "speed-up over fp64")
    panels = info.panels.drawn
    labels = [[row.label for row in panel.rows] for panel in panels]
    figure = bar_panels(panels, labels, 2, "overlay", "speed-up over fp64")
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
    """A row a run: both speed-ups, the verdict on the first, and the bound by bytes."""
    heads = tuple(Head(text, numeric=False) for text in ("matrix", "device", "run", "against"))
    numbers = (Head("speed-up", "same kernel"), Head("bound", "by bytes"), Head("verdict", numeric=False))
    rows = []
    for panel in info.panels.panels:
        for row in panel.rows:
            ratios = ratio(row.speed_up), ratio(row.bound), row.verdict, ratio(row.over_fastest)
            rows.append((*panel.place, row.label, row.against, *ratios))
    return Table((*heads, *numbers, Head("speed-up", "fastest in fp64")), tuple(rows))


def summary(info: Info) -> str:
    """What the bars and marks are, and the geometric mean of each kernel where there are several matrices."""
    if not info.panels.panels:
        return NO_PAIR
    found = []
    for device, means in info.means.items():
        best = sorted(means, key=lambda mean: -mean.speed_up)[:MEANS_NAMED]
        named = ", ".join(f"{mean.kernel} {ratio(mean.speed_up)} ({mean.matrices})" for mean in best)
        found.append(f"Highest geometric means of what is not inconclusive on {device}, graphs in brackets: {named}.")
    more = ["Over the fastest run in fp64 a gain is smaller: the table has both."]
    rows = [row for panel in info.panels.panels for row in panel.rows]
    timed = any(row.interval != (row.speed_up, row.speed_up) for row in rows)
    if len(info.panels.panels) == 1:
        whisker = f", a whisker {WHISKER}" if timed else ""
        more.append(f"The mark is the same ratio of the bytes that the two must move{whisker}.")
        more.append("Pale bars are inconclusive or not right to ε.")
    else:
        whisker = f", its whisker {WHISKER}" if timed else ""
        more.append(f"A point is the fastest run of a kernel on a graph{whisker}.")
        more.append("Hollow ones are inconclusive or not right to ε, or the machine was busy.")
    drawn = dots.left_out(info.panels, _dots) if len(info.panels.panels) > 1 else ""
    return caption(f"The time to convergence of the same kernel in fp64 over that of the run. {drawn}", found, more)


def _fastest_first(info: Panels[Row]) -> Panels[Row]:
    """Of the runs of a kernel the fastest whose ranks are right first; kernels as they were."""
    found = []
    for panel in info.panels:
        kernels = list(dict.fromkeys(row.measurement.kernel for row in panel.rows))
        found.append(replace(panel, rows=tuple(sorted(panel.rows, key=lambda row: _rank(row, kernels)))))
    return Panels(tuple(found))


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
        marks.ratio_interval(base.measurement, m),
        speed_up(group.fastest_full, run),
        group.bound(run),
        verdict,
        right,
        right and settled and (run.in_fewer_bits or not run.segments),
    )


def _means(panels: Sequence[Panel[Row]]) -> dict[str, list[Mean]]:
    gains: dict[str, dict[str, dict[str, float]]] = {}
    for (graph, place), row in ((panel.place, row) for panel in panels for row in panel.rows if row.counts):
        own = gains.setdefault(place, {}).setdefault(row.measurement.kernel, {})
        own[graph] = max(row.speed_up, own.get(graph, 0.0))
    return {
        place: [Mean(kernel, geometric_mean(own.values()), len(own)) for kernel, own in kernels.items()]
        for place, kernels in gains.items()
        if any(len(own) > 1 for own in kernels.values())
    }


def _bars(rows: Sequence[Row], name: str, doubt: str, legend: Legend) -> go.Bar:
    """The runs of one format with their whiskers; those to be doubted are pale."""
    look = style(name)
    return marks.bars(
        [(row.speed_up, escape(row.label), _hover(row), row.measurement) for row in rows],
        marks.fill(look.color, look.pattern, outline=1, opacity=0.45),
        **(legend.entry(doubt) if doubt else {"name": name, "showlegend": False}),
        error_x=marks.intervals([row.speed_up for row in rows], [row.interval for row in rows], thickness=1, width=3),
        opacity=0.3 if doubt else 1.0,
    )


def _hover(row: Row) -> str:
    return marks.hover(row.label, "", f"{ratio(row.speed_up)}, {seconds(row.measurement.median_s)} to convergence")


def _bounds(bounds: dict[str, float], legend: Legend) -> go.Scatter:
    return marks.points(
        [(value, escape(label), f"by the bytes that must move: {ratio(value)}") for label, value in bounds.items()],
        {"symbol": "line-ns", "size": 18, "line": {"width": 2}},
        **legend.entry("bound by bytes"),
        meta={"role": "floor"},
    )
