"""Distribution of in-links per page in the multiplied matrix; Figure 3 of the CPMS PageRank paper."""

from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.runs import RunGroup
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import count, percent
from web.figures import markers
from web.figures.base import blank, caption
from web.figures.markers import hover
from web.figures.pagerank.facets import Panels, bar_panels, in_paper_order, panel_of
from web.palette import OKABE_ITO

NO_LINKS = "No run recorded the number of links per page. Measure the matrix again."


@dataclass(frozen=True, slots=True)
class Row:
    """Pages with a number of in-links; share: of all pages."""

    links: str
    pages: int
    share: float


def info(data: StudyData) -> Panels[Row]:
    """Return the rows of Aᵀ of each transition matrix, for the triangle and self-loops of the run."""
    rows_by_group = ((group, _rows(group)) for group in in_paper_order(data))
    return Panels(tuple(panel_of(group, data, rows) for group, rows in rows_by_group if rows))


def draw(info: Panels[Row]) -> go.Figure:
    """Return the share of the pages by in-links, in bins that double."""
    if not info.panels:
        return blank(NO_LINKS)
    panels = info.visible
    figure = bar_panels(panels, [[row.links for row in panel.rows] for panel in panels], 0, "overlay", "% of pages")
    for number, panel in enumerate(panels, start=1):
        bars = [(100 * row.share, row.links, _hover(row)) for row in panel.rows]
        fill = markers.fill(OKABE_ITO[0], "")
        figure.add_trace(markers.bars(bars, fill, name="pages", showlegend=False), row=number, col=1)
    return figure.update_xaxes(rangemode="tozero")


def table(info: Panels[Row]) -> Table:
    """Return per graph and bin the pages and their share."""
    names = tuple(Head(name, numeric=False) for name in ("matrix", "device", "in-links"))
    every = ((panel.place, row) for panel in info.panels for row in panel.rows)
    rows = ((*place, row.links, count(row.pages), percent(row.share)) for place, row in every)
    return Table((*names, Head("pages"), Head("share")), tuple(rows))


def summary(info: Panels[Row]) -> str:
    """Return what is counted."""
    if not info.panels:
        return NO_LINKS
    return caption(
        f"Number of pages by in-links. ELL pads all rows to the longest one.{info.omission}",
        (),
        (
            "In-links are the row lengths of the matrix that an iteration multiplies: the transpose of the stored "
            "matrix, or of its strict lower triangle.",
        ),
    )


def _rows(group: RunGroup) -> tuple[Row, ...]:
    counts = next(
        (run.measurement.details.link_counts for run in group.runs if run.measurement.details.link_counts), ()
    )
    total = sum(counts)
    return tuple(Row(_bin(number), pages, pages / total) for number, pages in enumerate(counts))


def _bin(number: int) -> str:
    """Return the links of a bin: 0, 1, 2–3, 4–7 …"""
    low, high = (0, 0) if number == 0 else (2 ** (number - 1), 2**number - 1)
    return f"{low}" if low == high else f"{low}–{high}"


def _hover(row: Row) -> str:
    return hover(f"{row.links} links", "", f"{count(row.pages)} pages, {percent(row.share)}")
