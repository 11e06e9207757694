"""Bars, points and panels of bars, with their hover texts and intervals: what the figures of every study share."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import plotly.graph_objects as go

from gpu_engine.findings.history.records import Taken
from gpu_engine.records import Measurement
from gpu_engine.text.units import Unit, seconds
from web.figures import busy
from web.figures.base import escape
from web.figures.panels import Item, panels

LETTER_PX, FONT = 7, 12
"""How wide a letter of a label is, and its size, where none is given."""

Mark = tuple[Any, Any, str, *tuple[busy.Evidence, ...]]
"""(x, y, hover text) of a bar or a point, and the measurements behind it, if any; None: no place on that axis."""


def hover(title: str, after: str = "", *lines: str) -> str:
    """A bold title, text after it on the same line, and further lines, as text that Plotly shows as it is."""
    return "<br>".join((f"<b>{escape(title)}</b>{escape(after)}", *map(escape, lines)))


def bars(marks: Sequence[Mark], marker: dict[str, Any], **options: Any) -> go.Bar:
    """Horizontal bars; x of a mark is the length, y the label of the row."""
    defaults = {"meta": {"role": "kernel"}}
    return go.Bar(**_coordinates(marks), orientation="h", marker=marker, **(defaults | options))


def fill(color: str | list[str], pattern: str, outline: int = 0, opacity: float = 0.5, size: int = 6) -> dict[str, Any]:
    """The marker of a bar; the browser gives hatching and outline the ink of its theme."""
    hatching = {"shape": pattern, "fillmode": "overlay", "fgopacity": opacity, "size": size}
    return {"color": color, "line": {"width": outline}, "pattern": hatching}


def points(marks: Sequence[Mark], marker: dict[str, Any], **options: Any) -> go.Scatter:
    """Points, without a line unless the options say so."""
    return go.Scatter(**_coordinates(marks), marker=marker, **({"mode": "markers"} | options))


def point(color: str, symbol: str, size: int, outline: float = 0.5) -> dict[str, Any]:
    """The marker of a point."""
    return {"color": color, "symbol": symbol, "size": size, "line": {"width": outline}}


def intervals(values: Sequence[float], ends: Sequence[tuple[float, float]], **options: Any) -> dict[str, Any]:
    """Error bars of the values, hidden where none has a length; ends: (low, high) of each, of a 95 % interval.

    Error bars are intervals of medians and nothing else: `whiskers.clip` ends them at four times the median in every
    figure. A spread over matrices is drawn as points.
    """
    above = [high - value for value, (_, high) in zip(values, ends, strict=True)]
    below = [value - low for value, (low, _) in zip(values, ends, strict=True)]
    # Without a length they would still have caps, and pass for narrow intervals.
    shown = {"visible": any(above) or any(below)}
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, **shown, **options}


def with_intervals(measurements: Iterable[Measurement]) -> str:
    """Return what a caption says of the intervals of these times; empty where none has one."""
    return ", with its 95 % interval" if any(m.ci_low_s for m in measurements) else ""


def interval_of(m: Measurement) -> tuple[float, float]:
    """The ends of its 95 % interval in seconds; its time where it has none."""
    return m.ci_low_s or m.median_s or 0.0, m.ci_high_s or m.median_s or 0.0


def of_jobs(
    label: str,
    taken: Sequence[Taken],
    xs: Sequence[Any],
    unit: Unit,
    told: Callable[[Taken], Sequence[str]],
    marker: dict[str, Any],
    **options: Any,
) -> go.Scatter:
    """The times of a case in several jobs with their intervals; told: further lines of a hover text."""
    times, ends = [each.median_s / unit.factor for each in taken], [interval_of(each.measurement) for each in taken]
    titles = [hover(label, f" in job {each.job_id[:8]}", seconds(each.median_s), *told(each)) for each in taken]
    errors = intervals(times, [(low / unit.factor, high / unit.factor) for low, high in ends])
    defaults = {"error_y": errors, "meta": {"role": "unsettled"}}
    return points(list(zip(xs, times, titles, taken, strict=True)), marker, **(defaults | options))


def ratio_interval(base: Measurement, m: Measurement) -> tuple[float, float]:
    """Of the time of `base` over that of `m`, from the ends of both 95 % intervals: no narrower than its own."""
    base_s, own_s = base.median_s or 0.0, m.median_s or 1.0
    return (base.ci_low_s or base_s) / (m.ci_high_s or own_s), (base.ci_high_s or base_s) / (m.ci_low_s or own_s)


def label_rows(figure: go.Figure, row: int, labels: Sequence[str], **axis: Any) -> None:
    """Gives a panel, and those beside it, a row a label, the first on top."""
    # Without the type Plotly takes labels such as 0 and 1 for numbers where a panel has no others.
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
    """Panels of horizontal bars, a row of so many pixels a label; axis: settings of the axes of labels.

    across  as in `panels`
    """
    heights = [max(2, len(own)) * row_px for own in labels]
    # A narrow screen has half as many entries a line, and panels of few rows have nothing to give.
    letter_px = LETTER_PX * axis.get("tickfont_size", FONT) / FONT
    label_px = round(letter_px * max((len(label) for own in labels for label in own), default=0)) + 16
    figure = panels(titles, heights, 2 * legend, across=across, label_px=label_px, bargap=0.25, barmode=barmode)
    for row, own in enumerate(labels, start=1):
        label_rows(figure, row, own, ticklabelstandoff=4, **axis)
    figure.update_layout(legend_traceorder="normal")
    return figure


def first_panels(every: Sequence[Item], rows: Callable[[Item], int], rows_max: int) -> list[Item]:
    """The panels until they have so many rows together, the first in any case."""
    total = 0
    for number, panel in enumerate(every):
        total += rows(panel)
        if number and total > rows_max:
            return list(every[:number])
    return list(every)


def omission(drawn: int, total: int, what: str = "", where: str = "the table has all") -> str:
    """A sentence on the panels that are not drawn; empty where all are."""
    first = "is the first" if drawn == 1 else f"are the first {drawn}"
    return f" Drawn {first} of {total}{what}; {where}." if drawn < total else ""


def _coordinates(marks: Sequence[Mark]) -> dict[str, Any]:
    xs, ys, texts = ([mark[place] for mark in marks] for place in range(3))
    of = busy.evidence(mark[3:] for mark in marks)
    return {"x": xs, "y": ys, "hovertext": texts, "hoverinfo": "text", **of}
