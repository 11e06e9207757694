"""What the figures of the study share: how series are drawn, and the words of their panels and tables."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import plotly.graph_objects as go

from gpu_engine.records import Measurement
from web.figures.base import Head, escape, shorten
from web.figures.panels import Legend, panels
from web.palette import DASHES, OKABE_ITO, OTHERS, SYMBOLS
from web.scaling import PRODUCT, Entry, Series, WorkGroup, by_partitioning, by_variant, work_groups
from web.scaling_cases import STAYING, phases_of
from web.shown import Shown
from web.units import count

PLACE = (Head("matrix", numeric=False), Head("machine", numeric=False))

ROW_PX = 24
ROWS_MAX = 72
"""Panels are drawn until they have so many bars together, the first in any case."""

HATCHES = ("", "/", "x", ".", "-", "+")

UNUSUAL = {"off": 1, "all-gather": 2, "device": 3, "lines": 1, "cpms2": 4, "cpms4": 8}
"""Options beside the usual ones: what they add to the number of a look. A variant has four looks, the last twelve."""

Panel = tuple[WorkGroup, list[Entry]]
"""The measurements of a group that have bars in a panel."""

VIRTUAL_NOTE = " Virtual devices are threads of this CPU: these times say nothing of a GPU."


def place(group: WorkGroup, shown: Shown) -> tuple[str, str]:
    """The cells under PLACE."""
    return shown.matrix(group.matrix_id).name, group.machine


def heading(group: WorkGroup, shown: Shown, *more: str) -> str:
    """The title of a panel: matrix, machine, and what else sets it apart."""
    return " · ".join((escape(shorten(shown.matrix(group.matrix_id).name, 16)), group.machine, *more))


def virtual_note(groups: Iterable[WorkGroup]) -> str:
    """A sentence where some of the devices are threads of a CPU."""
    return VIRTUAL_NOTE if any(group.virtual for group in groups) else ""


def color_of(series: Series) -> str:
    """The colour of a partitioning."""
    return OKABE_ITO[by_partitioning(series.partitioning) % len(OKABE_ITO)]


def line(
    series: Series, points: Sequence[tuple[int, float]], legend: Legend, texts: Sequence[str], errors: dict[str, Any]
) -> go.Scatter:
    """A series over the number of devices: the colour says the partitioning, dash and marker all else.

    With a library's product the line is grey and the markers are hollow.
    """
    look = _look(series)
    symbol = SYMBOLS[look % len(SYMBOLS)]
    return go.Scatter(
        **legend.entry(escape(series.label)),
        x=[devices for devices, _ in points],
        y=[value for _, value in points],
        mode="lines+markers",
        error_y=errors,
        line={
            "color": OTHERS if series.competitor else color_of(series),
            "dash": DASHES[look % len(DASHES)],
            "width": 1.5,
        },
        marker={
            "color": color_of(series),
            "symbol": f"{symbol}-open" if series.competitor else symbol,
            "size": 8,
            "line": {"width": 1.5 if series.competitor else 0.5},
        },
        hovertext=texts,
        hoverinfo="text",
        meta={"role": "point", "kernel": series.kernel},
    )


def _look(series: Series) -> int:
    # Five dashes and seven markers: as many pairs of them as numbers below 35.
    options = (*(value for name, value in series.options if name in series.apart), series.variant.partition("+")[2])
    return 4 * by_variant(series.variant) + sum(UNUSUAL.get(option, 0) for option in options)


def bars(name: str, number: int, found: Sequence[tuple[str, float, str]], legend: Legend, **options: Any) -> go.Bar:
    """Horizontal bars of one kind, told from others by its number; found: (row, length, what is said on it)."""
    return go.Bar(
        **legend.entry(escape(name)),
        x=[length for _, length, _ in found],
        y=[row for row, _, _ in found],
        orientation="h",
        error_x={"visible": False},
        marker={
            "color": OKABE_ITO[number % len(OKABE_ITO)],
            "line": {"width": 0},
            "pattern": {"shape": HATCHES[number % len(HATCHES)], "fillmode": "overlay", "fgopacity": 0.5, "size": 6},
        },
        hovertext=[said for _, _, said in found],
        hoverinfo="text",
        meta={"role": "kernel"},
        **options,
    )


def bar_panels(titles: Sequence[str], rows: Sequence[Sequence[str]], legend: int, barmode: str, px: int) -> go.Figure:
    """Panels of horizontal bars, a row a label of so many pixels, the first on top; axes begin at 0."""
    # A narrow screen has half as many entries a line, and panels of few rows have nothing to give.
    figure = panels(titles, [max(2, len(labels)) * px for labels in rows], 2 * legend, bargap=0.25, barmode=barmode)
    for row, labels in enumerate(rows, start=1):
        order = {"categoryorder": "array", "categoryarray": list(labels), "range": [len(labels) - 0.5, -0.5]}
        figure.update_yaxes(type="category", ticklabelstandoff=4, **order, row=row, col=1)
    figure.update_layout(legend_traceorder="normal")
    figure.update_xaxes(rangemode="tozero", nticks=6)
    return figure


def row_of(series: Series, m: Measurement) -> str:
    """The label of a bar in the panel of its work and partitioning: `p*-opt, cusparse · 4`, `overlap on · 4`."""
    precision = series.variant.partition("+")[2]
    # A narrow screen has no room for the word; the name of a library says enough.
    apart = series.apart.replace(f"{PRODUCT} ", "")
    named = (precision or ("" if series.variant in STAYING else series.variant), apart)
    return f"{escape(', '.join(filter(None, named)) or series.variant)} · {count(m.devices)}"


Drawn = TypeVar("Drawn")


def first_panels(found: Sequence[Drawn], rows: Callable[[Drawn], int]) -> list[Drawn]:
    """The panels until ROWS_MAX rows, the first in any case."""
    kept: list[Drawn] = []
    for panel in found:
        if kept and sum(map(rows, (*kept, panel))) > ROWS_MAX:
            break
        kept.append(panel)
    return kept


def left_out(drawn: int, found: int) -> str:
    """A sentence on the panels that are not drawn; empty where all are."""
    return f" Drawn are the first {drawn} of {found} panels; the table has all." if drawn < found else ""


def phase_panels(shown: Shown, works: Sequence[str]) -> list[Panel]:
    """A panel for each group of these works with times in phases; a bar a measurement, by number of devices."""
    found = []
    for group in work_groups(shown, works):
        own = [(series, m) for series in group.series for m in series.timed if sum(phases_of(m).values()) > 0]
        if own:
            found.append((group, sorted(own, key=lambda bar: bar[1].devices or 0)))
    return found


def bar_count(panel: Panel) -> int:
    """Bars of a panel, one below the other."""
    return len(panel[1])
