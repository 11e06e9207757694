"""Marks of times that do not count because the machine was busy: gray in every figure, whatever draws them."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import plotly.graph_objects as go

from gpu_engine.findings.history.records import Taken
from gpu_engine.records import Measurement
from web.figures.panels import LEGEND_LINE_PX

ENTRY = "machine busy: does not count"
"""In the legend, beside a gray square."""

HOVER = "The machine was busy: this does not count."


Evidence = Measurement | Taken
"""What a mark is of; in a figure of several jobs it says of which."""


def key(m: Evidence) -> str:
    """Return what tells a measurement from the others of a figure."""
    return f"{m.job_id} {key(m.measurement)}" if isinstance(m, Taken) else f"{m.device} {m.case}"


def keys(measurements: Iterable[Evidence]) -> set[str]:
    """Return the keys of these measurements."""
    return set(map(key, measurements))


def evidence(marks: Iterable[Sequence[Evidence]]) -> dict[str, Any]:
    """Return the settings of a trace that name the measurements behind each mark, for `gray`.

    marks  of each mark the measurements: one of a time, two of a ratio, none of a bound
    """
    named = [list(map(key, mark)) for mark in marks]
    return {"customdata": named} if any(named) else {}


def gray(figure: go.Figure, busy: Collection[str]) -> go.Figure:
    """Turn the marks gray behind which a busy measurement is, and say so in their hover texts and in the legend.

    busy  keys of the measurements that do not count

    `meta.busy` of a trace says which of its marks are gray; static/paint.js paints them. The keys are taken off the
    figure: of thousands of marks they would be most of it.
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
    """Note in a trace which of its marks are busy; return whether any is."""
    if trace.customdata is None or "opens" in trace.meta:
        return False
    flags = [any(own in busy for own in mark) for mark in trace.customdata]
    trace.customdata = None
    if not any(flags):
        return False
    trace.meta = {**trace.meta, "busy": flags}
    if trace.hovertext is not None:
        pairs = zip(trace.hovertext, flags, strict=True)
        trace.hovertext = [f"{text}<br>{HOVER}" if text and is_busy else text for text, is_busy in pairs]
    return True


def _entry(trace: Any) -> go.Scatter:
    """Take over a trace's entry in the legend, which would have the gray of its first mark."""
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
    """Return the entry of the legend that says what is gray; trace: any that has such marks."""
    marker = {"symbol": "square", "size": 10, "line": {"width": 1}}
    return _in_legend(trace, name=ENTRY, mode="markers", marker=marker, showlegend=True, meta={"role": "busy"})


def _in_legend(trace: Any, **options: Any) -> go.Scatter:
    """Return a trace on the axes of another one that is in the legend alone."""
    return go.Scatter(x=[None], y=[None], xaxis=trace.xaxis, yaxis=trace.yaxis, hoverinfo="skip", **options)


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list | tuple) else value
