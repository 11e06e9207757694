"""Speedup of the SpMV with fewer segments; Figure 4 of the CPMS PageRank paper."""

from collections.abc import Iterator
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.reduced_spmv import tables
from gpu_engine.findings.reduced_spmv.figure_four import PRINTED_SPEEDUPS
from gpu_engine.findings.reduced_spmv.groups import Mean, counting, product_groups
from gpu_engine.pagerank.products import LAYOUTS, OPERANDS, Operands, Product
from gpu_engine.text import units
from gpu_engine.text.tables import Table
from web.figures import markers
from web.figures.base import blank, caption, escape
from web.figures.busy import evidence
from web.figures.panels import Legend, panels
from web.palette import OKABE_ITO, OTHERS

PANEL_PX, MARGIN = 170, 0.08
NO_PRODUCT = "No SpMV with segments has a timed fp64 counterpart."
LOOKS: dict[Operands, tuple[str, str, str]] = {
    "both": ("values and ranks", OKABE_ITO[0], "circle"),
    "A": ("values only", OKABE_ITO[1], "square"),
    "p": ("ranks only", OKABE_ITO[2], "diamond"),
}
PAPER = "the paper, V100"
SEGMENTS = {2: "two segments", 4: "four segments"}


@dataclass(frozen=True, slots=True)
class Panel:
    """SpMVs with a number of segments in one layout; gains: by what is in segments, then by segments read."""

    setting: str
    segments: int
    layout: str
    block: str
    gains: dict[Operands, dict[int, Mean]]


@dataclass(frozen=True, slots=True)
class Info:
    """The panels, and the table of all block sizes."""

    panels: tuple[Panel, ...]
    table: Table


def info(data: StudyData) -> Info:
    """Return the block size of the paper on every device, or the first that was measured."""
    return Info(tuple(_panels(data)), tables.gains(data))


def draw(info: Info) -> go.Figure:
    """Return the speedup over fp64 by segments read, two segments above four, CSR on the left, ELL on the right."""
    if not info.panels:
        return blank(NO_PRODUCT)
    rows = list(dict.fromkeys((panel.setting, panel.segments) for panel in info.panels))
    layouts: list[str] = [layout for layout in LAYOUTS if any(panel.layout == layout for panel in info.panels)]
    # A title stands above the first of the panels side by side.
    titles = [
        title for setting, n in rows for title in (escape(f"{SEGMENTS[n]} · {setting}"), *[""] * (len(layouts) - 1))
    ]
    figure = panels(titles, [PANEL_PX] * len(rows), 2 * (len(LOOKS) + 1), columns=len(layouts))
    legend, ends = Legend(), _ends(info)
    for panel in info.panels:
        row, column = 1 + rows.index((panel.setting, panel.segments)), 1 + layouts.index(panel.layout)
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
    """Return a row per layout and segments read, a column per block size."""
    return info.table


def summary(info: Info) -> str:
    """Return what the lines are, and the values of the paper."""
    if not info.panels:
        return NO_PRODUCT
    graphs = max(mean.graphs for panel in info.panels for by_read in panel.gains.values() for mean in by_read.values())
    over = f"geometric mean over {graphs} graphs" if graphs > 1 else "one graph"
    blocks = " and ".join(dict.fromkeys(panel.block for panel in info.panels))
    return caption(
        f"Speedup of y = Aᵀp over fp64 ({over}), by the segments read of values, ranks, or both.",
        ("Crosses: means that the paper gives for Figure 4, on a V100.",),
        (
            "The paper gives about 1.5\u202f× for 32 bits of two segments and about 2\u202f× for 16 bits of four. "
            f"For 32 bits of four, it gives about 30{units.THIN}% less than the first; more bits are slower than fp64.",
            f"The other operand is in fp64. Block size: {blocks}.",
        ),
    )


def _panels(data: StudyData) -> Iterator[Panel]:
    for setting in counting(product_groups(data)):
        for segments in SEGMENTS:
            for layout in setting.layouts:
                gains = {
                    operands: {
                        read: mean
                        for read in range(1, segments + 1)
                        if (mean := setting.gain(layout, Product(segments, read, operands, setting.block)))
                    }
                    for operands in OPERANDS
                }
                if any(gains.values()):
                    yield Panel(setting.name, segments, layout, tables.called(setting.block), gains)


def _lines(panel: Panel, legend: Legend) -> Iterator[go.Scatter]:
    for operands, (name, color, symbol) in LOOKS.items():
        means = panel.gains[operands]
        yield go.Scatter(
            x=list(means),
            y=[mean.value for mean in means.values()],
            hovertext=[_hover(panel, name, read, mean) for read, mean in means.items()],
            hoverinfo="text",
            mode="lines+markers",
            line={"color": color, "width": 2},
            marker=markers.point(color, symbol, 9),
            meta={"role": "profile"},
            **legend.entry(name),
            **evidence(mean.measurements for mean in means.values()),
        )
    printed = {read: value for (segments, read), value in PRINTED_SPEEDUPS.items() if segments == panel.segments}
    crosses = [(read, value, f"{PAPER}: about {units.ratio(value)}") for read, value in printed.items()]
    yield markers.points(crosses, markers.point(OTHERS, "x", 9), **legend.entry(PAPER), meta={"role": "point"})


def _hover(panel: Panel, name: str, read: int, mean: Mean) -> str:
    range_ = f"{units.ratio(mean.low)} to {units.ratio(mean.high)} over {mean.graphs} graphs" if mean.graphs > 1 else ""
    where = f", {panel.layout}, {read} of {panel.segments}: speedup {units.ratio(mean.value)}"
    return markers.hover(name, where, *filter(None, [range_]))


def _ends(info: Info) -> tuple[float, float]:
    """Return the common ends of the axes of all panels, which readers compare by eye."""
    means = [mean.value for panel in info.panels for by_read in panel.gains.values() for mean in by_read.values()]
    return min((1.0, *means)) - MARGIN, max((*PRINTED_SPEEDUPS.values(), *means)) + MARGIN
