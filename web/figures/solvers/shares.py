"""Share of the SpMVs in a solve: a row per method, preconditioner, and kernel."""

from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import share_text
from gpu_engine.findings.solvers.groups import Solve, SolveGroup
from gpu_engine.findings.solvers.tables import break_even_text
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import percent, seconds
from web.figures import markers
from web.figures.base import blank, caption, escape
from web.figures.panels import Legend
from web.figures.solvers.problems import Panels, headings, panels_of, way
from web.palette import style

ROW_PX = 22
KERNELS_MAX = 3
"""Maximum number of kernels that are drawn per method, the fastest ones; the table has all."""

NO_SHARE = "No solve has a time of its SpMV."
END = 1.05


@dataclass(frozen=True, slots=True)
class Row:
    """A solve with a share; rank: its position among the kernels of its method."""

    way: str
    group: SolveGroup
    solve: Solve
    share: float
    rank: int

    @property
    def label(self) -> str:
        """Method, preconditioner, and kernel."""
        return f"{self.way}: {self.solve.label}"


def info(data: StudyData) -> Panels[Row]:
    """Return the solves with a share of every problem."""
    return panels_of(data, _rows)


def _rows(group: SolveGroup) -> list[Row]:
    known = [(solve, share) for solve in group.built_in if (share := solve.spmv_share) is not None]
    return [Row(way(group), group, solve, share, rank) for rank, (solve, share) in enumerate(known)]


def draw(info: Panels[Row]) -> go.Figure:
    """Return the shares as bars, a panel per problem, the fastest kernels of each method."""
    if not info.panels:
        return blank(NO_SHARE)
    visible = info.visible
    visible_rows = [[row for row in panel.rows if row.rank < KERNELS_MAX] for panel in visible]
    labels = [[escape(row.label) for row in rows] for rows in visible_rows]
    formats = list(dict.fromkeys(row.solve.measurement.format for rows in visible_rows for row in rows))
    figure = markers.bar_panels(headings(visible), labels, len(formats), "overlay", ROW_PX)
    legend = Legend()
    for number, rows in enumerate(visible_rows, start=1):
        for name in formats:
            alike = [row for row in rows if row.solve.measurement.format == name]
            if alike:
                figure.add_trace(_bars(name, alike, legend), row=number, col=1)
        end = max(1.0, *(row.share for row in rows)) * END
        figure.update_xaxes(range=[0, end], tickformat=".0%", row=number, col=1)
    figure.update_xaxes(title_text="SpMVs, % of the solve", title_standoff=4, row=len(visible))
    return figure


def _bars(name: str, rows: list[Row], legend: Legend) -> go.Bar:
    look = style(name)
    return markers.bars(
        [(row.share, escape(row.label), _hover(row), row.solve.measurement) for row in rows],
        markers.fill(look.color, look.pattern, outline=1),
        **legend.entry(name),
    )


def _hover(row: Row) -> str:
    m = row.solve.measurement
    spmv = f"SpMV alone {seconds(m.details.spmv_s)}, iteration {seconds(row.solve.iteration_s)}"
    return markers.hover(row.label, "", f"SpMVs: {percent(row.share)} of {seconds(m.median_s)}", spmv)


def table(info: Panels[Row]) -> Table:
    """Return a row per solve: times of SpMV and iteration, share, and break-even of the conversion."""
    heads = (
        *(Head(text, numeric=False) for text in ("matrix", "device", "method", "kernel")),
        Head("SpMV", "alone"),
        Head("iteration"),
        Head("share", "of the SpMVs"),
        Head("% of roofline"),
        Head("conversion"),
        Head("break-even", "iterations vs CSR"),
    )
    rows = []
    for panel in info.panels:
        for row in panel.rows:
            m = row.solve.measurement
            times = seconds(m.details.spmv_s), seconds(row.solve.iteration_s), percent(row.share)
            conversion = seconds(m.details.convert_s), break_even_text(row.group.break_even(row.solve))
            rows.append((*panel.place, row.way, row.solve.label, *times, share_text(m.roofline_s, m), *conversion))
    return Table(heads, tuple(rows))


def summary(info: Panels[Row]) -> str:
    """Return what the bars are."""
    if not info.panels:
        return NO_SHARE
    hidden = any(row.rank >= KERNELS_MAX for panel in info.visible for row in panel.rows)
    return caption(
        f"SpMVs of a solve at the time of one alone, as a share of the solve.{info.omission}",
        ("A faster SpMV can shorten a solve by at most this share.",),
        (
            "The SpMV alone is timed in the same rounds, back to back with the same layout.",
            "The SpMVs of a polynomial preconditioner, chebyshev, count too.",
            f"Only the {KERNELS_MAX} fastest kernels per method are drawn; the table has all." if hidden else "",
        ),
    )
