"""What an iteration is made of: the products, the exchange, and how much of the two goes on at once."""

import plotly.graph_objects as go

from gpu_engine.records import Measurement
from web import units
from web.figures.base import Head, Table, blank
from web.figures.panels import Legend
from web.figures.scaling.marks import (
    PLACE,
    ROW_PX,
    bar_count,
    bar_panels,
    bars,
    first_panels,
    heading,
    left_out,
    phase_panels,
    place,
    row_of,
    virtual_note,
)
from web.scaling import Entry, Series
from web.scaling_cases import COMPUTE, EXCHANGE, IN_PHASES, ITERATE, PAGERANK, WORKS, hidden_share, phases_of
from web.shown import Shown

PARTS = (COMPUTE, EXCHANGE)
ITERATED = (ITERATE, PAGERANK)
MEASURED = "both together, as measured"
NO_ITERATION = "No iteration here has a time in phases: only square matrices can be iterated."


def draw(shown: Shown) -> go.Figure:
    """Products and exchange end to end, a row per variation and number of devices; the measured median marked."""
    found = first_panels(phase_panels(shown, ITERATED), bar_count)
    if not found:
        return blank(NO_ITERATION)
    everything = [m for _, own in found for _, m in own]
    unit = units.unit_for([m.median_s for m in everything], units.TIME)
    rows = [[row_of(*bar) for bar in own] for _, own in found]
    # PageRank is cut in one way alone; both words would not fit a narrow screen.
    kinds = [WORKS[PAGERANK] if group.work == PAGERANK else group.partitioning for group, _ in found]
    titles = [heading(group, shown, kind) for (group, _), kind in zip(found, kinds, strict=True)]
    figure = bar_panels(titles, rows, len(PARTS) + 1, "stack", ROW_PX)
    legend = Legend()
    for row, (_, own) in enumerate(found, start=1):
        for part in PARTS:
            drawn = [(row_of(*bar), phases_of(bar[1]).get(part, 0.0) / unit.factor, _hover(*bar)) for bar in own]
            figure.add_trace(bars(part, IN_PHASES.index(part), drawn, legend), row=row, col=1)
        figure.add_trace(_marks(own, unit, legend), row=row, col=1)
    figure.update_xaxes(title_text=f"{unit.symbol} of an iteration", title_standoff=4, row=len(found), col=1)
    return figure


def table(shown: Shown) -> Table:
    """A row per variation and number of devices: both parts, both at once, and the bytes that cross."""
    heads = (
        *PLACE,
        Head("work", numeric=False),
        Head("kernel", numeric=False),
        Head("devices"),
        Head("compute"),
        Head("exchange"),
        Head("together", "median"),
        Head("exchange", "hidden"),
        Head("exchanged"),
        Head("exchanged", "a second"),
    )
    rows = [
        (*place(group, shown), WORKS[group.work], series.label, units.count(m.devices), *_numbers(m))
        for group, own in phase_panels(shown, ITERATED)
        for series, m in own
    ]
    return Table(heads, tuple(rows))


def summary(shown: Shown) -> str:
    """What bars and marks are, and how much of the exchange ours hide at best."""
    found = phase_panels(shown, ITERATED)
    if not found:
        return NO_ITERATION
    said = "Products and exchange of an iteration, each timed alone; the mark is both together. A mark inside its bar "
    said += "says that some of the exchange went on beside the products."
    for group, own in found:
        hidden = [(share, series, m) for series, m in own if not series.competitor and (share := hidden_share(m))]
        if hidden:
            share, series, m = max(hidden, key=lambda entry: entry[0])
            said += f" On {shown.matrix(group.matrix_id).name}, {group.device}, {WORKS[group.work]}: {series.label} "
            said += f"with {units.count(m.devices)} hides {units.percent(share)} of it."
    return said + left_out(len(first_panels(found, bar_count)), len(found)) + virtual_note(group for group, _ in found)


def _numbers(m: Measurement) -> tuple[str, ...]:
    phases = phases_of(m)
    exchange, moved = phases.get(EXCHANGE), m.exchanged_bytes
    return (
        units.seconds(phases.get(COMPUTE)),
        units.seconds(exchange) if exchange else "none",
        units.seconds(m.median_s),
        units.percent(hidden_share(m)),
        units.size(moved) if moved else "none",
        units.rate(moved / exchange) if moved and exchange else units.MISSING,
    )


def _hover(series: Series, m: Measurement) -> str:
    phases = phases_of(m)
    parts = ", ".join(f"{part} {units.seconds(phases.get(part))}" for part in PARTS)
    moved = f"<br>{units.size(m.exchanged_bytes)} exchanged" if m.exchanged_bytes else ""
    return f"<b>{row_of(series, m)}</b><br>{parts}<br>together {units.seconds(m.median_s)}{moved}"


def _marks(own: list[Entry], unit: units.Unit, legend: Legend) -> go.Scatter:
    return go.Scatter(
        **legend.entry(MEASURED),
        x=[(m.median_s or 0.0) / unit.factor for _, m in own],
        y=[row_of(*bar) for bar in own],
        mode="markers",
        marker={"symbol": "line-ns", "size": ROW_PX - 8, "line": {"width": 2}},
        hovertext=[_hover(*bar) for bar in own],
        hoverinfo="text",
        meta={"role": "floor"},
    )
