"""Times of cases over the dates of their measurements: a panel per case, with levels and environment changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import plotly.graph_objects as go

from gpu_engine.findings.finding import interval_text
from gpu_engine.findings.history.change_points import History, Period
from gpu_engine.findings.history.records import HistoryPoint
from gpu_engine.findings.history.sentences import growth_in_words, spread
from gpu_engine.findings.history.tables import Marked, marked
from gpu_engine.text.units import TIME, Unit, moment, seconds, unit_for
from web.figures import markers
from web.figures.base import Drawing, blank, caption, escape
from web.figures.panels import Legend, panels
from web.palette import style

PANEL_PX = 150
MARGIN = 0.04
"""Share of the ranges of dates and times that stays empty on each side."""

SCATTER = 8.0
"""A panel reaches this multiple of the noise beyond its levels; times further away are off the scale."""

SPIKES_AT, LETTERS_AT = 0.84, 0.9
"""Heights in a panel of outliers that are off the scale, and of the letters above them."""

SPAN_MIN = 0.1
"""Least height of a panel as a share of its times: less would show noise as if it mattered."""

NOTHING = "No job has measured this case."


@dataclass(frozen=True, slots=True)
class Info:
    """The histories that are drawn, and the environment changes of all histories of the same device and cache state."""

    histories: tuple[History, ...]
    marked: tuple[Marked, ...]

    @property
    def ends(self) -> tuple[float, float]:
        """Return the first and the last date, in seconds since 1970, with a margin on both sides."""
        dates = [point.measured_at for history in self.histories for point in history.timeline]
        room = max(MARGIN * (max(dates) - min(dates)), 3600.0)
        return min(dates) - room, max(dates) + room


def info(histories: Sequence[History], every: Sequence[History]) -> Info:
    """Return the info of these histories.

    every  all histories of the same device and cache state: their environment changes mark dates
    """
    return Info(tuple(histories), marked(every))


def draw(info: Info) -> go.Figure:
    """Return a panel per case: times with intervals, the level of each segment, and lines at environment changes."""
    if not info.histories:
        return blank(NOTHING)
    titles = [history.label for history in info.histories]
    figure = panels([escape(title) for title in titles], [PANEL_PX] * len(titles), 4, across=2)
    legend = Legend()
    unit = unit_for([point.median_s for history in info.histories for point in history.timeline], TIME)
    for row, history in enumerate(info.histories, start=1):
        ends = _ends(history)
        y_range = [end / unit.factor for end in ends]
        for trace in (*_marks(info, history, y_range, legend), *_traces(history, ends, unit, legend)):
            figure.add_trace(trace, row=row, col=1)
        figure.update_yaxes(
            title_text=unit.symbol, range=y_range, zeroline=False, nticks=5, tickformat=",~r", row=row, col=1
        )
        span = [_date(end) for end in info.ends]
        figure.update_xaxes(type="date", range=span, nticks=5, zeroline=False, row=row, col=1)
    figure.update_xaxes(title_text="date of measurement, UTC", row=len(titles), col=1)
    return figure


def summary(info: Info) -> str:
    """Return what is drawn, and how to read it."""
    if not info.histories:
        return NOTHING
    every = (point.measurement for history in info.histories for point in history.timeline)
    return caption(
        f"Times of each case{markers.with_intervals(every)}, by the date of the job that measured it.",
        (
            "The thick line is the level; a step is a change of the time.",
            "A dashed line with a letter is an environment change. The table below explains it.",
        ),
        (spread(info.histories), "Each panel has its own scale, which does not begin at zero."),
    )


def _date(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _ends(history: History) -> tuple[float, float]:
    """Return the lowest and highest time of a panel: of its medians near its levels; intervals may end outside."""
    levels, widest = [period.level_s for period in history.periods], 1 + SCATTER * history.noise
    medians = [point.median_s for point in history.timeline]
    low = max(min(medians), min(levels) / widest)
    high = min(max(medians), max(levels) * widest)
    room = max(high - low, SPAN_MIN * high)
    return low - MARGIN * room, high + 0.25 * room


def _marks(info: Info, history: History, ends: Sequence[float], legend: Legend) -> list[go.Scatter]:
    """Return a dashed line with a letter at each date on which the environment of this case changed."""
    changes_by_job = {each.first.job_id: each for each in history.underneath}
    return [
        go.Scatter(
            x=[_date(point.measured_at)] * 2,
            y=[ends[0], ends[0] + LETTERS_AT * (ends[1] - ends[0])],
            mode="lines+text",
            text=["", mark],
            textposition="top center",
            line={"dash": "dot", "width": 1.5},
            hovertext=[escape(", ".join(map(str, changes_by_job[point.job_id].changes)))] * 2,
            hoverinfo="text",
            meta={"role": "line"},
            **legend.entry("environment change"),
        )
        for mark, point, _ in info.marked
        if point.job_id in changes_by_job
    ]


def _traces(history: History, ends: Sequence[float], unit: Unit, legend: Legend) -> list[go.Scatter]:
    color = style(history.case.format).color
    inside = [point for point in history.timeline if ends[0] <= point.median_s <= ends[1]]
    spikes = [point for point in history.timeline if point not in inside]
    points = _points(history, inside, unit, {"color": color, "symbol": "circle", "size": 6})
    traces = [_levels(history, unit, color, legend), points.update(error_y_width=0, **legend.entry("measurement"))]
    if spikes:
        edge = [(ends[0] + SPIKES_AT * (ends[1] - ends[0])) / unit.factor] * len(spikes)
        marker = {"color": color, "symbol": "triangle-up-open", "size": 9, "line": {"width": 1.5}}
        points = _points(history, spikes, unit, marker, error_y=None)
        traces.append(points.update(y=edge, **legend.entry("off the scale")))
    return traces


def _points(
    history: History, history_points: Sequence[HistoryPoint], unit: Unit, marker: dict[str, Any], **options: Any
) -> go.Scatter:
    def further_lines(each: HistoryPoint) -> tuple[str, str]:
        return interval_text(each.measurement), f"{moment(each.measured_at)} UTC"

    dates = [_date(each.measured_at) for each in history_points]
    return markers.of_jobs(history.label, history_points, dates, unit, further_lines, marker, **options)


def _levels(history: History, unit: Unit, color: str, legend: Legend) -> go.Scatter:
    """Return a thick line at the level of each segment, from its first measurement to its last."""
    x: list[str | None] = []
    y: list[float | None] = []
    texts: list[str] = []
    growths = ["", *(f", {growth_in_words(point.growth)}: {point.verdict.kind}" for point in history.points)]
    for period, grown in zip(history.periods, growths, strict=True):
        x += [*(_date(point.measured_at) for point in (period.timeline[0], period.timeline[-1])), None]
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
        **legend.entry("level"),
    )


def _level(period: Period) -> str:
    return f"level {seconds(period.level_s)} over {len(period.timeline)} jobs"


CASE_HISTORY = Drawing("case-history", "History of the cases", draw)
