"""Speedups over fp64 with one row per graph, CSR on the left and ELL on the right, as Figures 4 and 6 of the paper."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

import plotly.graph_objects as go

from gpu_engine.findings.pagerank.realizations import LAYOUTS
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import ratio
from web.figures import markers
from web.figures.base import escape, shorten
from web.figures.panels import Legend, panels
from web.palette import OTHERS

ROW_PX, ROWS_MIN, SIZE, MARGIN, NAME = 24, 4, 10, 0.06, 24


@dataclass(frozen=True, slots=True)
class Series:
    """A precision that is compared with fp64.

    segments  of a value; read: number of segments that the SpMV reads, 0 for the complete run
    """

    name: str
    segments: int
    read: int
    color: str

    @property
    def symbol(self) -> str:
        """Return the symbol of two or four segments."""
        return "circle" if self.segments == 2 else "diamond"


What = Mapping[str, Sequence[Series]]
"""Title of a row of panels → its series."""


@dataclass(frozen=True, slots=True)
class Gains:
    """Speedups of a graph over fp64 in one layout, by the name of the series; kernels: `csr`, or `csr, fused`.

    measurements  of these runs; busy: whether they are too noisy, so that no mean includes them
    """

    graph: str
    device: str
    layout: str
    kernels: str
    values: Mapping[str, float]
    measurements: tuple[Measurement, ...]
    busy: bool


def draw_rows(every: Sequence[Gains], what: What) -> go.Figure:
    """Return the speedups, a row of panels per device and entry of `what`; series without a value are left out."""
    used = {
        title: [each for each in series if any(each.name in gains.values for gains in every)]
        for title, series in what.items()
    }
    rows = [(device, title) for device in _devices(every) for title, series in used.items() if series]
    graphs = {device: _graphs(every, device) for device, _ in rows}
    titles = [text for device, title in rows for text in (f"{title}, speedup over fp64 · {device}", "")]
    # A narrow screen has one legend entry per line, and takes their height from the panels.
    heights = [max(ROWS_MIN, len(graphs[device])) * ROW_PX for device, _ in rows]
    entries = 3 * sum(map(len, used.values()))
    figure, legend = panels(titles, heights, entries, columns=len(LAYOUTS)), Legend()
    for row, (device, title) in enumerate(rows, start=1):
        ends = _ends(every, device, used[title])
        for column, layout in enumerate(LAYOUTS, start=1):
            by_graph = {gains.graph: gains for gains in every if (gains.device, gains.layout) == (device, layout)}
            # A graph without a value keeps its row: Plotly draws no axes if no graph has one.
            gains_of = {graph: by_graph.get(graph) for graph in graphs[device]}
            figure.add_traces([_points(gains_of, series, legend) for series in used[title]], rows=row, cols=column)
            figure.add_vline(x=1, line={"color": OTHERS, "dash": "dot", "width": 1}, row=row, col=column)
            figure.update_xaxes(nticks=5, range=ends, row=row, col=column)
        markers.label_rows(figure, row, [escape(shorten(graph, NAME)) for graph in graphs[device]])
    for column, layout in enumerate(LAYOUTS, start=1):
        figure.update_xaxes(title_text=_upper(layout), title_standoff=4, row=len(rows), col=column)
    return figure


def table_rows(every: Sequence[Gains], what: What) -> Table:
    """Return a row per graph and layout, a column per series."""
    heads = (Head("matrix", numeric=False), Head("device", numeric=False), Head("kernels", numeric=False))
    named = [series for members in what.values() for series in members]
    rows = (
        (gains.graph, gains.device, gains.kernels, *(ratio(gains.values.get(series.name)) for series in named))
        for gains in every
    )
    columns = (series.name.partition(", ") for series in named)
    return Table((*heads, *(Head(segments, bits) for segments, _, bits in columns)), tuple(rows))


def means_text(every: Sequence[Gains], what: What) -> str:
    """Return the geometric means over the graphs by device and layout, without noisy graphs; empty without any."""
    texts = "".join(_means(every, device, layout, what) for device in _devices(every) for layout in LAYOUTS)
    return f"Geometric means over the graphs drawn:{texts}" if texts else ""


def _points(rows: Mapping[str, Gains | None], series: Series, legend: Legend) -> go.Scatter:
    """Return a point per graph; rows: its speedups, None without any."""
    points: list[markers.Mark] = [
        (gain, escape(shorten(graph, NAME)), markers.hover(graph, "", f"{series.name}: {ratio(gain)}"), *of)
        for graph, gains in rows.items()
        for gain, of in [(gains.values.get(series.name), gains.measurements) if gains else (None, ())]
    ]
    look = markers.point(series.color, series.symbol, SIZE)
    return markers.points(points, look, **legend.entry(series.name), meta={"role": "point"}, cliponaxis=False)


def _ends(every: Iterable[Gains], device: str, used: Sequence[Series]) -> tuple[float, float]:
    """Return the common ends of the axes of both layouts, which readers compare by eye."""
    names = {series.name for series in used}
    values = [
        value for gains in every if gains.device == device for name, value in gains.values.items() if name in names
    ]
    return min((1.0, *values)) - MARGIN, max((1.0, *values)) + MARGIN


def _devices(every: Iterable[Gains]) -> list[str]:
    return list(dict.fromkeys(gains.device for gains in every))


def _graphs(every: Iterable[Gains], device: str) -> list[str]:
    return list(dict.fromkeys(gains.graph for gains in every if gains.device == device))


def _upper(layout: str) -> str:
    return layout.partition("/")[0].upper()


def _means(every: Iterable[Gains], device: str, layout: str, what: What) -> str:
    values_of_graphs = [g.values for g in every if (g.device, g.layout) == (device, layout) and not g.busy]
    means = [
        f"{series.name} {ratio(geometric_mean(values))}"
        for members in what.values()
        for series in members
        if (values := [by_name[series.name] for by_name in values_of_graphs if series.name in by_name])
    ]
    graphs = f"graphs: {len(values_of_graphs)}"
    return f" {_upper(layout)} on {device} ({graphs}): {', '.join(means)}." if means else ""
