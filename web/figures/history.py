"""Times of a matrix over the jobs that measured it: the fastest kernel of each job, and selected kernels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.finding import INTERVAL, interval_text, with_intervals
from gpu_engine.findings.history.records import HistoryPoint
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, TIME, Unit, moment, ratio, seconds, unit_for
from gpu_engine.verdicts.differences import apart
from web.figures import busy, markers
from web.figures.base import Drawing, blank, caption, escape, log_axis
from web.figures.formats.groups import place_in_words
from web.figures.highlighting import NAMED_MAX
from web.figures.panels import Legend, panels
from web.palette import style, symbol_of

PANEL_PX = 240
FASTEST = "fastest kernel"
BUSY = "noisy"
"""Cell that replaces a verdict on times that do not count."""

NO_HISTORY = "No device has measured this matrix in two jobs."


@dataclass(frozen=True, slots=True)
class Visit:
    """The times of a job for each kernel of a matrix on one device in one cache state.

    queued_at  seconds since 1970; is_busy: whether its times are too noisy to count
    """

    queued_at: float
    points: Mapping[str, HistoryPoint]
    is_busy: bool

    @property
    def fastest(self) -> HistoryPoint:
        """Return the measurement with the shortest median."""
        return min(self.points.values(), key=lambda point: point.median_s)


@dataclass(frozen=True, slots=True)
class Panel:
    """The jobs of one device and cache state, the oldest first, and the selected kernels."""

    place: tuple[str, str]
    visits: tuple[Visit, ...]
    followed: tuple[str, ...]


def panel(place: tuple[str, str], visits: Sequence[Visit], chosen: Sequence[str]) -> Panel:
    """Return the panel of these jobs; chosen: the selected kernels, empty: every kernel that was once the fastest."""
    ever = dict.fromkeys(visit.fastest.measurement.kernel for visit in reversed(visits))
    known = {kernel for visit in visits for kernel in visit.points}
    return Panel(place, tuple(visits), tuple(k for k in (chosen or list(ever)[:NAMED_MAX]) if k in known))


def busy_in_history(info: Sequence[Panel]) -> set[str]:
    """Return the keys of the times that do not count."""
    return busy.keys(
        point for panel in info for visit in panel.visits if visit.is_busy for point in visit.points.values()
    )


def draw(info: Sequence[Panel]) -> go.Figure:
    """Return the time over jobs: a panel per device and cache state, a line per kernel, and the fastest behind them."""
    if not info:
        return blank(NO_HISTORY)
    names = dict.fromkeys(kernel for panel in info for kernel in panel.followed)
    figure = panels([place_in_words(panel.place) for panel in info], [PANEL_PX] * len(info), len(names) + 1)
    legend = Legend()
    for row, panel in enumerate(info, start=1):
        times = [point.median_s for visit in panel.visits for point in _visible(panel, visit)]
        unit = unit_for(times, TIME)
        lines = (_line(panel, kernel, unit, legend) for kernel in panel.followed)
        for trace in (_fastest(panel, unit, legend), *lines):
            figure.add_trace(trace, row=row, col=1)
        axis = log_axis([time / unit.factor for time in times], least_span=2.0)
        figure.update_yaxes(title_text=unit.symbol, **axis.settings, row=row, col=1)
        ticks = [moment(visit.queued_at)[5:] for visit in panel.visits]
        every = 1 + len(ticks) // 8
        figure.update_xaxes(
            tickvals=list(range(0, len(ticks), every)),
            ticktext=ticks[::every],
            range=[-0.3, len(ticks) - 0.7],
            tickangle=-30,
            zeroline=False,
            row=row,
            col=1,
        )
    return figure


def table(info: Sequence[Panel]) -> Table:
    """Return a row per kernel and job, the newest first, with the ratio to the job before."""
    texts = ("queued, UTC", "job", "device", "cache", "kernel")
    heads = (*(Head(text, numeric=False) for text in texts), Head("time"), Head(INTERVAL))
    heads += (Head("time ratio", "to the job before"), Head("verdict", numeric=False))
    rows = []
    for panel in info:
        for number, visit in reversed(list(enumerate(panel.visits))):
            for point in _visible(panel, visit):
                m = point.measurement
                name = f"{m.kernel}, {FASTEST}" if point is visit.fastest else m.kernel
                before = panel.visits[number - 1].points.get(m.kernel) if number else None
                verdict = apart(before.measurement, m) if before else None
                against = (ratio(verdict.ratio), verdict.kind) if verdict else (MISSING, MISSING)
                against = (against[0], BUSY) if visit.is_busy else against
                times = seconds(m.median_s), interval_text(m)
                rows.append((moment(visit.queued_at), point.job_id[:8], *panel.place, name, *times, *against))
    return with_intervals(Table(heads, tuple(rows)), (point.measurement for point in _every(info)))


def summary(info: Sequence[Panel]) -> str:
    """Return what is drawn, and the fastest kernels of the oldest and the newest job."""
    if not info:
        return NO_HISTORY
    sentences = []
    for panel in info:
        ends = (panel.visits[0].fastest, panel.visits[-1].fastest)
        went = " to ".join(f"{seconds(point.median_s)} ({point.measurement.kernel})" for point in ends)
        sentences.append(
            f"On {place_in_words(panel.place)}, the fastest time went from {went} in {len(panel.visits)} jobs."
        )
    intervals = markers.with_intervals(point.measurement for point in _every(info))
    return caption(
        f"Time of one SpMV in each job{intervals}, the oldest job on the left.",
        sentences,
        ("The rounds of two jobs are not interleaved, so a small step is not a difference.",),
    )


def _every(info: Sequence[Panel]) -> Iterator[HistoryPoint]:
    return (point for panel in info for visit in panel.visits for point in _visible(panel, visit))


def _visible(panel: Panel, visit: Visit) -> list[HistoryPoint]:
    """Return the fastest measurement of a job, then those of the other selected kernels."""
    followed = (visit.points[kernel] for kernel in panel.followed if kernel in visit.points)
    return [visit.fastest, *(point for point in followed if point is not visit.fastest)]


def _fastest(panel: Panel, unit: Unit, legend: Legend) -> go.Scatter:
    return go.Scatter(
        x=list(range(len(panel.visits))),
        y=[visit.fastest.median_s / unit.factor for visit in panel.visits],
        mode="lines",
        line={"width": 7},
        opacity=0.6,
        hoverinfo="skip",
        meta={"role": "line"},
        **legend.entry(FASTEST),
    )


def _line(panel: Panel, kernel: str, unit: Unit, legend: Legend) -> go.Scatter:
    look = style(kernel.partition("/")[0])
    numbers = [number for number, visit in enumerate(panel.visits) if kernel in visit.points]
    queued = {panel.visits[n].points[kernel].job_id: f"{moment(panel.visits[n].queued_at)} UTC" for n in numbers}
    return markers.of_jobs(
        kernel,
        [panel.visits[n].points[kernel] for n in numbers],
        numbers,
        unit,
        lambda point: [queued[point.job_id]],
        {"color": look.color, "symbol": symbol_of(kernel), "size": 9},
        mode="lines+markers",
        line={"color": look.color, "dash": look.dash, "width": 2},
        **legend.entry(escape(kernel)),
    )


HISTORY = Drawing("history", "History of a matrix", draw)
