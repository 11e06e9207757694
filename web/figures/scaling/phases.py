"""Where the time of a product from the host goes; Figures 16 and 19 of the MSREP paper."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling.cases import COLD
from gpu_engine.multigpu.from_host.spmv import COLD_PHASES
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures.base import blank, caption
from web.figures.panels import Legend, Panels
from web.figures.scaling.marks import (
    PLACE,
    ROW_PX,
    Bar,
    Panel,
    bar_panels,
    bars_of,
    left_out,
    phase_panels,
    virtual_note,
)

PHASES, TIMES, SHARES = "phases", "times", "shares"
"""The parameter that says how phases are drawn, and its values."""

NO_PHASES = "No product from the host has a time in phases here."

BOUNDED = ("packing", "distribute", "compute", "merge")
"""Phases whose bytes have a least time."""

PAPER_OVERHEADS = (
    " In the paper p*-opt spends under 2 % on partitioning in most cases, and up to 3.8 % (CSR), 9 % (CSC) and 17 % "
    "(COO) on merging."
)


@dataclass(frozen=True, slots=True)
class Phases:
    """Products from the host; in_shares: of the phases, not in seconds."""

    bars: Panels[Panel[Bar]]
    in_shares: bool


def info(data: StudyData) -> Phases:
    """A panel per matrix and partitioning."""
    return Phases(phase_panels(data, (COLD,)), data.choice(PHASES) == SHARES)


def draw(info: Phases) -> go.Figure:
    """Stacked bars, a row per strategy and number of devices, a panel per matrix and partitioning."""
    panels = info.bars.drawn
    if not panels:
        return blank(NO_PHASES)
    unit = units.unit_for([bar.together for panel in panels for bar in panel.items], units.TIME)
    rows = [[bar.label for bar in panel.items] for panel in panels]
    titles = [panel.title(panel.group.partitioning) for panel in panels]
    figure = bar_panels(titles, rows, len(_drawn(panels)), "stack", ROW_PX)
    legend = Legend()
    for row, panel in enumerate(panels, start=1):
        for number, phase in enumerate(_drawn(panels)):
            lengths = [
                (_length(bar, phase, None if info.in_shares else unit), bar.label, _hover(bar, phase), bar.measurement)
                for bar in panel.items
            ]
            figure.add_trace(bars_of(phase, number, lengths, legend), row=row, col=1)
    title = "% of the phases" if info.in_shares else unit.symbol
    figure.update_xaxes(title_text=title, title_standoff=4, row=len(panels), col=1)
    return figure


def table(info: Phases) -> Table:
    """A row per strategy and number of devices: seconds of each phase, and the paper's overheads, over the time."""
    heads = (
        *PLACE,
        Head("kernel", numeric=False),
        Head("devices"),
        *(Head(phase) for phase in COLD_PHASES),
        Head("together"),
        Head("time", "median"),
        Head("partition overhead", "partition"),
        Head("partition overhead", "and distribute"),
        Head("merge overhead"),
        *(Head(f"{phase} bound") for phase in BOUNDED),
    )
    rows = ((*panel.place, *_cells(bar)) for panel in info.bars.panels for bar in panel.items)
    return Table(heads, tuple(rows))


def summary(info: Phases) -> str:
    """What the bars are made of, and the overheads that the paper reports."""
    if not info.bars.panels:
        return NO_PHASES
    what = "The phases of a product from the host, each over when all devices have ended it; rows are strategies on so "
    what += f"many devices.{left_out(info.bars)}"
    more = "The paper counts distribution as partition overhead: the table has both, and what the bytes of a phase "
    more += "take at least. Phases that overlap were timed apart: together they take longer than the product."
    note = virtual_note(panel.group for panel in info.bars.panels)
    return caption(what, (), (more, PAPER_OVERHEADS, note))


def _drawn(panels: Sequence[Panel[Bar]]) -> list[str]:
    """Phases that any of the products has: only of packed ones there is packing."""
    return [name for name in COLD_PHASES if any(name in bar.phases for panel in panels for bar in panel.items)]


def _cells(bar: Bar) -> tuple[str, ...]:
    m = bar.measurement
    partition, distribute, merge = (bar.phases.get(phase, 0.0) for phase in ("partition", "distribute", "merge"))
    return (
        bar.series.label,
        units.count(m.details.devices),
        *(units.seconds(bar.phases.get(phase)) for phase in COLD_PHASES),
        units.seconds(bar.together),
        units.seconds(m.median_s),
        *(units.percent(time / m.median_s) for time in (partition, partition + distribute, merge) if m.median_s),
        *(units.seconds(m.details.bounds_s.get(phase)) for phase in BOUNDED),
    )


def _length(bar: Bar, phase: str, unit: units.Unit | None) -> float:
    """In that unit, or in percent of all phases."""
    time = bar.phases.get(phase, 0.0)
    return time / unit.factor if unit else 100 * time / bar.together


def _hover(bar: Bar, phase: str) -> str:
    time = bar.phases.get(phase)
    share = units.percent(None if time is None else time / bar.together)
    bound = bar.measurement.details.bounds_s.get(phase)
    least = "" if bound is None else f"<br>at least {units.seconds(bound)} by its bytes"
    return f"<b>{bar.label}</b><br>{phase}: {units.seconds(time)}, {share} of the phases{least}"
