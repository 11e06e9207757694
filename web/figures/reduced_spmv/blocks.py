"""Effect of the block size on the SpMV, and on the cache lines that a warp reads; §IV.A of the CPMS PageRank paper."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.reduced_spmv import tables
from gpu_engine.findings.reduced_spmv.groups import Setting, counting, product_groups
from gpu_engine.pagerank.products import BLOCKS, Block, Product
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Table
from web.figures import markers
from web.figures.base import blank, caption, escape
from web.figures.busy import evidence
from web.figures.pagerank.levels import Level, legend_entry, level
from web.figures.panels import Legend, panels
from web.figures.reduced_spmv.gains import SEGMENTS
from web.palette import OTHERS

PANEL_PX = 130
NO_BLOCKS = "No SpMV was measured with several block sizes."
LINES, SECTORS = "lines of 128 bytes", "sectors of 32 bytes"

ByBlock = Mapping[Block, float]
Of = Mapping[Block, Sequence[Measurement]]


@dataclass(frozen=True, slots=True)
class Series:
    """SpMVs that read a number of segments of both operands.

    gains           speedup over fp64, mean over the graphs; measured: the measurements behind each
    lines, sectors  read by the gather of the ranks of a warp; empty if the panel shows speedups
    """

    level: Level
    gains: ByBlock
    measured: Of
    lines: ByBlock
    sectors: ByBlock


@dataclass(frozen=True, slots=True)
class Panel:
    """The series of one number of segments; what: the layout of speedups, or empty for the lines of a gather."""

    setting: str
    what: str
    segments: int
    series: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class Info:
    """The panels, the block sizes, and the table."""

    panels: tuple[Panel, ...]
    blocks: tuple[Block, ...]
    table: Table


def info(data: StudyData) -> Info:
    """Return the devices with several block sizes."""
    settings = [setting for setting in counting(product_groups(data)) if len(setting.blocks) > 1]
    blocks = tuple(block for block in BLOCKS if any(block in setting.blocks for setting in settings))
    panels = (panel for setting in settings for what in (*setting.layouts, "") for panel in _panels(setting, what))
    return Info(tuple(panels), blocks, tables.touched(data) if settings else Table((), ()))


def draw(info: Info) -> go.Figure:
    """Return a row per layout and one for the gather, two segments on the left and four on the right."""
    if not info.panels:
        return blank(NO_BLOCKS)
    rows = list(dict.fromkeys((panel.setting, panel.what) for panel in info.panels))
    titles = [title for row in rows for title in (escape(_title(*row)), "")]
    levels = {series.level.name for panel in info.panels for series in panel.series}
    figure = panels(titles, [PANEL_PX] * len(rows), 2 * (len(levels) + 1), columns=len(SEGMENTS))
    legend = Legend()
    order = {"categoryorder": "array", "categoryarray": list(info.blocks), "range": [-0.4, len(info.blocks) - 0.6]}
    for panel in info.panels:
        row, column = 1 + rows.index((panel.setting, panel.what)), 1 + list(SEGMENTS).index(panel.segments)
        figure.add_traces(list(_lines(panel, legend)), rows=row, cols=column)
        if panel.what:
            figure.add_hline(y=1, line={"color": OTHERS, "dash": "dot", "width": 1}, row=row, col=column)
        figure.update_xaxes(type="category", **order, showticklabels=row == len(rows), row=row, col=column)
    figure.update_yaxes(rangemode="tozero")
    for column, name in enumerate(SEGMENTS.values(), start=1):
        figure.update_xaxes(title_text=name, title_standoff=4, row=len(rows), col=column)
    return figure


def table(info: Info) -> Table:
    """Return the lines that a warp reads, a row per layout, operand, and number of segments, a column per block."""
    return info.table


def summary(info: Info) -> str:
    """Return what the lines are."""
    if not info.panels:
        return NO_BLOCKS
    return caption(
        "Speedup of the SpMV over fp64 by block size, mean over the graphs. Below: reads per gather of the ranks of a "
        f"warp, {LINES} solid, {SECTORS} dotted.",
        (),
        (
            "A sector holds one segment of the same values for every block size. In small blocks, the segments of a "
            "value share a line.",
        ),
    )


def _panels(setting: Setting, what: str) -> Iterator[Panel]:
    layout = what or setting.layouts[0]
    for segments in SEGMENTS:
        series = tuple(_series(setting, layout, segments, read) for read in range(1, segments + 1))
        visible_series = tuple(each for each in series if (each.gains if what else each.lines))
        if visible_series:
            yield Panel(setting.name, what, segments, visible_series)


def _series(setting: Setting, layout: str, segments: int, read: int) -> Series:
    def by_block(field: str) -> dict[Block, float]:
        values = {
            block: setting.touched(layout, Product(segments, read, "both", block), field) for block in setting.blocks
        }
        return {block: value for block, value in values.items() if value is not None}

    means = {block: setting.gain(layout, Product(segments, read, "both", block)) for block in setting.blocks}
    known = {block: mean for block, mean in means.items() if mean}
    gains = {block: mean.value for block, mean in known.items()}
    behind = {block: mean.measurements for block, mean in known.items()}
    bits = level(f"{64 // segments * read} bit")
    return Series(bits, gains, behind, by_block("lines_of_ranks"), by_block("sectors_of_ranks"))


def _title(setting: str, what: str) -> str:
    return f"{what}: speedup over fp64 · {setting}" if what else f"reads per gather of the ranks · {setting}"


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
        hovertext=[markers.hover(of.name, f"{what}: {text(value)}") for value in values.values()],
        hoverinfo="text",
        mode="lines+markers",
        line={"color": of.color, "width": 2, "dash": dash},
        marker=markers.point(of.color, of.symbol, 8),
        meta={"role": "profile"},
        **legend_entry(of, legend),
    )
