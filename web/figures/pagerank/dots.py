"""Ratios of several graphs as points: a row per kernel, a point per graph, and the geometric mean."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import geometric_mean

import plotly.graph_objects as go

from gpu_engine.records import Measurement
from gpu_engine.text.units import ratio
from web.figures import markers
from web.figures.base import escape
from web.figures.pagerank.facets import Panels, Row, axis_end, mark_fp64
from web.figures.panels import Legend, panels

ROW_PX = 20
ROWS_MAX = 20
"""Maximum number of rows in a panel, those with the highest means: nobody reads more."""

GRAPH, MEAN = "graph", "geometric mean"


@dataclass(frozen=True, slots=True)
class Dot:
    """A ratio of one graph.

    label        of its row; if a graph has several in a row, the first is drawn
    color        of the row
    measurement  of the run
    interval     None if it is unknown
    counts       whether the mean includes it; if not, the point is hollow
    """

    label: str
    color: str
    value: float
    measurement: Measurement
    interval: tuple[float, float] | None = None
    counts: bool = True


def draw(info: Panels[Row], dots: Callable[[Row], Iterable[Dot]], axis: str) -> go.Figure:
    """Return a panel per device, a row per label in order of appearance, a point per graph, and a mark for the mean."""
    devices = dict.fromkeys(panel.place[1] for panel in info.panels)
    rows_by_device = {device: _highest(_rows(info, device, dots)) for device in devices}
    figure = panels(list(devices), [max(3, len(rows)) * ROW_PX for rows in rows_by_device.values()], 4)
    legend = Legend()
    for number, rows in enumerate(rows_by_device.values(), start=1):
        markers.label_rows(figure, number, [escape(label) for label in rows], ticklabelstandoff=4, tickfont_size=11)
        for label, graphs in rows.items():
            figure.add_trace(_points(label, graphs, legend), row=number, col=1)
        figure.add_trace(_means(rows, legend), row=number, col=1)
        every = [(dot.value, dot.counts) for graphs in rows.values() for dot in graphs.values()]
        figure.update_xaxes(range=[0, axis_end([(1.0, True), *every])], row=number, col=1)
        mark_fp64(figure, {"row": number, "col": 1})
    return figure.update_xaxes(title_text=axis, title_standoff=4, row=len(rows_by_device), col=1)


def left_out(info: Panels[Row], dots: Callable[[Row], Iterable[Dot]]) -> str:
    """Return a sentence on the rows that are not drawn; empty if all are."""
    rows = {place: len(_rows(info, place, dots)) for place in dict.fromkeys(panel.place[1] for panel in info.panels)}
    long = [(place, number) for place, number in rows.items() if number > ROWS_MAX]
    if not long:
        return ""
    of = ", ".join(f"{number} on {place}" if len(rows) > 1 else str(number) for place, number in long)
    return f"Showing the {ROWS_MAX} rows with the highest means of {of}; the table has all."


def _highest(rows: dict[str, dict[str, Dot]]) -> dict[str, dict[str, Dot]]:
    """Return the ROWS_MAX rows with the highest means, in their order; rows without a mean come last."""
    known = {label: _mean(graphs) for label, graphs in rows.items()}
    first = sorted(rows, key=lambda label: -(known[label] or 0.0))[:ROWS_MAX]
    return {label: graphs for label, graphs in rows.items() if label in first}


def _mean(graphs: dict[str, Dot]) -> float | None:
    right = [dot.value for dot in graphs.values() if dot.counts]
    return geometric_mean(right) if right else None


def _rows(info: Panels[Row], device: str, dots: Callable[[Row], Iterable[Dot]]) -> dict[str, dict[str, Dot]]:
    """Return label → graph → its point."""
    rows: dict[str, dict[str, Dot]] = {}
    for panel in info.panels:
        if panel.place[1] == device:
            for dot in (dot for row in panel.rows for dot in dots(row)):
                rows.setdefault(dot.label, {}).setdefault(panel.place[0], dot)
    return rows


def _points(label: str, graphs: dict[str, Dot], legend: Legend) -> go.Scatter:
    every = list(graphs.values())
    ends = [dot.interval or (dot.value, dot.value) for dot in every]
    texts = [markers.hover(label, f" on {graph}", f"speedup {ratio(dot.value)}") for graph, dot in graphs.items()]
    return markers.points(
        [(dot.value, escape(label), text, dot.measurement) for dot, text in zip(every, texts, strict=True)],
        {
            "color": every[0].color,
            "symbol": ["circle" if dot.counts else "circle-open" for dot in every],
            "size": 7,
            "opacity": 0.7,
            "line": {"width": 0.5},
        },
        error_x=markers.intervals([dot.value for dot in every], ends, width=0, thickness=1, color=every[0].color),
        **legend.entry(GRAPH),
        meta={"role": "point"},
    )


def _means(rows: dict[str, dict[str, Dot]], legend: Legend) -> go.Scatter:
    means = {label: mean for label, graphs in rows.items() if (mean := _mean(graphs))}
    right = {label: sum(dot.counts for dot in graphs.values()) for label, graphs in rows.items()}
    return markers.points(
        [
            (mean, escape(label), markers.hover(label, "", f"mean speedup {ratio(mean)} over {_graphs(right[label])}"))
            for label, mean in means.items()
        ],
        {"symbol": "line-ns", "size": 14, "line": {"width": 3}},
        **legend.entry(MEAN),
        meta={"role": "floor"},
    )


def _graphs(number: int) -> str:
    return "1 graph" if number == 1 else f"{number} graphs"
