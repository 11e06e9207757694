"""Speedups of all graphs in the two layouts of the paper; Figures 4 and 6 of the CPMS PageRank paper."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank import ranking_of
from gpu_engine.findings.pagerank.conclusions import LAYOUTS, Realizations, realizations
from gpu_engine.findings.pagerank.pulls import pull_gains
from gpu_engine.findings.pagerank.runs import Run, speed_up
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import ratio
from web.figures import markers
from web.figures.base import blank, caption, escape, shorten
from web.figures.pagerank.levels import level
from web.figures.panels import Legend, panels
from web.palette import OKABE_ITO, OTHERS

ROW_PX, ROWS_MIN, SIZE, MARGIN = 24, 4, 10, 0.06
NO_GRAPH = "No graph has verified runs in the layouts of the paper, both in fp64 and in segments."
PAPER = (
    " The paper reports on a V100: 1.5× with 32 bits of two segments, 2× with 16 bits of four, and 1.1× to 1.3× for "
    "complete runs with two segments."
)


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


PRODUCTS = tuple(
    Series(f"{word} segments, {64 // segments * read} bit", segments, read, level(f"{64 // segments * read} bit").color)
    for word, segments, read in (("two", 2, 1), ("four", 4, 1), ("four", 4, 2), ("four", 4, 3))
)
RUNS = (
    Series("two segments, complete run", 2, 0, OKABE_ITO[0]),
    Series("four segments, complete run", 4, 0, OKABE_ITO[5]),
)
WHAT = {"SpMV": PRODUCTS, "complete runs": RUNS}


@dataclass(frozen=True, slots=True)
class Gains:
    """Speedups of a graph over fp64 in one layout, by the name of the series; kernels: `csr, unfused`.

    measurements  of these runs; busy: whether they are too noisy, so that no mean includes them
    """

    graph: str
    device: str
    layout: str
    kernels: str
    values: dict[str, float]
    measurements: tuple[Measurement, ...]
    busy: bool


def info(data: StudyData) -> tuple[Gains, ...]:
    """Return the graphs by layout, without those that have no speedup."""
    every = (
        Gains(
            runs.graph(data),
            runs.group.place,
            runs.layout,
            runs.kernels,
            dict(_gains(runs)),
            tuple(run.measurement for run in (runs.full, runs.two, runs.four) if run),
            bool(ranking_of(runs.group, data).busy),
        )
        for runs in realizations(data)
    )
    return tuple(gains for gains in every if gains.values)


def draw(info: Sequence[Gains]) -> go.Figure:
    """Return the speedup over fp64, a row per graph: SpMV above, complete runs below; CSR left, ELL right."""
    if not info:
        return blank(NO_GRAPH)
    rows = [(device, what) for device in _devices(info) for what in WHAT]
    graphs = {device: _graphs(info, device) for device, _ in rows}
    titles = [title for device, what in rows for title in (f"{what}, speedup over fp64 · {device}", "")]
    # A narrow screen has one legend entry per line, and takes their height from the panels.
    heights = [max(ROWS_MIN, len(graphs[device])) * ROW_PX for device, _ in rows]
    entries = 3 * (len(PRODUCTS) + len(RUNS))
    figure, legend = panels(titles, heights, entries, columns=len(LAYOUTS)), Legend()
    for row, (device, what) in enumerate(rows, start=1):
        ends = _ends(info, device, what)
        for column, layout in enumerate(LAYOUTS, start=1):
            gains_by_graph = {gains.graph: gains for gains in info if (gains.device, gains.layout) == (device, layout)}
            # A graph without a value keeps its row: Plotly draws no axes if no graph has one.
            rows_of = {graph: gains_by_graph.get(graph) for graph in graphs[device]}
            figure.add_traces([_points(rows_of, series, legend) for series in WHAT[what]], rows=row, cols=column)
            figure.add_vline(x=1, line={"color": OTHERS, "dash": "dot", "width": 1}, row=row, col=column)
            figure.update_xaxes(nticks=5, range=ends, row=row, col=column)
        markers.label_rows(figure, row, [escape(shorten(graph, 24)) for graph in graphs[device]])
    for column, layout in enumerate(LAYOUTS, start=1):
        figure.update_xaxes(title_text=_called(layout), title_standoff=4, row=len(rows), col=column)
    return figure


def table(info: Sequence[Gains]) -> Table:
    """Return a row per graph and layout, a column per series."""
    heads = (Head("matrix", numeric=False), Head("device", numeric=False), Head("kernels", numeric=False))
    named = [series for every in WHAT.values() for series in every]
    rows = (
        (gains.graph, gains.device, gains.kernels, *(ratio(gains.values.get(series.name)) for series in named))
        for gains in info
    )
    columns = (series.name.partition(", ") for series in named)
    return Table((*heads, *(Head(segments, what) for segments, _, what in columns)), tuple(rows))


def summary(info: Sequence[Gains]) -> str:
    """Return the geometric mean of each series over the graphs, and those of the paper."""
    if not info:
        return NO_GRAPH
    means = "".join(_means(info, device, layout) for device in _devices(info) for layout in LAYOUTS)
    return caption(
        "Speedup over the same kernel in fp64: the SpMV of an iteration with fewer bits, and complete runs.",
        (PAPER,),
        (
            f"Geometric means over the graphs:{means}" if means else "",
            "Precision schedule of the paper, fp64 at the end; the unfused kernels of the paper if they were measured.",
        ),
    )


def _gains(runs: Realizations) -> Iterator[tuple[str, float]]:
    runs_by_segments: dict[int, Run | None] = {2: runs.two, 4: runs.four}
    products = {segments: pull_gains(runs.full, run) for segments, run in runs_by_segments.items()}
    for series in PRODUCTS:
        if pull := products[series.segments].get(series.read):
            yield series.name, pull.gain
    for series in RUNS:
        if gain := speed_up(runs.full, runs_by_segments[series.segments]):
            yield series.name, gain


def _points(rows: Mapping[str, Gains | None], series: Series, legend: Legend) -> go.Scatter:
    """Return a point per graph; rows: its speedups, None without any."""
    points: list[markers.Mark] = [
        (gain, escape(shorten(graph, 24)), markers.hover(graph, "", f"{series.name}: {ratio(gain)}"), *of)
        for graph, gains in rows.items()
        for gain, of in [(gains.values.get(series.name), gains.measurements) if gains else (None, ())]
    ]
    look = markers.point(series.color, series.symbol, SIZE)
    return markers.points(points, look, **legend.entry(series.name), meta={"role": "point"}, cliponaxis=False)


def _ends(info: Iterable[Gains], device: str, what: str) -> tuple[float, float]:
    """Return the common ends of the axes of both layouts, which readers compare by eye."""
    names = {series.name for series in WHAT[what]}
    values = [
        value for gains in info if gains.device == device for name, value in gains.values.items() if name in names
    ]
    return min((1.0, *values)) - MARGIN, max((1.0, *values)) + MARGIN


def _devices(info: Iterable[Gains]) -> list[str]:
    return list(dict.fromkeys(gains.device for gains in info))


def _graphs(info: Iterable[Gains], device: str) -> list[str]:
    return list(dict.fromkeys(gains.graph for gains in info if gains.device == device))


def _called(layout: str) -> str:
    return layout.partition("/")[0].upper()


def _means(info: Iterable[Gains], device: str, layout: str) -> str:
    quiet = [gains for gains in info if not gains.busy]
    values_of_graphs = [gains.values for gains in quiet if (gains.device, gains.layout) == (device, layout)]
    means = [
        f"{series.name} {ratio(geometric_mean(values_of_series))}"
        for every in WHAT.values()
        for series in every
        if (values_of_series := [values[series.name] for values in values_of_graphs if series.name in values])
    ]
    return f" {_called(layout)} on {device}: {', '.join(means)}." if means else ""
