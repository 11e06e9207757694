"""Speedup of the pull phase of an iteration with fewer bits; Figure 4 of the CPMS PageRank paper."""

from collections.abc import Iterator
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank import ranking_of
from gpu_engine.findings.pagerank.pulls import pull_gains, pull_times
from gpu_engine.findings.pagerank.runs import Run, RunGroup
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import percent, ratio, seconds
from web.figures import markers
from web.figures.base import blank, escape
from web.figures.pagerank import dots
from web.figures.pagerank.facets import Panels, axis_end, bar_panels, mark_fp64, panels_of
from web.figures.pagerank.levels import LEVELS, Level, level_bars, level_of
from web.figures.panels import Legend

NO_PULL = "No run with segments has a run of the same kernel in fp64."

FIRST = " If a run has one pull on 16 bits, it is the first launch of the run, which takes longer than later ones."


@dataclass(frozen=True, slots=True)
class Pull:
    """The pull phase of the iterations of a run that read and write the same number of segments.

    measurement  of the run; busy: whether its timings are too noisy
    iterations   how many there are; time: their median in seconds
    speed_up     over the median of the same kernel in fp64
    bound        speedup of a gather-only probe, the upper bound; None without probes
    share        of the bound
    """

    run: str
    measurement: Measurement
    busy: bool
    level: Level
    iterations: int
    time: float
    speed_up: float
    bound: float | None
    share: float | None

    @property
    def label(self) -> str:
        """Return `csr/thread+cpms4 · 16 bit`."""
        return f"{self.run} · {self.level.name}"


Info = Panels[tuple[Pull, ...]]
"""Panels whose rows are runs, with a bar per precision."""


def info(data: StudyData) -> Info:
    """Return the runs with segments that have the same kernel in fp64."""
    return panels_of(data, lambda group, run: _pulls(group, run, data) or None)


def draw(info: Info) -> go.Figure:
    """Return the speedup of the pull phase over the same kernel in fp64, a row per run and precision."""
    if not info.panels:
        return blank(NO_PULL)
    if len(info.panels) > 1:
        return dots.draw(info, _dots, "speedup over fp64")
    panels = info.visible
    bars = [[pull for pulls in panel.rows for pull in pulls] for panel in panels]
    used = [entry for entry in LEVELS if any(pull.level is entry for pulls in bars for pull in pulls)]
    labels = [[pull.label for pull in pulls_of_panel] for pulls_of_panel in bars]
    figure = bar_panels(panels, labels, len(used) + 1, "overlay", "speedup over fp64")
    legend = Legend()
    for row, pulls_of_panel in enumerate(bars, start=1):
        for entry in used:
            alike = [pull for pull in pulls_of_panel if pull.level is entry]
            marks_ = [(pull.speed_up, escape(pull.label), _hover(pull), pull.measurement) for pull in alike]
            if marks_:
                figure.add_trace(level_bars(entry, marks_, legend), row=row, col=1)
        bounds = {pull.label: pull.bound for pull in pulls_of_panel if pull.bound}
        if bounds:
            figure.add_trace(_bounds(bounds, legend), row=row, col=1)
        lengths = (1.0, *(pull.speed_up for pull in pulls_of_panel), *bounds.values())
        figure.update_xaxes(range=[0, axis_end((length, True) for length in lengths)], row=row, col=1)
        mark_fp64(figure, {"row": row, "col": 1})
    return figure


def table(info: Info) -> Table:
    """Return a row per run and precision: time of the pull phase, speedup, bound, and share of the bound."""
    names = ("matrix", "device", "run", "reads")
    heads = (*(Head(name, numeric=False) for name in names), Head("iterations"), Head("pull", "median"))
    ratios = (Head("speedup", "over fp64"), Head("upper bound", "gather probe"), Head("speedup", "% of bound"))
    rows = []
    for panel in info.panels:
        for pull in (pull for pulls in panel.rows for pull in pulls):
            cells = pull.run, pull.level.name, str(pull.iterations), seconds(pull.time)
            rows.append((*panel.place, *cells, ratio(pull.speed_up), ratio(pull.bound), percent(pull.share)))
    return Table((*heads, *ratios), tuple(rows))


def summary(info: Info) -> str:
    """Return what the bars and diamonds are, and the range of speedups by precision."""
    if not info.panels:
        return NO_PULL
    every = [pull for panel in info.panels for pulls in panel.rows for pull in pulls]
    bounded = any(pull.bound for pull in every)
    text = "Speedup of the pull phase with fewer bits over the same kernel in fp64."
    probe = " ◇ = speedup of a gather-only probe (upper bound)."
    text += probe if bounded and len(info.panels) == 1 else ""
    for entry in LEVELS:
        gains = [pull.speed_up for pull in every if pull.level is entry and not pull.busy]
        if gains:
            low, high = ratio(min(gains)), ratio(max(gains))
            text += f" {entry.name}: {low if low == high else f'{low} to {high}'}."
    text += FIRST if any(pull.iterations == 1 and pull.level is LEVELS[0] for pull in every) else ""
    omission = dots.left_out(info, _dots) if len(info.panels) > 1 else ""
    return f"{text} {omission}".strip()


def _dots(pulls: tuple[Pull, ...]) -> Iterator[dots.Dot]:
    """Yield the pulls with fewer bits than fp64; they do not depend on the schedule."""
    for pull in (pull for pull in pulls if pull.level.name != "64 bit"):
        kernel = pull.run.partition(",")[0]
        label, of = f"{kernel} · {pull.level.name}", pull.measurement
        yield dots.Dot(label, pull.level.color, pull.speed_up, of, counts=not pull.busy)


def _pulls(group: RunGroup, run: Run, data: StudyData) -> tuple[Pull, ...]:
    """Return the pulls by ascending bits; empty without segments or without the same kernel in fp64."""
    times, of = pull_times(run), (group.label(run), run.measurement, bool(ranking_of(group, data).busy))
    return tuple(
        Pull(*of, level_of(run, read), times[read].iterations, times[read].time_s, pull.gain, pull.bound, pull.share)
        for read, pull in pull_gains(group.plain(run), run).items()
    )


def _hover(pull: Pull) -> str:
    median_ = f"median {seconds(pull.time)} of {pull.iterations} iterations"
    return markers.hover(pull.label, "", f"speedup {ratio(pull.speed_up)}, {median_}")


def _bounds(bounds: dict[str, float], legend: Legend) -> go.Scatter:
    return markers.points(
        [(value, escape(label), f"gather-only probe: {ratio(value)}") for label, value in bounds.items()],
        {"symbol": "diamond-tall", "size": 9, "line": {"width": 2}},
        **legend.entry("gather-only probe"),
        meta={"role": "gather_floor"},
    )
