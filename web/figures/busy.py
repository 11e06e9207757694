"""Marks of times that are too noisy to count: gray in every figure."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import plotly.graph_objects as go

from gpu_engine.findings.history.records import HistoryPoint
from gpu_engine.records import Measurement
from web.figures.panels import LEGEND_LINE_PX

ENTRY = "too noisy, not counted"
"""Legend entry of the gray marks."""

HOVER = "Too noisy: this time is not counted."
"""Last line of the hover text of a gray mark."""

Evidence = Measurement | HistoryPoint
"""A measurement behind a mark; in a figure of several jobs it also names the job."""


def key(m: Evidence) -> str:
    """Return the string that identifies a measurement within a figure."""
    return f"{m.job_id} {key(m.measurement)}" if isinstance(m, HistoryPoint) else f"{m.device} {m.case}"


def keys(measurements: Iterable[Evidence]) -> set[str]:
    """Return the keys of these measurements."""
    return set(map(key, measurements))


def evidence(marks: Iterable[Sequence[Evidence]]) -> dict[str, Any]:
    """Return the settings of a trace that name the measurements behind each mark, for `gray`.

    marks  measurements of each mark: one for a time, two for a ratio, none for a bound
    """
    named = [list(map(key, mark)) for mark in marks]
    return {"customdata": named} if any(named) else {}


def gray(figure: go.Figure, busy: Collection[str]) -> go.Figure:
    """Turn the marks of noisy measurements gray, and say so in their hover texts and in the legend.

    busy  keys of the measurements that do not count

    `meta.busy` of a trace holds a flag per mark; figure_svg/marks.py and static/paint.js color them. The keys are
    removed from the figure: of thousands of marks, they would be most of its size.
    """
    marked = [trace for trace in figure.data if _mark(trace, busy)]
    if not marked:
        return figure
    if figure.layout.showlegend is False:
        figure.update_traces(showlegend=False).update_layout(showlegend=True)
    entries = [
        _entry(trace) for trace in marked if trace.name and trace.showlegend is not False and trace.meta["busy"][0]
    ]
    for trace in (*entries, _legend(marked[0])):
        figure.add_trace(trace)
    meta = figure.layout.meta or {}
    if "legend_px" in meta:
        figure.update_layout(
            meta={**meta, "legend_px": meta["legend_px"] + LEGEND_LINE_PX},
            height=figure.layout.height + LEGEND_LINE_PX,
            margin_b=figure.layout.margin.b + LEGEND_LINE_PX,
        )
    return figure


def _mark(trace: Any, busy: Collection[str]) -> bool:
    """Store in a trace which of its marks are noisy; return whether any is."""
    if trace.customdata is None or "opens" in trace.meta:
        return False
    flags = [any(name in busy for name in mark) for mark in trace.customdata]
    trace.customdata = None
    if not any(flags):
        return False
    trace.meta = {**trace.meta, "busy": flags}
    if trace.hovertext is not None:
        pairs = zip(trace.hovertext, flags, strict=True)
        trace.hovertext = [f"{text}<br>{HOVER}" if text and is_busy else text for text, is_busy in pairs]
    return True


def _entry(trace: Any) -> go.Scatter:
    """Replace the legend entry of a trace, which would otherwise have the gray of its first mark."""
    marker, trace.showlegend = trace.marker, False
    looks = {name: _first(marker[name]) if name in marker else None for name in ("color", "symbol", "size", "opacity")}
    is_bar = isinstance(trace, go.Bar)
    return _in_legend(
        trace,
        name=trace.name,
        legendgroup=trace.legendgroup,
        legendrank=trace.legendrank,
        opacity=trace.opacity,
        mode="markers" if is_bar else trace.mode,
        line=None if is_bar else trace.line,
        marker={**looks, "line": {"width": 0.5}, **({"symbol": "square", "size": 10} if is_bar else {})},
        meta={"role": "point" if is_bar else trace.meta["role"]},
    )


def _legend(trace: Any) -> go.Scatter:
    """Return the legend entry of the gray marks; trace: any trace that has some."""
    marker = {"symbol": "square", "size": 10, "line": {"width": 1}}
    return _in_legend(trace, name=ENTRY, mode="markers", marker=marker, showlegend=True, meta={"role": "busy"})


def _in_legend(trace: Any, **options: Any) -> go.Scatter:
    """Return a trace on the axes of another one that appears only in the legend."""
    return go.Scatter(x=[None], y=[None], xaxis=trace.xaxis, yaxis=trace.yaxis, hoverinfo="skip", **options)


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list | tuple) else value
