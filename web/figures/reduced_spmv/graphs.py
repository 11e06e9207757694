"""Speedups of the SpMV with fewer segments, a row per graph; Figure 4 of the CPMS PageRank paper."""

from collections.abc import Iterator, Sequence

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import gain
from gpu_engine.findings.pagerank.paper import paper_position
from gpu_engine.findings.pagerank.runs import place_of
from gpu_engine.findings.reduced_spmv.figure_four import PaperProducts
from gpu_engine.findings.reduced_spmv.groups import group_by_setting, product_groups
from gpu_engine.findings.reduced_spmv.tables import READS, called
from gpu_engine.text import units
from gpu_engine.text.tables import Table
from web.figures.base import blank, caption
from web.figures.pagerank.levels import level
from web.figures.pagerank.speedup_rows import Gains, Series, draw_rows, means_text, table_rows

NO_PRODUCT = "No SpMV with segments has a timed fp64 counterpart."
PAPER = (
    " The paper reports on a V100: about 1.5\u202f× with 32 bits of two segments, and about 2\u202f× with 16 bits of "
    f"four. With 32 bits of four it has about 30{units.THIN}% less, and with more bits below 1\u202f×."
)
WORDS = {2: "two", 4: "four"}
SPMV = tuple(
    Series(
        f"{WORDS[segments]} segments, {64 // segments * read} bit",
        segments,
        read,
        level(f"{64 // segments * read} bit").color,
    )
    for segments, read in READS
)
WHAT = {"SpMV": SPMV}


def info(data: StudyData) -> tuple[Gains, ...]:
    """Return the graphs by layout in the paper's block size, its own first, without those that have no speedup."""
    return tuple(gains for gains in _every(data) if gains.values)


def draw(info: Sequence[Gains]) -> go.Figure:
    """Return the speedup over fp64, a row per graph, CSR left and ELL right."""
    return draw_rows(info, WHAT) if info else blank(NO_PRODUCT)


def table(info: Sequence[Gains]) -> Table:
    """Return a row per graph and layout, a column per precision."""
    return table_rows(info, WHAT)


def summary(info: Sequence[Gains]) -> str:
    """Return the geometric mean of each precision over the graphs, and the values of the paper."""
    if not info:
        return NO_PRODUCT
    return caption(
        "Speedup of y = Aᵀp over fp64 in the same layout, with values and ranks in segments.",
        (PAPER,),
        (means_text(info, WHAT), "SpMV alone, in interleaved rounds. Circles: two segments; diamonds: four."),
    )


def _every(data: StudyData) -> Iterator[Gains]:
    for setting in group_by_setting(product_groups(data)):
        for group in sorted(setting.groups, key=lambda group: paper_position(data.matrix(group.matrix_id).name)):
            products = PaperProducts(group, setting.block)
            for layout in setting.layouts:
                full = products.timed(layout, 0, 0)
                timed = {series.name: products.timed(layout, series.segments, series.read) for series in SPMV}
                values = {name: speedup for name, m in timed.items() if (speedup := gain(full, m))}
                yield Gains(
                    data.matrix(group.matrix_id).name,
                    place_of(group.device, group.triangle),
                    layout,
                    f"{layout.partition('/')[0]}, {called(setting.block)}",
                    values,
                    tuple(m for m in (full, *timed.values()) if m),
                    bool(group.ranking.busy),
                )
