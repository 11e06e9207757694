"""Clipping of error bars, and axes that follow the medians, in every figure."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import Any, Literal

import plotly.graph_objects as go

WHISKER_MAX = 4.0
"""A whisker ends at this multiple of its median, or that fraction of it, with a mark."""

HEADROOM = 1.06
"""End of a linear axis from zero, as a multiple of the largest median."""

BEYOND = {"x": ("triangle-left", "triangle-right"), "y": ("triangle-down", "triangle-up")}
"""Axis → marks of a whisker that continues below and above."""

Letter = Literal["x", "y"]


def clip(figure: go.Figure) -> go.Figure:
    """Clip the whiskers of a figure, mark those that continue, and end its linear axes by its medians."""
    clipped = [mark for trace in figure.data for letter in ("x", "y") for mark in _clip(trace, letter)]
    for name in dict.fromkeys(_axis_of(trace, letter) for trace, letter in _with_whiskers(figure)):
        _end(figure, name)
    figure.add_traces(clipped)
    return figure


def _with_whiskers(figure: go.Figure) -> Iterator[tuple[Any, Letter]]:
    letters: tuple[Letter, Letter] = ("x", "y")
    return ((trace, letter) for trace in figure.data for letter in letters if _bars(trace, letter))


def _bars(trace: Any, letter: str) -> Any:
    """Return the error bars of a trace along an axis, None if it has none."""
    bars = getattr(trace, f"error_{letter}", None) if f"error_{letter}" in trace else None
    return bars if bars is not None and bars.array is not None else None


def _clip(trace: Any, letter: Letter) -> Iterator[go.Scatter]:
    """Clip the whiskers of a trace; yield marks for those that continue to either side."""
    bars = _bars(trace, letter)
    if bars is None:
        return
    values = [float(value) for value in trace[letter]]
    above, below = _lengths(bars.array, len(values)), _lengths(bars.arrayminus, len(values))
    up = [(WHISKER_MAX - 1) * value for value in values]
    down = [(1 - 1 / WHISKER_MAX) * value for value in values]
    bars.array, bars.arrayminus = _shorter(above, up), _shorter(below, down)
    for symbol, lengths, most, sign in zip(BEYOND[letter], (below, above), (down, up), (-1, 1), strict=True):
        goes_on = [length > limit for length, limit in zip(lengths, most, strict=True)]
        if any(goes_on):
            ends = [value + sign * limit for value, limit in zip(values, most, strict=True)]
            yield _marks(trace, letter, goes_on, ends, symbol)


def _lengths(array: Iterable[float | None] | None, number: int) -> list[float]:
    return [0.0] * number if array is None else [float(length or 0.0) for length in array]


def _shorter(lengths: Sequence[float], most: Sequence[float]) -> list[float]:
    return [min(length, limit) for length, limit in zip(lengths, most, strict=True)]


def _marks(trace: Any, letter: Letter, goes_on: Sequence[bool], ends: Sequence[float], symbol: str) -> go.Scatter:
    other = "y" if letter == "x" else "x"
    coordinates = {letter: list(compress(ends, goes_on)), other: list(compress(trace[other], goes_on))}
    axes = {f"{each}axis": trace[f"{each}axis"] for each in ("x", "y") if trace[f"{each}axis"]}
    of = {} if trace.customdata is None else {"customdata": list(compress(trace.customdata, goes_on))}
    return go.Scatter(
        **coordinates,
        **axes,
        **of,
        mode="markers",
        marker={"symbol": symbol, "size": 8},
        hovertext=[f"the interval continues past {WHISKER_MAX:g}\u202f× the median"] * len(coordinates[letter]),
        hoverinfo="text",
        showlegend=False,
        meta={"role": "beyond"},
    )


def _axis_of(trace: Any, letter: Letter) -> str:
    """Return the name of the axis of a trace: `xaxis2` on the second x axis."""
    return f"{letter}axis{(trace[f'{letter}axis'] or letter)[1:]}"


def _end(figure: go.Figure, name: str) -> None:
    """End a linear axis without a range by its medians; other values count up to WHISKER_MAX times these."""
    axis, letter = figure.layout[name], name[0]
    if axis.range is not None or axis.type not in (None, "linear", "-"):
        return
    on_it = [trace for trace in figure.data if _axis_of(trace, letter) == name]  # type: ignore[arg-type]
    most = _largest(trace[letter] for trace in on_it if _bars(trace, letter))
    without_bars = _largest(trace[letter] for trace in on_it if not _bars(trace, letter))
    if most > 0:
        axis.range = [0, HEADROOM * max(most, min(without_bars, WHISKER_MAX * most))]


def _largest(arrays: Iterable[Iterable[Any]]) -> float:
    return max((float(v) for values in arrays for v in values if isinstance(v, int | float)), default=0.0)
