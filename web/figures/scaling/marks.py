"""What the figures of the study share: their panels, how series are drawn, and the words of titles and tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling.cases import EXCHANGE, STAYING, hidden_share, phases_of
from gpu_engine.findings.scaling.groups import Series, WorkGroup, by_variant, work_groups
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head
from gpu_engine.text.units import count
from web.figures import marks
from web.figures.base import escape, shorten
from web.figures.emphasis import OTHERS_MARKER
from web.figures.panels import Item, Legend, Panels
from web.palette import DASHES, OKABE_ITO, OTHERS, SYMBOLS, partitioning_style

PLACE = (Head("matrix", numeric=False), Head("machine", numeric=False))

ROW_PX = 24
ROWS_MAX = 72
"""Panels are drawn until they have so many bars together, the first in any case."""

HATCHES = ("", "/", "x", ".", "-", "+")

UNUSUAL = {
    "off": 1,
    "rows": 1,
    "all-gather": 2,
    "gather": 2,
    "device": 3,
    "cpms2": 4,
    "cpms4": 8,
    "none": 4,
    "one": 8,
    "interleaved": 12,
    "beside": 16,
}
"""Options beside the usual ones: what they add to the number of a look. A variant has four looks, the last twelve.

Placements are of products from the host, which share no figure with the variants behind them.
"""

VIRTUAL_NOTE = " Virtual devices are threads of this CPU: these times say nothing of a GPU."


@dataclass(frozen=True, slots=True)
class Panel(Generic[Item]):
    """What is shown of a group, several curves, bars or cuts; matrix: its name."""

    matrix: str
    group: WorkGroup
    items: tuple[Item, ...]

    @property
    def place(self) -> tuple[str, str]:
        """The cells under PLACE."""
        return self.matrix, self.group.machine

    def title(self, *more: str) -> str:
        """Matrix, machine, and what else sets it apart."""
        return " · ".join((escape(shorten(self.matrix, 16)), self.group.machine, *more))


@dataclass(frozen=True, slots=True)
class Bar:
    """A measurement with times in phases.

    label   of its row in the panel of its work and partitioning
    phases  seconds by name; hidden: the share of the exchange that goes on beside the products, None where none does
    """

    label: str
    series: Series
    measurement: Measurement
    phases: Mapping[str, float]
    hidden: float | None

    @property
    def together(self) -> float:
        """Seconds of all phases, one after the other."""
        return sum(self.phases.values())


def fitting(
    groups: Iterable[tuple[WorkGroup, Sequence[Item]]],
    data: StudyData,
    rows: Callable[[Panel[Item]], int] = lambda panel: len(panel.items),
) -> Panels[Panel[Item]]:
    """Panels of these groups, drawn until they have ROWS_MAX rows together."""
    every = tuple(Panel(data.matrix(group.matrix_id).name, group, tuple(items)) for group, items in groups)
    return Panels(every, len(marks.first_panels(every, rows, ROWS_MAX)))


def phase_panels(data: StudyData, works: Sequence[str]) -> Panels[Panel[Bar]]:
    """A panel for each group of these works with times in phases; a bar a measurement, by number of devices."""
    groups = (
        (group, [bar for s in group.series for m in s.timed if (bar := _bar(s, m)).together > 0])
        for group in work_groups(data, works)
    )
    return fitting(
        ((group, sorted(own, key=lambda bar: bar.measurement.details.devices or 0)) for group, own in groups if own),
        data,
    )


def left_out(*several: Panels[Any]) -> str:
    """A sentence on the panels that are not drawn; empty where all are."""
    drawn, every = sum(len(own.drawn) for own in several), sum(len(own.panels) for own in several)
    return marks.omission(drawn, every, " panels")


def virtual_note(groups: Iterable[WorkGroup]) -> str:
    """A sentence where some of the devices are threads of a CPU."""
    return VIRTUAL_NOTE if any(group.virtual for group in groups) else ""


def color_of(series: Series) -> str:
    """The colour of a partitioning."""
    return partitioning_style(series.partitioning).color


def line(
    series: Series,
    points: Sequence[tuple[int, float]],
    legend: Legend,
    texts: Sequence[str],
    errors: dict[str, Any],
    name: str,
) -> go.Scatter:
    """A series over the number of devices: the colour says the partitioning, dash and marker all else.

    With a library's product the line is grey and the markers are hollow. Without a name it is one of the others: thin,
    pale and without intervals.
    """
    look = _look(series)
    symbol = SYMBOLS[look % len(SYMBOLS)]
    shared = {
        "x": [devices for devices, _ in points],
        "y": [value for _, value in points],
        "hovertext": texts,
        "hoverinfo": "text",
        "meta": {"role": "point", "kernel": series.kernel},
    }
    if not name:
        thin = {"color": OTHERS, "width": 1}
        return go.Scatter(
            **legend.entry("others"), **shared, mode="lines+markers", line=thin, marker=dict(OTHERS_MARKER)
        )
    return go.Scatter(
        **legend.entry(escape(name)),
        **shared,
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
    )


def _look(series: Series) -> int:
    # Five dashes and seven markers: as many pairs of them as numbers below 35.
    options = (*(value for name, value in series.options if name in series.apart), series.variant.partition("+")[2])
    return 4 * by_variant(series.variant) + sum(UNUSUAL.get(option, 0) for option in options)


def bars_of(name: str, number: int, shown: Sequence[marks.Mark], legend: Legend) -> go.Bar:
    """Horizontal bars of one kind, told from others by its number."""
    marker = marks.fill(OKABE_ITO[number % len(OKABE_ITO)], HATCHES[number % len(HATCHES)])
    return marks.bars(shown, marker, **legend.entry(escape(name)))


def bar_panels(titles: Sequence[str], rows: Sequence[Sequence[str]], legend: int, barmode: str, px: int) -> go.Figure:
    """Panels of horizontal bars whose axes begin at 0, a row of so many pixels a label."""
    figure = marks.bar_panels(titles, rows, legend, barmode, px)
    figure.update_xaxes(rangemode="tozero", nticks=6)
    return figure


def _bar(series: Series, m: Measurement) -> Bar:
    return Bar(_label(series, m), series, m, phases_of(m), hidden_share(m))


def _label(series: Series, m: Measurement) -> str:
    """`p*-opt, cusparse · 4`, `overlap on · 4`."""
    precision = series.variant.partition("+")[2]
    # A narrow screen has no room for words that the values do without.
    apart = series.apart
    for word, short in (
        (f"{EXCHANGE} ", ""),
        ("overlap on", "overlap"),
        ("overlap off", "no overlap"),
    ):
        apart = apart.replace(word, short)
    named = (precision or ("" if series.variant in STAYING else series.variant), apart)
    return f"{escape(', '.join(filter(None, named)) or series.variant)} · {count(m.details.devices)}"
