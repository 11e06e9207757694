"""Nonzeros of each device, and the speed that their balance allows; Figure 5 of the MSREP paper."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.findings.scaling.balance import HEADS, Cut, LinesSpeed, chosen_cuts, lines_speeds, tables
from gpu_engine.findings.scaling.cases import RESIDENT
from gpu_engine.findings.scaling.groups import BASELINE, LINES, Series, by_variant, devices_in_words
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Table
from web.figures.base import blank, caption
from web.figures.marks import hover
from web.figures.panels import DOT, Legend, Panels
from web.figures.scaling.marks import Panel, bar_panels, bars_of, fitting, left_out, virtual_note
from web.palette import OTHERS

BAR_PX = 13
EVEN = 1.02
"""Parts whose largest is less over the mean are as good as equal."""

SPEED = "speed in %"
NO_PARTS = "No matrix here was cut for two devices or more."

KINDS = {"allowed by the cut": 4, "measured": 5}
"""The bars of a speed, and the numbers of their looks, which no strategy and no resident product has."""


@dataclass(frozen=True, slots=True)
class Balance:
    """Cuts of a matrix beside each other, and equal lines beside equal nonzeros where the matrix stays.

    cuts   the most uneven first
    even   (matrix, partitioning) of panels whose parts are all as good as equal: they are not drawn
    worst  (strategy, its largest imbalance)
    table  of the first work
    """

    cuts: Panels[Panel[Cut]]
    even: tuple[tuple[str, str], ...]
    speeds: Panels[Panel[LinesSpeed]]
    worst: tuple[tuple[str, float], ...]
    table: Table


def info(data: StudyData) -> Balance:
    """A panel per matrix and partitioning, those of the speeds behind them; where all are even, the first of them."""
    found = chosen_cuts(data)
    worst: dict[str, float] = {}
    for cut in (cut for _, own in found for cut in own):
        worst[_name(cut.series)] = max(worst.get(_name(cut.series), 0.0), cut.imbalance)
    ordered = sorted(found, key=lambda entry: -_uneven(entry[1]))
    drawn = [entry for entry in ordered if _uneven(entry[1]) >= EVEN] or ordered[:1]
    even = tuple((data.matrix(group.matrix_id).name, group.partitioning) for group, _ in ordered[len(drawn) :])
    cuts = fitting(drawn, data, lambda panel: sum(len(cut.entries) for cut in panel.items))
    first = next((table for _, table in tables(data)), Table(HEADS, ()))
    return Balance(cuts, even, fitting(lines_speeds(data), data), tuple(worst.items()), first)


def draw(info: Balance) -> go.Figure:
    """Nonzeros, a row a device, a bar a strategy, a panel per matrix and partitioning; the mean dotted.

    Below, the speed that equal lines allow and that which they reach, of products that stay on the devices.
    """
    cuts, speeds = info.cuts.drawn, info.speeds.drawn
    if not cuts:
        return blank(NO_PARTS)
    names = {_name(cut.series) for panel in cuts for cut in panel.items}
    figure = bar_panels(
        [
            *(f"{panel.title(panel.group.partitioning)}{DOT}nonzeros" for panel in cuts),
            *(f"{panel.title(_kernel(panel))}{DOT}{SPEED}" for panel in speeds),
        ],
        [*(_devices(panel) for panel in cuts), *([_words(speed) for speed in panel.items] for panel in speeds)],
        len(names) + (len(KINDS) if speeds else 0),
        "group",
        BAR_PX * max(len(panel.items) for panel in cuts) + 8,
    )
    legend = Legend()
    for row, panel in enumerate(cuts, start=1):
        figure.add_traces([_parts(cut, legend) for cut in panel.items], rows=row, cols=1)
        figure.add_vline(x=panel.items[0].mean, line={"color": OTHERS, "dash": "dot", "width": 1.5}, row=row, col=1)
    if not speeds:
        # What all titles say stands in none.
        figure.update_xaxes(title_text="nonzeros", title_standoff=4, row=len(cuts), col=1)
    for row, own in enumerate(speeds, start=len(cuts) + 1):
        figure.add_traces(_speeds(own, legend), rows=row, cols=1)
    return figure


def table(info: Balance) -> Table:
    """A row per kernel and number of devices: its parts, the speed that they allow, and what is measured."""
    return info.table


def summary(info: Balance) -> str:
    """What the bars are, the largest imbalance of each strategy that is drawn, and what is measured of it."""
    if not info.cuts.panels:
        return NO_PARTS
    worst = ", ".join(f"{name} {units.ratio(value)} ({units.percent(1 / value)})" for name, value in info.worst)
    more = [
        "A product ends when the largest part does, so that mean/largest is the share of the ideal speed that remains."
    ]
    if info.even:
        names = join([f"{matrix} as {partitioning}" for matrix, partitioning in info.even], NAMED)
        more.append(f"Not drawn, for every cut is within {units.percent(EVEN - 1)} of equal: {names}.")
    for panel in info.speeds.panels[:NAMED]:
        last = panel.items[-1]
        more.append(
            f"On {panel.matrix}, {panel.group.device}, {_kernel(panel)}: with "
            f"{devices_in_words(last.devices, panel.group.virtual)} equal rows allow {units.percent(last.allowed)} "
            f"of the speed of equal nonzeros, and reach {units.percent(last.measured)}."
        )
    below = " Below, the speed in % of that of equal nonzeros." if info.speeds.drawn else ""
    return caption(
        f"Nonzeros of each device; the dotted line is their mean.{below}{left_out(info.cuts, info.speeds)}",
        (f"Largest imbalance, and the share of the ideal speed that it allows: {worst}.",),
        (*more, virtual_note(panel.group for panel in info.cuts.panels)),
    )


def _uneven(cuts: Sequence[Cut]) -> float:
    return max(cut.imbalance for cut in cuts)


def _name(series: Series) -> str:
    """The strategy, or the work and what sets it apart."""
    return f"{series.variant}, {series.apart}" if series.apart else series.variant


def _kernel(panel: Panel[LinesSpeed]) -> str:
    return f"{panel.group.partitioning}/{RESIDENT}"


def _devices(panel: Panel[Cut]) -> list[str]:
    return [f"device {i}" for i in range(len(panel.items[0].entries))]


def _words(speed: LinesSpeed) -> str:
    return devices_in_words(speed.devices, virtual=False)


def _parts(cut: Cut, legend: Legend) -> go.Bar:
    rows = []
    for i, entries in enumerate(cut.entries):
        size = f"{units.count(entries)} nonzeros, {units.ratio(entries / cut.mean)} the mean"
        rows.append((float(entries), f"device {i}", hover(cut.series.label, f", device {i}", size)))
    # The look of equal lines is that of the baseline in any work.
    variant = BASELINE if cut.series.balance == LINES else cut.series.variant
    return bars_of(_name(cut.series), by_variant(variant), rows, legend)


_Share = tuple[float, tuple[Measurement, ...]]
"""A share and the measurements behind it."""


def _speeds(panel: Panel[LinesSpeed], legend: Legend) -> list[go.Bar]:
    """Return both shares in percent, a row a number of devices; what the cut allows is not measured."""
    allowed: list[_Share] = [(speed.allowed, ()) for speed in panel.items]
    measured: list[_Share] = [(speed.measured, (speed.measurement,)) for speed in panel.items]
    labels = [_words(speed) for speed in panel.items]
    return [
        bars_of(
            kind,
            number,
            [
                (100 * share, label, hover(label, "", f"{kind}: {units.percent(share)}"), *of)
                for label, (share, of) in zip(labels, own, strict=True)
            ],
            legend,
        )
        for (kind, number), own in zip(KINDS.items(), (allowed, measured), strict=True)
    ]
