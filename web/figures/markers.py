"""Bars, points, and panels of bars with hover texts and intervals, shared by the figures of all studies."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import plotly.graph_objects as go

from gpu_engine.findings.history.records import HistoryPoint
from gpu_engine.records import Measurement
from gpu_engine.text.units import Unit, seconds
from web.figures import busy
from web.figures.base import escape
from web.figures.panels import Item, panels

LETTER_PX, FONT = 7, 12
"""Width of a letter of a label in pixels, and the default font size."""

Mark = tuple[Any, Any, str, *tuple[busy.Evidence, ...]]
"""(x, y, hover text) of a bar or point, then the measurements behind it; None: not on that axis."""


def hover(title: str, after: str = "", *lines: str) -> str:
    """Return a bold title, text after it on the same line, and further lines, escaped for Plotly."""
    return "<br>".join((f"<b>{escape(title)}</b>{escape(after)}", *map(escape, lines)))


def bars(marks: Sequence[Mark], marker: dict[str, Any], **options: Any) -> go.Bar:
    """Return horizontal bars; x of a mark is the length, y the label of the row."""
    defaults = {"meta": {"role": "kernel"}}
    return go.Bar(**_coordinates(marks), orientation="h", marker=marker, **(defaults | options))


def fill(color: str | list[str], pattern: str, outline: int = 0, opacity: float = 0.5, size: int = 6) -> dict[str, Any]:
    """Return the marker of a bar; the browser colors hatching and outline by its theme."""
    hatching = {"shape": pattern, "fillmode": "overlay", "fgopacity": opacity, "size": size}
    return {"color": color, "line": {"width": outline}, "pattern": hatching}


def points(marks: Sequence[Mark], marker: dict[str, Any], **options: Any) -> go.Scatter:
    """Return points, without a line unless the options have one."""
    return go.Scatter(**_coordinates(marks), marker=marker, **({"mode": "markers"} | options))


def point(color: str, symbol: str | list[str], size: int, outline: float = 0.5) -> dict[str, Any]:
    """Return the marker of a point; a list of symbols has one for each point."""
    return {"color": color, "symbol": symbol, "size": size, "line": {"width": outline}}


def intervals(values: Sequence[float], ends: Sequence[tuple[float, float]], **options: Any) -> dict[str, Any]:
    """Return error bars of the values, hidden if none has a length; ends: (low, high) of each 95 % interval.

    Error bars always are intervals of medians: `whiskers.clip` ends them at four times the median in every figure. A
    spread over matrices is drawn as points.
    """
    above = [high - value for value, (_, high) in zip(values, ends, strict=True)]
    below = [value - low for value, (low, _) in zip(values, ends, strict=True)]
    # Without a length they would still have caps, and look like narrow intervals.
    visibility = {"visible": any(above) or any(below)}
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, **visibility, **options}


def with_intervals(measurements: Iterable[Measurement]) -> str:
    """Return the mention of the intervals of these times for a caption; empty if none has one."""
    return " with 95\u202f% CI" if any(m.shown_ci_s[0] for m in measurements) else ""


def interval_of(m: Measurement) -> tuple[float, float]:
    """Return the ends of the 95 % interval in seconds, or the time twice if it has none."""
    low, high = m.shown_ci_s
    return low or m.median_s or 0.0, high or m.median_s or 0.0


def of_jobs(
    label: str,
    history_points: Sequence[HistoryPoint],
    xs: Sequence[Any],
    unit: Unit,
    further_lines: Callable[[HistoryPoint], Sequence[str]],
    marker: dict[str, Any],
    **options: Any,
) -> go.Scatter:
    """Return the times of a case in several jobs with their intervals; further_lines: of a hover text."""
    times, ends = (
        [each.median_s / unit.factor for each in history_points],
        [interval_of(each.measurement) for each in history_points],
    )
    titles = [
        hover(label, f" in job {each.job_id[:8]}", seconds(each.median_s), *further_lines(each))
        for each in history_points
    ]
    errors = intervals(times, [(low / unit.factor, high / unit.factor) for low, high in ends])
    defaults = {"error_y": errors, "meta": {"role": "unsettled"}}
    return points(list(zip(xs, times, titles, history_points, strict=True)), marker, **(defaults | options))


def ratio_interval(base: Measurement, m: Measurement) -> tuple[float, float]:
    """Return the interval of the time of `base` over that of `m`, from the ends of both 95 % intervals.

    It is not narrower than the true interval of the ratio.
    """
    (base_low, base_high), (low, high) = interval_of(base), interval_of(m)
    return base_low / (high or 1.0), base_high / (low or 1.0)


def label_rows(figure: go.Figure, row: int, labels: Sequence[str], **axis: Any) -> None:
    """Give a panel, and those next to it, a row per label, the first on top."""
    # Without the type, Plotly reads labels such as 0 and 1 as numbers if a panel has no others.
    ends = [len(labels) - 0.5, -0.5]
    order = {"type": "category", "categoryorder": "array", "categoryarray": list(labels), "range": ends}
    figure.update_yaxes(**order, **axis, row=row)


def bar_panels(
    titles: Sequence[str],
    labels: Sequence[Sequence[str]],
    legend: int,
    barmode: str,
    row_px: int,
    across: int = 2,
    **axis: Any,
) -> go.Figure:
    """Return panels of horizontal bars, a row of `row_px` pixels per label; axis: settings of the label axes.

    across  as in `panels`
    """
    heights = [max(2, len(names)) * row_px for names in labels]
    # A narrow screen has half as many legend entries per line, and panels of few rows cannot shrink.
    letter_px = LETTER_PX * axis.get("tickfont_size", FONT) / FONT
    label_px = round(letter_px * max((len(label) for names in labels for label in names), default=0)) + 16
    figure = panels(titles, heights, 2 * legend, across=across, label_px=label_px, bargap=0.25, barmode=barmode)
    for row, names in enumerate(labels, start=1):
        label_rows(figure, row, names, ticklabelstandoff=4, **axis)
    figure.update_layout(legend_traceorder="normal")
    return figure


def first_panels(every: Sequence[Item], rows: Callable[[Item], int], rows_max: int) -> list[Item]:
    """Return the panels until they have `rows_max` rows together, but at least the first."""
    total = 0
    for number, panel in enumerate(every):
        total += rows(panel)
        if number and total > rows_max:
            return list(every[:number])
    return list(every)


def omission(number: int, total: int, what: str = "", where: str = "the table has all") -> str:
    """Return a sentence on the panels that are not drawn; empty if all are."""
    first = "only the first" if number == 1 else f"the first {number}"
    return f" Showing {first} of {total}{what}; {where}." if number < total else ""


def _coordinates(marks: Sequence[Mark]) -> dict[str, Any]:
    xs, ys, texts = ([mark[index] for mark in marks] for index in range(3))
    of = busy.evidence(mark[3:] for mark in marks)
    return {"x": xs, "y": ys, "hovertext": texts, "hoverinfo": "text", **of}
