"""Time of the paper's kernels by precision, over that in fp64; Figure 5 of the CPMS PageRank paper."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.paper import paper_position
from gpu_engine.findings.pagerank.realizations import LAYOUTS, GraphRuns, Realizations, graph_name, graph_runs
from gpu_engine.findings.pagerank.runs import Run, speed_up
from gpu_engine.findings.pagerank.shares import CHANGE as CHANGE_KEY
from gpu_engine.findings.pagerank.shares import precision_shares
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, percent, seconds
from web.figures import markers
from web.figures.base import blank, caption, escape, shorten
from web.figures.markers import Mark, hover
from web.figures.pagerank.facets import axis_end, mark_fp64
from web.figures.pagerank.levels import CHANGE, LEVELS, Level, level, level_bars
from web.figures.panels import DOT, Legend

ROW_PX, FONT, NAME = 14, 10, 18
"""Height of a bar and size of its label in pixels, and the letters of a graph in a label."""

GRAPHS_MAX = 12
"""Maximum number of graphs of a panel, the first ones; the table has all."""

PARTS = (*(entry for entry in LEVELS if entry.name.endswith(" bit")), CHANGE)
STORED = ("fp64", "two segments", "four segments")
NO_RUN = "No run of the unfused kernels of the paper has phase timings. Only GPUs have these kernels."


@dataclass(frozen=True, slots=True)
class Bar:
    """A run; parts: its time over that of fp64 by precision and CHANGE, total: their sum.

    short  abbreviation of the graph in the paper, or its name
    """

    graph: str
    short: str
    stored: str
    measurement: Measurement
    parts: Mapping[Level, float]
    total: float

    @property
    def label(self) -> str:
        """Return `Ada, fp64`."""
        return f"{shorten(self.short, NAME)}, {self.stored.removesuffix(' segments')}"


@dataclass(frozen=True, slots=True)
class Panel:
    """The runs of all graphs in one layout on one device, three bars per graph; place: the device with the triangle."""

    layout: str
    place: str
    bars: tuple[Bar, ...]


def info(data: StudyData) -> tuple[Panel, ...]:
    """Return a panel per place and layout: CSR above ELL, the graphs of the paper first, in its order."""
    graphs = sorted(graph_runs(data), key=lambda graph: paper_position(data.matrix(graph.group.matrix_id).name))
    places = dict.fromkeys(graph.group.place for graph in graphs)
    panels = (
        Panel(
            layout.partition("/")[0].upper(),
            place,
            tuple(
                bar
                for graph in graphs
                if graph.group.place == place
                for bar in _bars(graph, graph.unfused[layout], data)
            ),
        )
        for place in places
        for layout in LAYOUTS
    )
    return tuple(panel for panel in panels if panel.bars)


def draw(info: Sequence[Panel]) -> go.Figure:
    """Return three bars per graph, stacked by precision and normalized to fp64; all panels have the same axis."""
    if not info:
        return blank(NO_RUN)
    visible = [_visible(panel) for panel in info]
    used = [part for part in PARTS if any(part in bar.parts for bars in visible for bar in bars)]
    titles = [escape(f"{panel.layout}{DOT}{panel.place}") for panel in info]
    labels = [[escape(bar.label) for bar in bars] for bars in visible]
    figure = markers.bar_panels(titles, labels, len(used), "stack", ROW_PX, across=1, tickfont_size=FONT)
    legend, end = Legend(), axis_end((bar.total, True) for bars in visible for bar in bars)
    for number, bars in enumerate(visible, start=1):
        for part in used:
            if marks := [_mark(bar, part) for bar in bars if part in bar.parts]:
                figure.add_trace(level_bars(part, marks, legend), row=number, col=1)
        figure.update_xaxes(range=[0, end], row=number, col=1)
        mark_fp64(figure, {"row": number, "col": 1})
    return figure.update_xaxes(title_text="time, fp64 = 1", title_standoff=4, row=len(visible))


def table(info: Sequence[Panel]) -> Table:
    """Return a row per run: its time, its time over that in fp64, and the shares by precision."""
    names = tuple(Head(name, numeric=False) for name in ("matrix", "device", "layout", "run"))
    heads = (*names, Head("time"), Head("time", "% of fp64"), *(Head(part.name) for part in PARTS))
    rows = []
    for panel in info:
        for bar in panel.bars:
            shares = (percent(bar.parts[part] / bar.total) if part in bar.parts else MISSING for part in PARTS)
            cells = (bar.graph, panel.place, panel.layout, bar.stored, seconds(bar.measurement.median_s))
            rows.append((*cells, percent(bar.total), *shares))
    return Table(heads, tuple(rows))


def summary(info: Sequence[Panel]) -> str:
    """Return what the bars are, and the range of the share of the changes of precision."""
    if not info:
        return NO_RUN
    bars = [bar for panel in info for bar in panel.bars]
    changes = [bar.parts[CHANGE] / bar.total for bar in bars if CHANGE in bar.parts]
    most = max(len({bar.graph for bar in panel.bars}) for panel in info)
    omission = markers.omission(min(most, GRAPHS_MAX), most, " graphs")
    range_ = (
        f"Changes of precision take {percent(min(changes))} to {percent(max(changes))} of a run." if changes else ""
    )
    return caption(
        f"Time to convergence over that in fp64, by precision, with the unfused kernels of the paper.{omission}",
        (range_,),
        (
            "Bars per graph: fp64, two segments, four segments. Abbreviations: Table I of the paper.",
            "A change of precision scales the ranks, and finally converts segments to fp64.",
            "The phases were timed separately; the bars scale them to the median of complete runs.",
        ),
    )


def _bars(graph: GraphRuns, runs: Realizations, data: StudyData) -> Iterator[Bar]:
    """Yield the bars of a graph in one layout; none without phases of fp64."""
    named = dict(zip(STORED, (runs.full, runs.two, runs.four), strict=True))
    if runs.full is None or not precision_shares(runs.full):
        return
    name = graph_name(graph.group, data)
    for stored, run in named.items():
        parts = _parts(runs.full, run) if run else {}
        if run and parts:
            short = graph.paper.short if graph.paper else name
            yield Bar(name, short, stored, run.measurement, parts, sum(parts.values()))


def _parts(full: Run, run: Run) -> dict[Level, float]:
    speedup = speed_up(full, run)
    if speedup is None:
        return {}
    return {
        CHANGE if bits == CHANGE_KEY else level(f"{bits} bit"): share / speedup
        for bits, share in precision_shares(run).items()
        if share > 0
    }


def _visible(panel: Panel) -> list[Bar]:
    graphs = list(dict.fromkeys(bar.graph for bar in panel.bars))[:GRAPHS_MAX]
    return [bar for bar in panel.bars if bar.graph in graphs]


def _mark(bar: Bar, part: Level) -> Mark:
    text = f"{part.name}: {percent(bar.parts[part])} of the time in fp64"
    return bar.parts[part], escape(bar.label), hover(f"{bar.graph}, {bar.stored}", "", text), bar.measurement
