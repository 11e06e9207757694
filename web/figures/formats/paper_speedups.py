"""Figures 6 and 8 to 10 of the PELLR paper on its own matrices: a row per matrix, by ascending σ."""

from collections.abc import Sequence
from dataclasses import replace

import plotly.graph_objects as go

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.formats.groups import of_matrices
from gpu_engine.findings.formats.paper import SERIES, SPEEDUPS, original
from gpu_engine.findings.printed import Printed
from gpu_engine.records import CACHES
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, number
from web.figures import markers
from web.figures.base import blank, caption, escape, log_axis
from web.figures.formats import ratio
from web.figures.formats.ratio import Info, Look, Panel, Point
from web.figures.panels import Legend
from web.palette import OKABE_ITO, OTHERS

ROW_PX = 22
NOTHING = "No matrix of the PELLR paper has timings in both formats of a pair."

PRINTED = "printed in the paper"
"""Legend of the speedups that the text of the paper prints."""


def info(data: StudyData) -> Info:
    """Return the matrices of the paper, or their stand-ins, with a time in both formats; pairs as in `ratio.info`.

    Warm comes first, as in the statements.
    """
    of_paper = [m for m in of_matrices(data.measurements) if original(data.matrix(m.matrix_id).name)]
    warm_first = sorted(of_paper, key=lambda m: CACHES.index(m.cache), reverse=True)
    return ratio.info(replace(data, measurements=warm_first))


def draw(info: Info) -> go.Figure:
    """Return a panel per pair, device, and cache state: a row per matrix, its speedup with 95 % CI, and the print."""
    if not info.panels:
        return blank(NOTHING)
    labels = [[_label(point.matrix) for point in panel.points] for panel in info.panels]
    titles = [ratio.title(panel) for panel in info.panels]
    figure = markers.bar_panels(titles, [list(map(escape, of)) for of in labels], 3, "overlay", ROW_PX)
    ratios = [point.ratio for panel in info.panels for point in panel.points]
    prints = [float(printed.low) for panel in info.panels for printed in _prints(panel).values()]
    axis = log_axis([*ratios, *prints, 1.0], least_span=4.0)
    legend = Legend()
    for row, panel in enumerate(info.panels, start=1):
        figure.add_vline(1.0, line={"width": 1, "color": OTHERS}, row=row, col=1)
        for look in (ratio.SETTLED, ratio.OPEN):
            points = [point for point in panel.points if point.look == look]
            figure.add_trace(_markers(points, look, legend), row=row, col=1)
        if prints:
            figure.add_trace(_stars(panel, legend), row=row, col=1)
    figure.update_xaxes(**axis.settings)
    return figure.update_xaxes(title_text="speedup", title_standoff=4, row=len(info.panels), col=1)


def table(info: Info) -> Table:
    """Return the table of `ratio` with the speedup that the text of the paper prints."""
    whole = ratio.table(info)
    prints = (_prints(panel).get(original(p.matrix.name)) for panel in info.panels for p in panel.points)
    rows = zip(whole.rows, prints, strict=True)
    cells = tuple((*row, printed.low if printed else MISSING) for row, printed in rows)
    return Table((*whole.heads, Head("speedup", "printed")), cells)


def summary(info: Info) -> str:
    """Return how often the first of each pair is faster on the matrices of the paper, and the mean speedup."""
    if not info.panels:
        return NOTHING
    what = "Speedup on the matrices of the PELLR paper, or their synthetic stand-ins, by ascending σ from the top."
    several = len({panel.place for panel in info.panels}) > 1
    stars = "Stars are speedups on a Quadro P600 that the text of the paper prints."
    counts = (ratio.counts(panel, panel.place if several else ()) for panel in info.panels)
    return caption(what, counts, (stars,) if any(map(_prints, info.panels)) else ())


def _label(matrix: MatrixFeatures) -> str:
    return f"{matrix.name}, σ {number(matrix.sigma)}"


def _prints(panel: Panel) -> dict[str, Printed]:
    """Return the printed speedups by matrix; empty for a pair that the paper does not compare."""
    first, second = map(_paper_name, panel.pair)
    known = SPEEDUPS.get(second, {}) if first == "PELLR" else {}
    names = {original(point.matrix.name) for point in panel.points}
    return {name: printed for name, printed in known.items() if name in names}


def _paper_name(format_name: str) -> str:
    return next((name for name, known in SERIES.items() if format_name in known), "")


def _markers(points: Sequence[Point], look: Look, legend: Legend) -> go.Scatter:
    return markers.points(
        [(p.ratio, escape(_label(p.matrix)), ratio.hover(p), *p.measurements) for p in points],
        markers.point(OKABE_ITO[0], look.symbol, 9, look.outline),
        **legend.entry(look.name),
        error_x=markers.intervals([p.ratio for p in points], [p.interval for p in points], width=0),
        meta={"role": look.role},
    )


def _stars(panel: Panel, legend: Legend) -> go.Scatter:
    prints = _prints(panel)
    rows = [(point.matrix, prints[name]) for point in panel.points if (name := original(point.matrix.name)) in prints]
    return markers.points(
        [
            (
                float(printed.low),
                escape(_label(matrix)),
                markers.hover(original(matrix.name), "", f"{PRINTED}: {printed.low} ×"),
            )
            for matrix, printed in rows
        ],
        markers.point(OKABE_ITO[5], "star", 11),
        **legend.entry(PRINTED),
        meta={"role": "point"},
    )
