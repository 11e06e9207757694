"""Parts of an iteration: the SpMV, the exchange, and their overlap."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling.cases import COMPUTE, EXCHANGE, IN_PHASES, ITERATE, PAGERANK, WORKS
from gpu_engine.findings.scaling.groups import WorkGroup
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures.base import blank, caption
from web.figures.markers import points
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

PARTS = (COMPUTE, EXCHANGE)
MEASURED = "measured total"
NO_ITERATION = "No per-phase timings. Iterations require a square matrix."


@dataclass(frozen=True, slots=True)
class Best:
    """The Sparsight variant that hides the largest share of its exchange."""

    matrix: str
    group: WorkGroup
    bar: Bar
    hidden: float


@dataclass(frozen=True, slots=True)
class Iterations:
    """SpMV and exchange of each variant; best: of each panel in which some exchange is hidden."""

    bars: Panels[Panel[Bar]]
    best: tuple[Best, ...]


def info(data: StudyData) -> Iterations:
    """Return a panel per matrix, workload, and partitioning."""
    panels = phase_panels(data, (ITERATE, PAGERANK))
    return Iterations(panels, tuple(best for panel in panels.panels if (best := _best(panel))))


def draw(info: Iterations) -> go.Figure:
    """Return SpMV and exchange end to end, a row per variant and number of devices, with the measured median."""
    # A single device exchanges nothing: with others in the panel, only the table has it.
    panels = info.bars.visible
    if not panels:
        return blank(NO_ITERATION)
    crossing = [(panel, _crossing(panel)) for panel in panels]
    unit = units.unit_for([bar.measurement.median_s for _, bars in crossing for bar in bars], units.TIME)
    rows = [[bar.label for bar in bars] for _, bars in crossing]
    # PageRank has only one partitioning; both words would not fit a narrow screen.
    kinds = (WORKS[PAGERANK] if panel.group.work == PAGERANK else panel.group.partitioning for panel in panels)
    titles = [panel.title(kind) for panel, kind in zip(panels, kinds, strict=True)]
    figure = bar_panels(titles, rows, len(PARTS) + 1, "stack", ROW_PX)
    legend = Legend()
    for row, (_, bars) in enumerate(crossing, start=1):
        for part in PARTS:
            lengths = [
                (bar.phases.get(part, 0.0) / unit.factor, bar.label, _hover(bar), bar.measurement) for bar in bars
            ]
            figure.add_trace(bars_of(part, IN_PHASES.index(part), lengths, legend), row=row, col=1)
        figure.add_trace(_marks(bars, unit, legend), row=row, col=1)
    figure.update_xaxes(title_text=f"{unit.symbol} per iteration", title_standoff=4, row=len(panels), col=1)
    return figure


def table(info: Iterations) -> Table:
    """Return a row per variant and number of devices: both parts, their measured total, and the exchanged bytes."""
    heads = (
        *PLACE,
        Head("workload", numeric=False),
        Head("kernel", numeric=False),
        Head("devices"),
        Head("compute"),
        Head("exchange"),
        Head("total", "median"),
        Head("exchange", "hidden"),
        Head("exchanged"),
        Head("exchanged", "per second"),
    )
    rows = ((*panel.place, WORKS[panel.group.work], *_cells(bar)) for panel in info.bars.panels for bar in panel.items)
    return Table(heads, tuple(rows))


def summary(info: Iterations) -> str:
    """Return what bars and marks are, and the largest hidden share of the exchange."""
    if not info.bars.panels:
        return NO_ITERATION
    what = "SpMV and exchange per iteration, timed separately. Mark: measured total, shorter if the two overlap."
    what += left_out(info.bars)
    hidden = (
        f"On {best.matrix}, {best.group.device}, {WORKS[best.group.work]}: {best.bar.series.label} with "
        f"{units.count(best.bar.measurement.details.devices)} devices overlaps {units.percent(best.hidden)} of the "
        "exchange with computation."
        for best in info.best
    )
    return caption(what, (), (*hidden, virtual_note(panel.group for panel in info.bars.panels)))


def _crossing(panel: Panel[Bar]) -> list[Bar]:
    return [bar for bar in panel.items if bar.measurement.details.devices != 1] or list(panel.items)


def _best(panel: Panel[Bar]) -> Best | None:
    ours = [(bar.hidden, bar) for bar in panel.items if bar.hidden and not bar.series.competitor]
    hidden, bar = max(ours, key=lambda entry: entry[0], default=(0.0, None))
    return Best(panel.matrix, panel.group, bar, hidden) if bar else None


def _cells(bar: Bar) -> tuple[str, ...]:
    exchange, moved = bar.phases.get(EXCHANGE), bar.measurement.details.exchanged_bytes
    return (
        bar.series.label,
        units.count(bar.measurement.details.devices),
        units.seconds(bar.phases.get(COMPUTE)),
        units.seconds(exchange) if exchange else "none",
        units.seconds(bar.measurement.median_s),
        units.percent(bar.hidden),
        units.size(moved) if moved else "none",
        units.rate(moved / exchange) if moved and exchange else units.MISSING,
    )


def _hover(bar: Bar) -> str:
    parts = ", ".join(f"{part} {units.seconds(bar.phases.get(part))}" for part in PARTS)
    exchanged = bar.measurement.details.exchanged_bytes
    moved = f"<br>{units.size(exchanged)} exchanged" if exchanged else ""
    return f"<b>{bar.label}</b><br>{parts}<br>total {units.seconds(bar.measurement.median_s)}{moved}"


def _marks(bars: Sequence[Bar], unit: units.Unit, legend: Legend) -> go.Scatter:
    measured = [(bar, bar.measurement) for bar in bars]
    return points(
        [((m.median_s or 0.0) / unit.factor, bar.label, _hover(bar), m) for bar, m in measured],
        {"symbol": "line-ns", "size": ROW_PX - 8, "line": {"width": 2}},
        **legend.entry(MEASURED),
        meta={"role": "floor"},
    )
