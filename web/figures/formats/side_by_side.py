"""All formats side by side, matrix by matrix: how the order of the formats changes with the structure."""

from collections.abc import Sequence

import plotly.graph_objects as go

from gpu_engine.records import Measurement
from web.figures.base import Head, Table, blank, escape, shorten
from web.figures.formats.groups import Groups, Place, by_place, fastest_by_format, formats_of, in_words
from web.figures.panels import Legend, panels
from web.palette import style
from web.shown import Shown
from web.units import MISSING, column, gflops, number, seconds

BAR_PX, BETWEEN_PX = 8, 12
MATRICES_MAX = 20
"""Most matrices of a picture; the first ones of the selection are drawn, the table has all."""


def draw(shown: Shown) -> go.Figure:
    """GFLOP/s of the fastest kernel of each format, a group of bars a matrix, by ascending sigma from the top."""
    places = by_place(shown.measurements)
    if not any(formats_of(groups) for groups in places.values()):
        return blank("No results yet.")
    drawn = {place: _ordered(groups, shown) for place, groups in places.items()}
    heights = [len(groups) * (BAR_PX * len(formats_of(groups)) + BETWEEN_PX) + BETWEEN_PX for groups in drawn.values()]
    entries = {name for groups in drawn.values() for name in formats_of(groups)}
    titles = [in_words(place) for place in drawn]
    figure = panels(titles, heights, len(entries), barmode="group", bargap=0.12, bargroupgap=0.0)
    legend = Legend()
    for row, groups in enumerate(drawn.values(), start=1):
        labels = _labels(list(groups), shown)
        for name in formats_of(groups):
            figure.add_trace(_bars(groups, name, labels, legend), row=row, col=1)
        order = list(labels.values())
        figure.update_yaxes(categoryorder="array", categoryarray=order, range=[len(order) - 0.5, -0.5], row=row, col=1)
        figure.update_xaxes(rangemode="tozero", row=row, col=1)
    figure.update_xaxes(title_text="GFLOP/s", title_standoff=4, row=len(drawn), col=1)
    figure.update_layout(legend_traceorder="normal")
    return figure


def table(shown: Shown) -> Table:
    """GFLOP/s per matrix and format; a format without a time says why in a word."""
    places = by_place(shown.measurements)
    named = {m.format for groups in places.values() for group in groups.values() for m in group}
    order = [name for groups in places.values() for name in formats_of(groups)]
    formats = list(dict.fromkeys((*order, *sorted(named))))
    heads = (Head("matrix", numeric=False), Head("device", numeric=False), Head("cache", numeric=False), Head("σ"))
    rows = [
        _line(place, matrix_id, groups[matrix_id], formats, shown)
        for place, groups in places.items()
        for matrix_id in shown.by_sigma(groups)
    ]
    return Table((*heads, *(Head(name, "GFLOP/s") for name in formats)), tuple(rows))


def summary(shown: Shown) -> str:
    """What the bars show, and which matrices they leave out."""
    most = max((len(groups) for groups in by_place(shown.measurements).values()), default=0)
    left = f" Drawn are the first {MATRICES_MAX} of {most}; the table has all." if most > MATRICES_MAX else ""
    return f"The fastest kernel of each format with its 95 % interval; matrices by ascending σ from the top.{left}"


def _ordered(groups: Groups, shown: Shown) -> Groups:
    chosen = list(groups)[:MATRICES_MAX]
    return {matrix_id: groups[matrix_id] for matrix_id in shown.by_sigma(chosen)}


def _labels(ids: Sequence[str], shown: Shown) -> dict[str, str]:
    """A label per matrix, different even where names are equal or too long to tell apart."""
    labels: dict[str, str] = {}
    for matrix_id in ids:
        label = escape(shorten(shown.matrix(matrix_id).name))
        taken = label in labels.values()
        labels[matrix_id] = f"{label} ({matrix_id[:4]})" if taken else label
    return labels


def _bars(groups: Groups, name: str, labels: dict[str, str], legend: Legend) -> go.Bar:
    look = style(name)
    fastest = {matrix_id: fastest_by_format(group).get(name) for matrix_id, group in groups.items()}
    drawn = {matrix_id: m for matrix_id, m in fastest.items() if m is not None}
    rates = [m.gflops or 0.0 for m in drawn.values()]
    high = [_rate(m, m.ci_low_s) - (m.gflops or 0.0) for m in drawn.values()]
    low = [(m.gflops or 0.0) - _rate(m, m.ci_high_s) for m in drawn.values()]
    return go.Bar(
        **legend.entry(name),
        x=rates,
        y=[labels[matrix_id] for matrix_id in drawn],
        orientation="h",
        error_x={"type": "data", "symmetric": False, "array": high, "arrayminus": low, "width": 0},
        marker={
            "color": look.color,
            "line": {"width": 0},
            "pattern": {"shape": look.pattern, "fillmode": "overlay", "fgopacity": 0.45, "size": 5},
        },
        hovertext=[
            f"<b>{escape(m.kernel)}</b> on {labels[matrix_id]}<br>{gflops(m.gflops)}, median {seconds(m.median_s)}"
            for matrix_id, m in drawn.items()
        ],
        hoverinfo="text",
        meta={"role": "kernel", "format": name},
    )


def _line(
    place: Place, matrix_id: str, group: Sequence[Measurement], formats: Sequence[str], shown: Shown
) -> tuple[str, ...]:
    fastest = fastest_by_format(group)
    rates = dict(zip(formats, column([_gflops(fastest.get(name)) for name in formats]), strict=True))
    reasons = {m.format: m.state for m in group if m.format not in fastest}
    known = shown.matrix(matrix_id)
    return (
        known.name,
        *place,
        number(known.sigma),
        *(reasons.get(name, rates[name] if name in fastest else MISSING) for name in formats),
    )


def _gflops(m: Measurement | None) -> float | None:
    return m.gflops if m else None


def _rate(m: Measurement, time_s: float | None) -> float:
    return (m.gflops or 0.0) * (m.median_s or 0.0) / time_s if time_s else m.gflops or 0.0
