"""What a matrix took over the jobs that measured it: the fastest kernel of each, and some kernels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.finding import INTERVAL, interval_text, with_interval_head
from gpu_engine.findings.formats.groups import without_duplicates
from gpu_engine.findings.ranking import rank
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, TIME, Unit, moment, ratio, seconds, unit_for
from gpu_engine.verdicts.differences import apart
from web.figures import busy, marks
from web.figures.base import blank, caption, escape, log_axis
from web.figures.emphasis import NAMED_MAX
from web.figures.formats.groups import place_in_words
from web.figures.panels import Legend, panels
from web.palette import style

PANEL_PX = 240
FASTEST = "the fastest"
BUSY = "machine busy"
"""In the place of a verdict on times that do not count."""

NO_HISTORY = "No device has measured this matrix in two jobs."


@dataclass(frozen=True, slots=True)
class Visit:
    """A job, when it was queued in seconds since 1970, and the kernels that have a time of a matrix in one place."""

    job_id: str
    queued_at: float
    kernels: dict[str, Measurement]

    @property
    def busy(self) -> bool:
        """Whether the machine was, so that none of these times counts."""
        return bool(rank(without_duplicates(list(self.kernels.values()))).busy)

    @property
    def fastest(self) -> Measurement:
        """The kernel with the shortest median."""
        return min(self.kernels.values(), key=lambda m: m.median_s or 0.0)


@dataclass(frozen=True, slots=True)
class Panel:
    """The jobs of one device and cache state, the oldest first, and the kernels that are followed."""

    place: tuple[str, str]
    visits: tuple[Visit, ...]
    followed: tuple[str, ...]

    def of(self, kernel: str) -> list[tuple[int, Measurement]]:
        """(place of the job, measurement) of a kernel where it has a time."""
        return [(n, visit.kernels[kernel]) for n, visit in enumerate(self.visits) if kernel in visit.kernels]


def panel(place: tuple[str, str], visits: Sequence[Visit], chosen: Sequence[str]) -> Panel:
    """The panel of these jobs; chosen: the kernels that are followed, empty: those that ever were the fastest."""
    ever = dict.fromkeys(visit.fastest.kernel for visit in reversed(visits))
    known = {kernel for visit in visits for kernel in visit.kernels}
    return Panel(place, tuple(visits), tuple(k for k in (chosen or list(ever)[:NAMED_MAX]) if k in known))


def busy_in_history(info: Sequence[Panel]) -> set[str]:
    """Return the keys of the times that do not count."""
    visits = [visit for own in info for visit in own.visits if visit.busy]
    return {each for visit in visits for each in busy.keys(visit.kernels.values(), visit.job_id)}


def draw(info: Sequence[Panel]) -> go.Figure:
    """Time over jobs, a panel a device and cache state, a line a kernel; behind them that of the fastest."""
    if not info:
        return blank(NO_HISTORY)
    names = dict.fromkeys(kernel for own in info for kernel in own.followed)
    figure = panels([place_in_words(own.place) for own in info], [PANEL_PX] * len(info), len(names) + 1)
    legend = Legend()
    for row, own in enumerate(info, start=1):
        times = [m.median_s or 0.0 for visit in own.visits for m in _shown(own, visit)]
        unit = unit_for(times, TIME)
        lines = (_line(own, kernel, unit, legend) for kernel in own.followed)
        for trace in (_fastest(own, unit, legend), *lines):
            figure.add_trace(trace, row=row, col=1)
        axis = log_axis([time / unit.factor for time in times], least_span=2.0)
        figure.update_yaxes(title_text=unit.symbol, **axis.settings, row=row, col=1)
        ticks = [moment(visit.queued_at)[5:] for visit in own.visits]
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
    """A row a kernel and job, the newest first: its time, and what it is against the time of the job before."""
    texts = ("queued, UTC", "job", "device", "cache", "kernel")
    heads = (*(Head(text, numeric=False) for text in texts), Head("time"), Head(INTERVAL))
    heads += (Head("against", "the job before"), Head("verdict", numeric=False))
    heads = with_interval_head(heads, _every(info))
    rows = []
    for own in info:
        for number, visit in reversed(list(enumerate(own.visits))):
            for m in _shown(own, visit):
                name = f"{m.kernel}, {FASTEST}" if m is visit.fastest else m.kernel
                before = own.visits[number - 1].kernels.get(m.kernel) if number else None
                said = apart(before, m) if before else None
                against = (ratio(said.ratio), said.kind) if said else (MISSING, MISSING)
                against = (against[0], BUSY) if visit.busy else against
                times = seconds(m.median_s), interval_text(m)
                rows.append((moment(visit.queued_at), visit.job_id[:8], *own.place, name, *times, *against))
    return Table(heads, tuple(rows))


def summary(info: Sequence[Panel]) -> str:
    """What is drawn, and how the fastest kernel of the newest job stands to that of the oldest."""
    if not info:
        return NO_HISTORY
    found = []
    for own in info:
        first, last = own.visits[0].fastest, own.visits[-1].fastest
        went = f"{seconds(first.median_s)} ({first.kernel}) to {seconds(last.median_s)} ({last.kernel})"
        found.append(f"On {place_in_words(own.place)}, over {len(own.visits)} jobs, the fastest went from {went}.")
    intervals = marks.with_intervals(_every(info))
    return caption(
        f"The time of a product in each job that measured it, the oldest on the left{intervals}.",
        found,
        ("The rounds of two jobs are not interleaved: a small step is no difference.",),
    )


def _every(info: Sequence[Panel]) -> Iterator[Measurement]:
    return (m for own in info for visit in own.visits for m in _shown(own, visit))


def _queued(visit: Visit) -> str:
    return f"{moment(visit.queued_at)} UTC"


def _shown(own: Panel, visit: Visit) -> list[Measurement]:
    """The fastest of a job, then the others that are followed."""
    followed = (visit.kernels[kernel] for kernel in own.followed if kernel in visit.kernels)
    return [visit.fastest, *(m for m in followed if m is not visit.fastest)]


def _fastest(own: Panel, unit: Unit, legend: Legend) -> go.Scatter:
    return go.Scatter(
        x=list(range(len(own.visits))),
        y=[(visit.fastest.median_s or 0.0) / unit.factor for visit in own.visits],
        mode="lines",
        line={"width": 7},
        opacity=0.6,
        hoverinfo="skip",
        meta={"role": "line"},
        **legend.entry(FASTEST),
    )


def _line(own: Panel, kernel: str, unit: Unit, legend: Legend) -> go.Scatter:
    look, points = style(kernel.partition("/")[0]), own.of(kernel)
    times = [(m.median_s or 0.0) / unit.factor for _, m in points]
    ends = [
        ((m.ci_low_s or m.median_s or 0.0) / unit.factor, (m.ci_high_s or m.median_s or 0.0) / unit.factor)
        for _, m in points
    ]
    return go.Scatter(
        x=[n for n, _ in points],
        y=times,
        mode="lines+markers",
        line={"color": look.color, "dash": look.dash, "width": 2},
        marker={"color": look.color, "symbol": look.symbol, "size": 9},
        error_y=marks.intervals(times, ends),
        hovertext=[
            marks.hover(kernel, f" in job {own.visits[n].job_id[:8]}", seconds(m.median_s), _queued(own.visits[n]))
            for n, m in points
        ],
        hoverinfo="text",
        meta={"role": "unsettled"},
        **legend.entry(escape(kernel)),
        **busy.evidence(([m] for _, m in points), [own.visits[n].job_id for n, _ in points]),
    )


@dataclass(frozen=True, slots=True)
class HistoryFigure:
    """The figure of a matrix over its jobs; it is drawn from what web/history.py reads."""

    name: str = "history"
    title: str = "The same matrix over time"


HISTORY = HistoryFigure()
