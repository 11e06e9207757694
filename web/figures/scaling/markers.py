"""Panels, looks of series, titles, and table heads, shared by the figures of the study."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling.cases import EXCHANGE, STAYING, hidden_share, phases_of
from gpu_engine.findings.scaling.groups import WorkGroup, work_groups
from gpu_engine.findings.scaling.series import Series, by_variant
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head
from gpu_engine.text.units import count
from web.figures import markers
from web.figures.base import escape, shorten
from web.figures.highlighting import OTHERS_MARKER
from web.figures.panels import Item, Legend, Panels
from web.palette import DASHES, OKABE_ITO, OTHERS, SYMBOLS, partitioning_style

PLACE = (Head("matrix", numeric=False), Head("machine", numeric=False))

ROW_PX = 24
ROWS_MAX = 72
"""Panels are drawn until they have this many bars together, but at least the first."""

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
"""Options other than the defaults → what they add to the number of a look. A variant has four looks, the last twelve.

Placements belong to SpMV from the host, which shares no figure with the variants after it.
"""

VIRTUAL_NOTE = " Simulated devices are threads of this CPU. Their timings say nothing about GPUs."


@dataclass(frozen=True, slots=True)
class Panel(Generic[Item]):
    """The curves, bars, or partitionings of a group that a panel shows; matrix: its name."""

    matrix: str
    group: WorkGroup
    items: tuple[Item, ...]

    @property
    def place(self) -> tuple[str, str]:
        """Return the cells under PLACE."""
        return self.matrix, self.group.machine

    def title(self, *more: str) -> str:
        """Return matrix, machine, and further parts of the title."""
        return " · ".join((escape(shorten(self.matrix, 16)), self.group.machine, *more))


@dataclass(frozen=True, slots=True)
class Bar:
    """A measurement with times in phases.

    label   of its row in the panel of its workload and partitioning
    phases  seconds by name; hidden: share of the exchange that overlaps with computation, None without any
    """

    label: str
    series: Series
    measurement: Measurement
    phases: Mapping[str, float]
    hidden: float | None

    @property
    def together(self) -> float:
        """Return the sum of all phases in seconds."""
        return sum(self.phases.values())


def fitting(
    groups: Iterable[tuple[WorkGroup, Sequence[Item]]],
    data: StudyData,
    rows: Callable[[Panel[Item]], int] = lambda panel: len(panel.items),
) -> Panels[Panel[Item]]:
    """Return panels of these groups, drawn until they have ROWS_MAX rows together."""
    every = tuple(Panel(data.matrix(group.matrix_id).name, group, tuple(items)) for group, items in groups)
    return Panels(every, len(markers.first_panels(every, rows, ROWS_MAX)))


def phase_panels(data: StudyData, works: Sequence[str], *, largest_first: bool = False) -> Panels[Panel[Bar]]:
    """Return a panel per group of these workloads with phase timings, a bar per measurement, by number of devices.

    largest_first  matrices by descending nonzeros, so that the largest are drawn if not all fit
    """
    ordered = work_groups(data, works)
    if largest_first:
        ordered.sort(key=lambda group: -data.matrix(group.matrix_id).nnz)
    groups = (
        (group, [bar for s in group.series for m in s.timed if (bar := _bar(s, m)).together > 0]) for group in ordered
    )
    return fitting(
        ((group, sorted(bars, key=lambda bar: bar.measurement.details.devices or 0)) for group, bars in groups if bars),
        data,
    )


def left_out(*several: Panels[Any]) -> str:
    """Return a sentence on the panels that are not drawn; empty if all are."""
    visible, every = sum(len(each.visible) for each in several), sum(len(each.panels) for each in several)
    return markers.omission(visible, every, " panels")


def virtual_note(groups: Iterable[WorkGroup]) -> str:
    """Return a sentence if some of the devices are threads of a CPU."""
    return VIRTUAL_NOTE if any(group.virtual for group in groups) else ""


def color_of(series: Series) -> str:
    """Return the color of a partitioning."""
    return partitioning_style(series.partitioning).color


def line(
    series: Series,
    points: Sequence[tuple[int, float]],
    legend: Legend,
    texts: Sequence[str],
    errors: dict[str, Any],
    name: str,
) -> go.Scatter:
    """Return a series over the number of devices: color by partitioning, dash and marker by everything else.

    With the kernels of a library, the line is gray and the markers are hollow. A series without a name is one of the
    others: thin, pale, and without intervals.
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


def bars_of(name: str, number: int, bar_marks: Sequence[markers.Mark], legend: Legend) -> go.Bar:
    """Return horizontal bars of one kind, distinguished from others by its number."""
    marker = markers.fill(OKABE_ITO[number % len(OKABE_ITO)], HATCHES[number % len(HATCHES)])
    return markers.bars(bar_marks, marker, **legend.entry(escape(name)))


def bar_panels(titles: Sequence[str], rows: Sequence[Sequence[str]], legend: int, barmode: str, px: int) -> go.Figure:
    """Return panels of horizontal bars whose axes start at 0, a row of `px` pixels per label."""
    figure = markers.bar_panels(titles, rows, legend, barmode, px)
    figure.update_xaxes(rangemode="tozero", nticks=6)
    return figure


def _bar(series: Series, m: Measurement) -> Bar:
    return Bar(_label(series, m), series, m, phases_of(m), hidden_share(m))


def _label(series: Series, m: Measurement) -> str:
    """Return `p*-opt, cusparse · 4` or `overlap on · 4`."""
    precision = series.variant.partition("+")[2]
    # A narrow screen has no room for words that the values do not need.
    apart = series.apart
    for word, short in (
        (f"{EXCHANGE} ", ""),
        ("overlap on", "overlap"),
        ("overlap off", "no overlap"),
    ):
        apart = apart.replace(word, short)
    named = (precision or ("" if series.variant in STAYING else series.variant), apart)
    return f"{escape(', '.join(filter(None, named)) or series.variant)} · {count(m.details.devices)}"
