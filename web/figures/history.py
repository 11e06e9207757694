"""What a matrix took over the jobs that measured it: the fastest kernel of each, and some kernels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.finding import INTERVAL, interval_text, with_interval_head
from gpu_engine.findings.history.records import Taken
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, TIME, Unit, moment, ratio, seconds, unit_for
from gpu_engine.verdicts.differences import apart
from web.figures import busy, marks
from web.figures.base import Drawing, blank, caption, escape, log_axis
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
    """What a job took of each kernel of a matrix in one place, when it was queued, and whether none of it counts."""

    queued_at: float
    taken: Mapping[str, Taken]
    is_busy: bool

    @property
    def fastest(self) -> Taken:
        """The kernel with the shortest median."""
        return min(self.taken.values(), key=lambda taken: taken.median_s)


@dataclass(frozen=True, slots=True)
class Panel:
    """The jobs of one device and cache state, the oldest first, and the kernels that are followed."""

    place: tuple[str, str]
    visits: tuple[Visit, ...]
    followed: tuple[str, ...]


def panel(place: tuple[str, str], visits: Sequence[Visit], chosen: Sequence[str]) -> Panel:
    """The panel of these jobs; chosen: the kernels that are followed, empty: those that ever were the fastest."""
    ever = dict.fromkeys(visit.fastest.measurement.kernel for visit in reversed(visits))
    known = {kernel for visit in visits for kernel in visit.taken}
    return Panel(place, tuple(visits), tuple(k for k in (chosen or list(ever)[:NAMED_MAX]) if k in known))


def busy_in_history(info: Sequence[Panel]) -> set[str]:
    """Return the keys of the times that do not count."""
    return busy.keys(taken for own in info for visit in own.visits if visit.is_busy for taken in visit.taken.values())


def draw(info: Sequence[Panel]) -> go.Figure:
    """Time over jobs, a panel a device and cache state, a line a kernel; behind them that of the fastest."""
    if not info:
        return blank(NO_HISTORY)
    names = dict.fromkeys(kernel for own in info for kernel in own.followed)
    figure = panels([place_in_words(own.place) for own in info], [PANEL_PX] * len(info), len(names) + 1)
    legend = Legend()
    for row, own in enumerate(info, start=1):
        times = [taken.median_s for visit in own.visits for taken in _shown(own, visit)]
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
    heads = with_interval_head(heads, (taken.measurement for taken in _every(info)))
    rows = []
    for own in info:
        for number, visit in reversed(list(enumerate(own.visits))):
            for taken in _shown(own, visit):
                m = taken.measurement
                name = f"{m.kernel}, {FASTEST}" if taken is visit.fastest else m.kernel
                before = own.visits[number - 1].taken.get(m.kernel) if number else None
                verdict = apart(before.measurement, m) if before else None
                against = (ratio(verdict.ratio), verdict.kind) if verdict else (MISSING, MISSING)
                against = (against[0], BUSY) if visit.is_busy else against
                times = seconds(m.median_s), interval_text(m)
                rows.append((moment(visit.queued_at), taken.job_id[:8], *own.place, name, *times, *against))
    return Table(heads, tuple(rows))


def summary(info: Sequence[Panel]) -> str:
    """What is drawn, and how the fastest kernel of the newest job stands to that of the oldest."""
    if not info:
        return NO_HISTORY
    sentences = []
    for own in info:
        ends = (own.visits[0].fastest, own.visits[-1].fastest)
        went = " to ".join(f"{seconds(taken.median_s)} ({taken.measurement.kernel})" for taken in ends)
        sentences.append(f"On {place_in_words(own.place)}, over {len(own.visits)} jobs, the fastest went from {went}.")
    intervals = marks.with_intervals(taken.measurement for taken in _every(info))
    return caption(
        f"The time of a product in each job that measured it, the oldest on the left{intervals}.",
        sentences,
        ("The rounds of two jobs are not interleaved: a small step is no difference.",),
    )


def _every(info: Sequence[Panel]) -> Iterator[Taken]:
    return (taken for own in info for visit in own.visits for taken in _shown(own, visit))


def _shown(own: Panel, visit: Visit) -> list[Taken]:
    """The fastest of a job, then the others that are followed."""
    followed = (visit.taken[kernel] for kernel in own.followed if kernel in visit.taken)
    return [visit.fastest, *(taken for taken in followed if taken is not visit.fastest)]


def _fastest(own: Panel, unit: Unit, legend: Legend) -> go.Scatter:
    return go.Scatter(
        x=list(range(len(own.visits))),
        y=[visit.fastest.median_s / unit.factor for visit in own.visits],
        mode="lines",
        line={"width": 7},
        opacity=0.6,
        hoverinfo="skip",
        meta={"role": "line"},
        **legend.entry(FASTEST),
    )


def _line(own: Panel, kernel: str, unit: Unit, legend: Legend) -> go.Scatter:
    look = style(kernel.partition("/")[0])
    numbers = [number for number, visit in enumerate(own.visits) if kernel in visit.taken]
    queued = {own.visits[n].taken[kernel].job_id: f"{moment(own.visits[n].queued_at)} UTC" for n in numbers}
    return marks.of_jobs(
        kernel,
        [own.visits[n].taken[kernel] for n in numbers],
        numbers,
        unit,
        lambda taken: [queued[taken.job_id]],
        {"color": look.color, "symbol": look.symbol, "size": 9},
        mode="lines+markers",
        line={"color": look.color, "dash": look.dash, "width": 2},
        **legend.entry(escape(kernel)),
    )


HISTORY = Drawing("history", "The same matrix over time", draw)
