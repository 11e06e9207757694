"""Where the time of a product from the host goes; Figures 16 and 19 of the MSREP paper."""

import plotly.graph_objects as go

from gpu_engine.multigpu.spmv import PHASES
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
from web.scaling import Entry
from web.scaling_cases import COLD, phases_of
from web.shown import Shown

SHARES = "shares"
NO_PHASES = "No product from the host has a time in phases here."

PAPER_OVERHEADS = (
    " In the paper p*-opt spends under 2 % on partitioning in most cases, and up to 3.8 % (CSR), 9 % (CSC) and 17 % "
    "(COO) on merging."
)


def draw(shown: Shown) -> go.Figure:
    """Stacked bars, a row per strategy and number of devices, a panel per matrix and partitioning."""
    everything = phase_panels(shown, (COLD,))
    found = first_panels(everything, bar_count)
    if not found:
        return blank(NO_PHASES)
    in_shares = shown.phases == SHARES
    unit = units.unit_for([sum(phases_of(m).values()) for _, own in found for _, m in own], units.TIME)
    rows = [[row_of(*bar) for bar in own] for _, own in found]
    titles = [heading(group, shown, group.partitioning) for group, _ in found]
    figure = bar_panels(titles, rows, len(PHASES), "stack", ROW_PX)
    legend = Legend()
    for row, (_, own) in enumerate(found, start=1):
        for number, phase in enumerate(PHASES):
            drawn = [(row_of(*bar), _length(bar[1], phase, in_shares, unit), _hover(bar, phase)) for bar in own]
            figure.add_trace(bars(phase, number, drawn, legend), row=row, col=1)
    title = "% of the phases" if in_shares else unit.symbol
    figure.update_xaxes(title_text=title, title_standoff=4, row=len(found), col=1)
    return figure


def table(shown: Shown) -> Table:
    """A row per strategy and number of devices: seconds of each phase, and the paper's overheads, over the time."""
    heads = (
        *PLACE,
        Head("kernel", numeric=False),
        Head("devices"),
        *(Head(phase) for phase in PHASES),
        Head("together"),
        Head("time", "median"),
        Head("partition overhead", "partition"),
        Head("partition overhead", "and distribute"),
        Head("merge overhead"),
    )
    rows = []
    for group, own in phase_panels(shown, (COLD,)):
        for series, m in own:
            phases = phases_of(m)
            total, partition = sum(phases.values()), phases.get("partition", 0.0)
            overheads = partition, partition + phases.get("distribute", 0.0), phases.get("merge", 0.0)
            times = [units.seconds(phases.get(phase)) for phase in PHASES]
            shares = [units.percent(time / m.median_s) for time in overheads if m.median_s]
            named = *place(group, shown), series.label, units.count(m.devices)
            rows.append((*named, *times, units.seconds(total), units.seconds(m.median_s), *shares))
    return Table(heads, tuple(rows))


def summary(shown: Shown) -> str:
    """What the bars are made of, and the overheads that the paper reports."""
    found = phase_panels(shown, (COLD,))
    if not found:
        return NO_PHASES
    drawn = len(first_panels(found, bar_count))
    said = "The phases of a product from the host, each over when all devices have ended it; rows are strategies on so "
    said += "many devices. The paper counts distribution as partition overhead: the table has both."
    return said + PAPER_OVERHEADS + left_out(drawn, len(found)) + virtual_note(group for group, _ in found)


def _length(m: Measurement, phase: str, in_shares: bool, unit: units.Unit) -> float:
    phases = phases_of(m)
    time = phases.get(phase, 0.0)
    return 100 * time / sum(phases.values()) if in_shares else time / unit.factor


def _hover(bar: Entry, phase: str) -> str:
    series, m = bar
    phases = phases_of(m)
    time = phases.get(phase)
    share = units.percent(time / sum(phases.values())) if time is not None else units.MISSING
    return f"<b>{row_of(series, m)}</b><br>{phase}: {units.seconds(time)}, {share} of the phases"
