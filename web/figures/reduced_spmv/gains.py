"""What a product gains by reading fewer segments; Figure 4 of the CPMS PageRank paper."""

from collections.abc import Iterator
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.figure_four import PRINTED
from gpu_engine.findings.reduced_spmv import tables
from gpu_engine.findings.reduced_spmv.groups import Mean, counting, product_groups
from gpu_engine.pagerank.products import LAYOUTS, OPERANDS, Operands, Product
from gpu_engine.text import units
from gpu_engine.text.tables import Table
from web.figures import marks
from web.figures.base import blank, caption, escape
from web.figures.busy import evidence
from web.figures.panels import Legend, panels
from web.palette import OKABE_ITO, OTHERS

PANEL_PX, MARGIN = 170, 0.08
NO_PRODUCT = "No product in segments has a time beside the same in fp64."
LOOKS: dict[Operands, tuple[str, str, str]] = {
    "both": ("values and ranks", OKABE_ITO[0], "circle"),
    "A": ("values alone", OKABE_ITO[1], "square"),
    "p": ("ranks alone", OKABE_ITO[2], "diamond"),
}
PAPER = "the paper, V100"
SEGMENTS = {2: "two segments", 4: "four segments"}


@dataclass(frozen=True, slots=True)
class Panel:
    """Products of so many segments in one layout; gains: by what is in segments, then by how many are read."""

    place: str
    segments: int
    layout: str
    block: str
    gains: dict[Operands, dict[int, Mean]]


@dataclass(frozen=True, slots=True)
class Info:
    """The panels, and the numbers of all blocks."""

    panels: tuple[Panel, ...]
    table: Table


def info(data: StudyData) -> Info:
    """Of every device the paper's block, or the first that was measured."""
    return Info(tuple(_panels(data)), tables.gains(data))


def draw(info: Info) -> go.Figure:
    """Speed-up over fp64 by the segments read, two segments above four; CSR on the left, ELL on the right."""
    if not info.panels:
        return blank(NO_PRODUCT)
    rows = list(dict.fromkeys((panel.place, panel.segments) for panel in info.panels))
    layouts: list[str] = [layout for layout in LAYOUTS if any(panel.layout == layout for panel in info.panels)]
    # A title stands over the first of the panels side by side.
    titles = [title for place, n in rows for title in (escape(f"{SEGMENTS[n]} · {place}"), *[""] * (len(layouts) - 1))]
    figure = panels(titles, [PANEL_PX] * len(rows), 2 * (len(LOOKS) + 1), columns=len(layouts))
    legend, ends = Legend(), _ends(info)
    for panel in info.panels:
        row, column = 1 + rows.index((panel.place, panel.segments)), 1 + layouts.index(panel.layout)
        figure.add_traces(list(_lines(panel, legend)), rows=row, cols=column)
        figure.add_hline(y=1, line={"color": OTHERS, "dash": "dot", "width": 1}, row=row, col=column)
        ticks = list(range(1, panel.segments + 1))
        texts = [f"{read} of {panel.segments}" for read in ticks]
        span = [0.7, panel.segments + 0.3]
        figure.update_xaxes(tickvals=ticks, ticktext=texts, range=span, row=row, col=column)
        figure.update_yaxes(range=ends, row=row, col=column)
    for column, layout in enumerate(layouts, start=1):
        axis = f"segments read, {layout.partition('/')[0].upper()}"
        figure.update_xaxes(title_text=axis, title_standoff=4, row=len(rows), col=column)
    return figure


def table(info: Info) -> Table:
    """A row a layout and what is read, a column a block."""
    return info.table


def summary(info: Info) -> str:
    """What the lines are, and what the paper has."""
    if not info.panels:
        return NO_PRODUCT
    graphs = max(mean.graphs for panel in info.panels for own in panel.gains.values() for mean in own.values())
    over = f"in the geometric mean over {graphs} graphs" if graphs > 1 else "of one graph"
    blocks = " and ".join(dict.fromkeys(panel.block for panel in info.panels))
    return caption(
        f"Products y = Aᵀp over the same in fp64, {over}, by how many segments of values, ranks or both are read.",
        ("The crosses are what the paper says of Figure 4, on a V100, in the mean.",),
        (
            "That is about 1.5 on 32 bits of two segments, about 2 on 16 of four, about 30 % less than the first on 32 "
            "of four; slower than fp64 on more.",
            f"What is not read in segments is in fp64; segments in blocks: {blocks}.",
        ),
    )


def _panels(data: StudyData) -> Iterator[Panel]:
    for place in counting(product_groups(data)):
        for segments in SEGMENTS:
            for layout in place.layouts:
                gains = {
                    operands: {
                        read: mean
                        for read in range(1, segments + 1)
                        if (mean := place.gain(layout, Product(segments, read, operands, place.block)))
                    }
                    for operands in OPERANDS
                }
                if any(gains.values()):
                    yield Panel(place.name, segments, layout, tables.called(place.block), gains)


def _lines(panel: Panel, legend: Legend) -> Iterator[go.Scatter]:
    for operands, (name, color, symbol) in LOOKS.items():
        own = panel.gains[operands]
        yield go.Scatter(
            x=list(own),
            y=[mean.value for mean in own.values()],
            hovertext=[_hover(panel, name, read, mean) for read, mean in own.items()],
            hoverinfo="text",
            mode="lines+markers",
            line={"color": color, "width": 2},
            marker=marks.point(color, symbol, 9),
            meta={"role": "profile"},
            **legend.entry(name),
            **evidence(mean.measurements for mean in own.values()),
        )
    printed = {read: value for (segments, read), value in PRINTED.items() if segments == panel.segments}
    crosses = [(read, value, f"{PAPER}: about {units.ratio(value)}") for read, value in printed.items()]
    yield marks.points(crosses, marks.point(OTHERS, "x", 9), **legend.entry(PAPER), meta={"role": "point"})


def _hover(panel: Panel, name: str, read: int, mean: Mean) -> str:
    range_ = f"{units.ratio(mean.low)} to {units.ratio(mean.high)} over {mean.graphs} graphs" if mean.graphs > 1 else ""
    where = f", {panel.layout}, {read} of {panel.segments}: {units.ratio(mean.value)}"
    return marks.hover(name, where, *filter(None, [range_]))


def _ends(info: Info) -> tuple[float, float]:
    """Of the axes of all panels: what stands side by side is compared by eye."""
    means = [mean.value for panel in info.panels for own in panel.gains.values() for mean in own.values()]
    return min((1.0, *means)) - MARGIN, max((*PRINTED.values(), *means)) + MARGIN
