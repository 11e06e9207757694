"""Gain from kernel fusion: complete runs of the kernels of the paper over runs of fused kernels."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank import ranking_of
from gpu_engine.findings.pagerank.runs import Run, RunGroup, has_right_ranks, speed_up
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import ratio, seconds
from gpu_engine.verdicts.verdict import compare, verdict_text
from web.figures import markers
from web.figures.base import blank, caption, escape
from web.figures.markers import hover
from web.figures.pagerank import dots
from web.figures.pagerank.facets import Panels, axis_end, bar_panels, panels_of
from web.palette import OTHERS, style

NO_PAIR = (
    "No graph has runs of both the separate kernels of the paper (unfused-…) and the fused kernels. "
    "A GPU job with all kernels measures both."
)


@dataclass(frozen=True, slots=True)
class Row:
    """A run with fused kernels and the same run with separate kernels; gain: speedup of the first over the second.

    busy  whether the timings are too noisy, so that no mean includes the gain
    """

    label: str
    precision: str
    fused: Measurement
    unfused: Measurement
    gain: float
    verdict: str
    busy: bool

    @property
    def format(self) -> str:
        """Return the format of both runs."""
        return self.unfused.format


def info(data: StudyData) -> Panels[Row]:
    """Return the runs of the paper that also have a timed fused run, both with verified ranks."""
    return panels_of(data, lambda group, run: _row(group, run, data))


def draw(info: Panels[Row]) -> go.Figure:
    """Return the speedup of the fused kernels over separate kernels, a row per layout and precision."""
    if not info.panels:
        return blank(NO_PAIR)
    if len(info.panels) > 1:
        return dots.draw(info, _dots, "speedup of fused over unfused")
    panels = info.visible
    labels = [[row.label for row in panel.rows] for panel in panels]
    figure = bar_panels(panels, labels, 0, "overlay", "speedup of fused over unfused")
    for number, panel in enumerate(panels, start=1):
        for name in dict.fromkeys(row.format for row in panel.rows):
            alike = [row for row in panel.rows if row.format == name]
            bars = [(row.gain, escape(row.label), _hover(row), row.fused, row.unfused) for row in alike]
            look = style(name)
            fill = markers.fill(look.color, look.pattern)
            figure.add_trace(markers.bars(bars, fill, name=name, showlegend=False), row=number, col=1)
        end = axis_end((gain, True) for gain in (1.0, *(row.gain for row in panel.rows)))
        figure.update_xaxes(range=[0, end], row=number, col=1)
        figure.add_vline(x=1, line={"color": OTHERS, "dash": "dot", "width": 1}, row=number, col=1)
    return figure


def table(info: Panels[Row]) -> Table:
    """Return per layout and precision both times and the speedup."""
    names = tuple(Head(name, numeric=False) for name in ("matrix", "device", "run"))
    times = Head("time", "fused"), Head("time", "unfused"), Head("speedup", "fused vs unfused")
    rows = (
        (*panel.place, row.label, *_times(row), ratio(row.gain), verdict_text(row.verdict))
        for panel in info.panels
        for row in panel.rows
    )
    return Table((*names, *times, Head("verdict", numeric=False)), tuple(rows))


def summary(info: Panels[Row]) -> str:
    """Return what the bars are, and the geometric mean of each layout and precision."""
    if not info.panels:
        return NO_PAIR
    every = [row for panel in info.panels for row in panel.rows if not row.busy]
    named = ", ".join(f"{name} {ratio(mean)}" for name, mean in _means(every))
    return caption(
        "Speedup to convergence of fused kernels over the separate kernels of the paper.",
        (),
        (
            f"Geometric-mean speedups: {named}." if named else "",
            "Unfused: separate kernels for SpMV, each norm in two steps, scaling of the ranks, and conversion.",
        ),
    )


def _dots(row: Row) -> Iterator[dots.Dot]:
    yield dots.Dot(row.label.partition(",")[0], style(row.format).color, row.gain, row.fused, counts=not row.busy)


def _row(group: RunGroup, run: Run, data: StudyData) -> Row | None:
    fused = group.fused(run)
    gain = speed_up(run, fused)
    if fused is None or gain is None or not (has_right_ranks(run, data) and has_right_ranks(fused, data)):
        return None
    both = fused.measurement, run.measurement
    verdict, is_busy = compare(run.measurement, fused.measurement).kind, bool(ranking_of(group, data).busy)
    return Row(group.label(fused), f"{run.layout}+{run.storage}", *both, gain, verdict, is_busy)


def _means(rows: Sequence[Row]) -> Iterable[tuple[str, float]]:
    for name in dict.fromkeys(row.precision for row in rows):
        yield name, geometric_mean(row.gain for row in rows if row.precision == name)


def _hover(row: Row) -> str:
    fused, unfused = _times(row)
    return hover(row.label, "", f"speedup {ratio(row.gain)}: {fused} fused, {unfused} in separate kernels")


def _times(row: Row) -> tuple[str, str]:
    return seconds(row.fused.median_s), seconds(row.unfused.median_s)
