"""Time per phase of an SpMV from the host; Figures 16 and 19 of the MSREP paper."""

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
from web.figures.scaling.markers import (
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
"""Parameter that selects how phases are drawn, and its values."""

NO_PHASES = "No SpMV from the host has phase timings."

BOUNDED = ("packing", "distribute", "compute", "merge")
"""Phases with a lower bound from their bytes."""

PAPER_OVERHEADS = (
    " In the paper, p*-opt spends less than 2\u202f% on partitioning in most cases. "
    "Merging takes up to 3.8\u202f% (CSR), 9\u202f% (CSC), and 17\u202f% (COO)."
)


@dataclass(frozen=True, slots=True)
class Phases:
    """SpMV from the host; in_shares: whether the unit is % of the phases instead of seconds."""

    bars: Panels[Panel[Bar]]
    in_shares: bool


def info(data: StudyData) -> Phases:
    """Return a panel per matrix and partitioning, the largest matrices first."""
    return Phases(phase_panels(data, (COLD,), largest_first=True), data.choice(PHASES) == SHARES)


def draw(info: Phases) -> go.Figure:
    """Return stacked bars, a row per strategy and number of devices, a panel per matrix and partitioning."""
    panels = info.bars.visible
    if not panels:
        return blank(NO_PHASES)
    unit = units.unit_for([bar.together for panel in panels for bar in panel.items], units.TIME)
    rows = [[bar.label for bar in panel.items] for panel in panels]
    titles = [panel.title(panel.group.partitioning) for panel in panels]
    figure = bar_panels(titles, rows, len(_visible_phases(panels)), "stack", ROW_PX)
    legend = Legend()
    for row, panel in enumerate(panels, start=1):
        for number, phase in enumerate(_visible_phases(panels)):
            lengths = [
                (_length(bar, phase, None if info.in_shares else unit), bar.label, _hover(bar, phase), bar.measurement)
                for bar in panel.items
            ]
            figure.add_trace(bars_of(phase, number, lengths, legend), row=row, col=1)
    title = "% of all phases" if info.in_shares else unit.symbol
    figure.update_xaxes(title_text=title, title_standoff=4, row=len(panels), col=1)
    return figure


def table(info: Phases) -> Table:
    """Return a row per strategy and number of devices: seconds per phase, and the overheads over the time."""
    heads = (
        *PLACE,
        Head("kernel", numeric=False),
        Head("devices"),
        *(Head(phase) for phase in COLD_PHASES),
        Head("sum of", "phases"),
        Head("time", "median"),
        Head("A/A gap"),
        Head("partition overhead", "partition"),
        Head("partition overhead", "with distribute"),
        Head("merge overhead"),
        *(Head(phase, "lower bound") for phase in BOUNDED),
    )
    rows = ((*panel.place, *_cells(bar)) for panel in info.bars.panels for bar in panel.items)
    return Table(heads, tuple(rows))


def summary(info: Phases) -> str:
    """Return what the bars consist of, and the overheads that the paper reports."""
    if not info.bars.panels:
        return NO_PHASES
    what = "Time per phase of an SpMV from the host, by strategy and number of devices. "
    what += f"A phase ends when all devices have finished it. Largest matrices first.{left_out(info.bars)}"
    more = "The paper counts distribution as partition overhead; the table has both, and the lower bounds. "
    more += "Phases that overlap were timed separately, so their sum exceeds the time of the SpMV."
    note = virtual_note(panel.group for panel in info.bars.panels)
    return caption(what, (), (more, PAPER_OVERHEADS, note))


def _visible_phases(panels: Sequence[Panel[Bar]]) -> list[str]:
    """Return the phases that any of the SpMVs has: packing exists only for packed transfers."""
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
        units.percent(m.aa_gap),
        *(units.percent(time / m.median_s) for time in (partition, partition + distribute, merge) if m.median_s),
        *(units.seconds(m.details.bounds_s.get(phase)) for phase in BOUNDED),
    )


def _length(bar: Bar, phase: str, unit: units.Unit | None) -> float:
    """Return the time of a phase in that unit, or in percent of all phases."""
    time = bar.phases.get(phase, 0.0)
    return time / unit.factor if unit else 100 * time / bar.together


def _hover(bar: Bar, phase: str) -> str:
    time = bar.phases.get(phase)
    share = units.percent(None if time is None else time / bar.together)
    bound = bar.measurement.details.bounds_s.get(phase)
    least = "" if bound is None else f"<br>lower bound {units.seconds(bound)}"
    return f"<b>{bar.label}</b><br>{phase}: {units.seconds(time)}, {share} of all phases{least}"
