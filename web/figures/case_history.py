"""The times of cases over the dates of their measurements: a panel a case, its levels, and what changed underneath."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import plotly.graph_objects as go

from gpu_engine.findings.finding import interval_text
from gpu_engine.findings.history.change_points import History, Period
from gpu_engine.findings.history.records import Taken
from gpu_engine.findings.history.sentences import growth_in_words, spread
from gpu_engine.findings.history.tables import Marked, marked
from gpu_engine.text.units import TIME, Unit, moment, seconds, unit_for
from web.figures import marks
from web.figures.base import Drawing, blank, caption, escape
from web.figures.panels import Legend, panels
from web.palette import style

PANEL_PX = 150
MARGIN = 0.04
"""Of the dates and of the times, left free on each side."""

SCATTER = 8.0
"""How many times the noise a panel reaches beyond its levels: what is further away is off the scale."""

SPIKES_AT, LETTERS_AT = 0.84, 0.9
"""How high in a panel spikes stand that are off the scale, and over them the letters."""

NOTHING = "No job has measured this."


@dataclass(frozen=True, slots=True)
class Info:
    """The histories that are drawn, and where something changed underneath any of the place."""

    histories: tuple[History, ...]
    marked: tuple[Marked, ...]

    @property
    def ends(self) -> tuple[float, float]:
        """The first and the last date, in seconds since 1970, with room on both sides."""
        dates = [taken.measured_at for history in self.histories for taken in history.taken]
        room = max(MARGIN * (max(dates) - min(dates)), 3600.0)
        return min(dates) - room, max(dates) + room


def info(histories: Sequence[History], every: Sequence[History]) -> Info:
    """What is drawn of these histories; every: those of the place, by whose environments dates are marked."""
    return Info(tuple(histories), marked(every))


def draw(info: Info) -> go.Figure:
    """A panel a case: its times with their intervals, the level of each period, and lines where something changed."""
    if not info.histories:
        return blank(NOTHING)
    titles = [history.label for history in info.histories]
    figure = panels([escape(title) for title in titles], [PANEL_PX] * len(titles), 4, across=2)
    legend = Legend()
    unit = unit_for([taken.median_s for history in info.histories for taken in history.taken], TIME)
    for row, history in enumerate(info.histories, start=1):
        ends = _ends(history)
        shown = [end / unit.factor for end in ends]
        for trace in (*_marks(info, history, shown, legend), *_traces(history, ends, unit, legend)):
            figure.add_trace(trace, row=row, col=1)
        figure.update_yaxes(title_text=unit.symbol, range=shown, zeroline=False, nticks=5, row=row, col=1)
        span = [_date(end) for end in info.ends]
        figure.update_xaxes(type="date", range=span, nticks=5, zeroline=False, row=row, col=1)
    figure.update_xaxes(title_text="measured, UTC", row=len(titles), col=1)
    return figure


def summary(info: Info) -> str:
    """What is drawn, and how to read it."""
    if not info.histories:
        return NOTHING
    every = (taken.measurement for history in info.histories for taken in history.taken)
    return caption(
        f"The time of each case in every job that measured it{marks.with_intervals(every)}, against the date.",
        (
            "A thick line is the level of a period; where it steps, the time changed.",
            "A dashed line with a letter is where something changed underneath; the table below says what.",
        ),
        (spread(info.histories), "Each panel has a scale of its own, which does not begin at zero."),
    )


def _date(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _ends(history: History) -> tuple[float, float]:
    """The lowest and the highest time of a panel: of its levels with what they scatter by, and no spikes."""
    levels, widest = [period.level_s for period in history.periods], 1 + SCATTER * history.noise
    intervals = [marks.interval_of(taken.measurement) for taken in history.taken]
    low = max(min(low for low, _ in intervals), min(levels) / widest)
    high = min(max(high for _, high in intervals), max(levels) * widest)
    room = max(high - low, 0.02 * high)
    return low - MARGIN * room, high + 0.25 * room


def _marks(info: Info, history: History, ends: Sequence[float], legend: Legend) -> list[go.Scatter]:
    """A dashed line at each date on which something changed underneath this case, under its letter."""
    own = {each.taken.job_id: each for each in history.underneath}
    return [
        go.Scatter(
            x=[_date(taken.measured_at)] * 2,
            y=[ends[0], ends[0] + LETTERS_AT * (ends[1] - ends[0])],
            mode="lines+text",
            text=["", mark],
            textposition="top center",
            line={"dash": "dot", "width": 1.5},
            hovertext=[escape(", ".join(map(str, own[taken.job_id].changes)))] * 2,
            hoverinfo="text",
            meta={"role": "line"},
            **legend.entry("something changed underneath"),
        )
        for mark, taken, _ in info.marked
        if taken.job_id in own
    ]


def _traces(history: History, ends: Sequence[float], unit: Unit, legend: Legend) -> list[go.Scatter]:
    color = style(history.case.format).color
    inside = [taken for taken in history.taken if ends[0] <= taken.median_s <= ends[1]]
    spikes = [taken for taken in history.taken if taken not in inside]
    points = _points(history, inside, unit, {"color": color, "symbol": "circle", "size": 6})
    traces = [_levels(history, unit, color, legend), points.update(error_y_width=0, **legend.entry("a measurement"))]
    if spikes:
        edge = [(ends[0] + SPIKES_AT * (ends[1] - ends[0])) / unit.factor] * len(spikes)
        marker = {"color": color, "symbol": "triangle-up-open", "size": 9, "line": {"width": 1.5}}
        points = _points(history, spikes, unit, marker, error_y=None)
        traces.append(points.update(y=edge, **legend.entry("off the scale")))
    return traces


def _points(history: History, taken: Sequence[Taken], unit: Unit, marker: dict[str, Any], **options: Any) -> go.Scatter:
    def told(each: Taken) -> tuple[str, str]:
        return interval_text(each.measurement), f"{moment(each.measured_at)} UTC"

    dates = [_date(each.measured_at) for each in taken]
    return marks.of_jobs(history.label, taken, dates, unit, told, marker, **options)


def _levels(history: History, unit: Unit, color: str, legend: Legend) -> go.Scatter:
    """A thick line at the level of each period, from its first measurement to its last."""
    x: list[str | None] = []
    y: list[float | None] = []
    texts: list[str] = []
    growths = ["", *(f", {growth_in_words(point.growth)}: {point.verdict.kind}" for point in history.points)]
    for period, grown in zip(history.periods, growths, strict=True):
        x += [*(_date(taken.measured_at) for taken in (period.taken[0], period.taken[-1])), None]
        y += [period.level_s / unit.factor] * 2 + [None]
        texts += [_level(period) + escape(grown)] * 2 + [""]
    return go.Scatter(
        x=x,
        y=y,
        mode="lines",
        line={"color": color, "width": 4},
        opacity=0.55,
        hovertext=texts,
        hoverinfo="text",
        meta={"role": "level"},
        **legend.entry("its level"),
    )


def _level(period: Period) -> str:
    return f"level {seconds(period.level_s)} of {len(period.taken)} jobs"


CASE_HISTORY = Drawing("case-history", "The same cases over time", draw)
