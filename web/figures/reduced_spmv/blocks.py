"""What the size of a block does to a product, and to what a warp touches; §IV.A of the CPMS PageRank paper."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.reduced_spmv import tables
from gpu_engine.findings.reduced_spmv.groups import Place, counting, product_groups
from gpu_engine.pagerank.products import BLOCKS, Block, Product
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Table
from web.figures import marks
from web.figures.base import blank, caption, escape
from web.figures.busy import evidence
from web.figures.pagerank.levels import Level, legend_entry, level
from web.figures.panels import Legend, panels
from web.figures.reduced_spmv.gains import SEGMENTS
from web.palette import OTHERS

PANEL_PX = 130
NO_BLOCKS = "No product was measured in blocks of several sizes."
LINES, SECTORS = "lines of 128 bytes", "sectors of 32 bytes"

ByBlock = Mapping[Block, float]
Of = Mapping[Block, Sequence[Measurement]]


@dataclass(frozen=True, slots=True)
class Series:
    """What reads so many segments of both operands.

    gains           over fp64, the mean over the graphs; measured: the products behind each
    lines, sectors  that a warp's gather of the ranks touches; none where the panel is of speed-ups
    """

    level: Level
    gains: ByBlock
    measured: Of
    lines: ByBlock
    sectors: ByBlock


@dataclass(frozen=True, slots=True)
class Panel:
    """The series of one number of segments; what: the layout of speed-ups, or empty of what a gather touches."""

    place: str
    what: str
    segments: int
    series: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class Info:
    """The panels and the numbers."""

    panels: tuple[Panel, ...]
    blocks: tuple[Block, ...]
    table: Table


def info(data: StudyData) -> Info:
    """Of every device with blocks of several sizes."""
    found = [place for place in counting(product_groups(data)) if len(place.blocks) > 1]
    blocks = tuple(block for block in BLOCKS if any(block in place.blocks for place in found))
    every = (panel for place in found for what in (*place.layouts, "") for panel in _panels(place, what))
    return Info(tuple(every), blocks, tables.touched(data) if found else Table((), ()))


def draw(info: Info) -> go.Figure:
    """A row a layout and one of what a gather touches, two segments on the left and four on the right."""
    if not info.panels:
        return blank(NO_BLOCKS)
    rows = list(dict.fromkeys((panel.place, panel.what) for panel in info.panels))
    titles = [title for row in rows for title in (escape(_title(*row)), "")]
    levels = {series.level.name for panel in info.panels for series in panel.series}
    figure = panels(titles, [PANEL_PX] * len(rows), 2 * (len(levels) + 1), columns=len(SEGMENTS))
    legend = Legend()
    order = {"categoryorder": "array", "categoryarray": list(info.blocks), "range": [-0.4, len(info.blocks) - 0.6]}
    for panel in info.panels:
        row, column = 1 + rows.index((panel.place, panel.what)), 1 + list(SEGMENTS).index(panel.segments)
        figure.add_traces(list(_lines(panel, legend)), rows=row, cols=column)
        if panel.what:
            figure.add_hline(y=1, line={"color": OTHERS, "dash": "dot", "width": 1}, row=row, col=column)
        figure.update_xaxes(type="category", **order, showticklabels=row == len(rows), row=row, col=column)
    figure.update_yaxes(rangemode="tozero")
    for column, name in enumerate(SEGMENTS.values(), start=1):
        figure.update_xaxes(title_text=name, title_standoff=4, row=len(rows), col=column)
    return figure


def table(info: Info) -> Table:
    """What a warp touches, a row a layout, operand and number of segments read, a column a block."""
    return info.table


def summary(info: Info) -> str:
    """What the lines are."""
    if not info.panels:
        return NO_BLOCKS
    return caption(
        "Products over the same in fp64, by the bytes of a block, mean over the graphs; below, what a warp's gather of "
        f"the ranks touches: {LINES} solid, {SECTORS} dotted.",
        (),
        (
            "A sector holds one segment of the same values in blocks of every size; in small blocks the segments of a "
            "value share a line.",
        ),
    )


def _panels(place: Place, what: str) -> Iterator[Panel]:
    layout = what or place.layouts[0]
    for segments in SEGMENTS:
        series = tuple(_series(place, layout, segments, read) for read in range(1, segments + 1))
        shown = tuple(own for own in series if (own.gains if what else own.lines))
        if shown:
            yield Panel(place.name, what, segments, shown)


def _series(place: Place, layout: str, segments: int, read: int) -> Series:
    def by_block(field: str) -> dict[Block, float]:
        own = {block: place.touched(layout, Product(segments, read, "both", block), field) for block in place.blocks}
        return {block: value for block, value in own.items() if value is not None}

    means = {block: place.gain(layout, Product(segments, read, "both", block)) for block in place.blocks}
    known = {block: mean for block, mean in means.items() if mean}
    gains = {block: mean.value for block, mean in known.items()}
    behind = {block: mean.measurements for block, mean in known.items()}
    bits = level(f"{64 // segments * read} bit")
    return Series(bits, gains, behind, by_block("lines_of_ranks"), by_block("sectors_of_ranks"))


def _title(place: str, what: str) -> str:
    return f"{what}: speed-up over fp64 · {place}" if what else f"touched by a gather of the ranks · {place}"


def _lines(panel: Panel, legend: Legend) -> Iterator[go.Scatter]:
    for series in panel.series:
        if panel.what:
            line = _line(series.level, series.gains, units.ratio, f", {panel.what}", legend)
            yield line.update(evidence(series.measured[block] for block in series.gains))
            continue
        yield _line(series.level, series.lines, units.number, f", {LINES}", legend)
        yield _line(series.level, series.sectors, units.number, f", {SECTORS}", legend, "dot")


def _line(
    of: Level, values: ByBlock, text: Callable[[float | None], str], what: str, legend: Legend, dash: str = "solid"
) -> go.Scatter:
    return go.Scatter(
        x=list(values),
        y=list(values.values()),
        hovertext=[marks.hover(of.name, f"{what}: {text(value)}") for value in values.values()],
        hoverinfo="text",
        mode="lines+markers",
        line={"color": of.color, "width": 2, "dash": dash},
        marker=marks.point(of.color, of.symbol, 8),
        meta={"role": "profile"},
        **legend_entry(of, legend),
    )
