"""Nonzeros per device, and the speed that the load balance allows; Figure 5 of the MSREP paper."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.findings.scaling.balance import HEADS, Cut, LinesSpeed, chosen_cuts, lines_speeds, tables
from gpu_engine.findings.scaling.cases import RESIDENT
from gpu_engine.findings.scaling.groups import devices_in_words
from gpu_engine.findings.scaling.series import BASELINE, LINES, Series, by_variant
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Table
from web.figures.base import blank, caption
from web.figures.markers import hover
from web.figures.panels import DOT, Legend, Panels
from web.figures.scaling.markers import Panel, bar_panels, bars_of, fitting, left_out, virtual_note
from web.palette import OTHERS

BAR_PX = 13
EVEN = 1.02
"""Partitions with a smaller imbalance (largest over mean) count as equal."""

SPEED = "relative speed (%)"
NO_PARTS = "No matrix was partitioned for two or more devices."

KINDS = {"allowed by the balance": 4, "measured": 5}
"""The bars of a speed, and the numbers of their looks, which no strategy and no resident SpMV has."""


@dataclass(frozen=True, slots=True)
class Balance:
    """Partitionings of a matrix, and equal rows against equal nonzeros of resident matrices.

    cuts   the most uneven first
    even   (matrix, partitioning) of panels whose partitions all count as equal: they are not drawn
    worst  (strategy, its largest imbalance)
    table  of the first workload
    """

    cuts: Panels[Panel[Cut]]
    even: tuple[tuple[str, str], ...]
    speeds: Panels[Panel[LinesSpeed]]
    worst: tuple[tuple[str, float], ...]
    table: Table


def info(data: StudyData) -> Balance:
    """Return a panel per matrix and partitioning, then those of the speeds; if all are even, only the first."""
    cuts_by_group = chosen_cuts(data)
    worst: dict[str, float] = {}
    for cut in (cut for _, group_cuts in cuts_by_group for cut in group_cuts):
        worst[_name(cut.series)] = max(worst.get(_name(cut.series), 0.0), cut.imbalance)
    ordered = sorted(cuts_by_group, key=lambda entry: -_uneven(entry[1]))
    uneven = [entry for entry in ordered if _uneven(entry[1]) >= EVEN] or ordered[:1]
    even = tuple((data.matrix(group.matrix_id).name, group.partitioning) for group, _ in ordered[len(uneven) :])
    cuts = fitting(uneven, data, lambda panel: sum(len(cut.entries) for cut in panel.items))
    first = next((table for _, table in tables(data)), Table(HEADS, ()))
    return Balance(cuts, even, fitting(lines_speeds(data), data), tuple(worst.items()), first)


def draw(info: Balance) -> go.Figure:
    """Return nonzeros, a row per device, a bar per strategy, a panel per matrix and partitioning, with the mean dotted.

    Below are the speeds that equal rows allow and reach, for a matrix resident on the devices.
    """
    cuts, speeds = info.cuts.visible, info.speeds.visible
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
        # Titles omit the parts that all of them share.
        figure.update_xaxes(title_text="nonzeros", title_standoff=4, row=len(cuts), col=1)
    for row, panel_of_speeds in enumerate(speeds, start=len(cuts) + 1):
        figure.add_traces(_speeds(panel_of_speeds, legend), rows=row, cols=1)
    return figure


def table(info: Balance) -> Table:
    """Return a row per kernel and number of devices: the partitions, the allowed speed, and the measured one."""
    return info.table


def summary(info: Balance) -> str:
    """Return what the bars are, the largest imbalance of each strategy, and the measured speeds."""
    if not info.cuts.panels:
        return NO_PARTS
    worst = ", ".join(f"{name} {units.ratio(value)} ({units.percent(1 / value)})" for name, value in info.worst)
    more = ["The SpMV ends with the largest partition, so mean/largest limits the share of the ideal speed."]
    if info.even:
        names = join([f"{matrix} as {partitioning}" for matrix, partitioning in info.even], NAMED)
        more.append(f"Not drawn, because all partitions are within {units.percent(EVEN - 1)} of equal: {names}.")
    for panel in info.speeds.panels[:NAMED]:
        last = panel.items[-1]
        more.append(
            f"On {panel.matrix}, {panel.group.device}, {_kernel(panel)}, "
            f"{devices_in_words(last.devices, panel.group.virtual)}: equal rows allow {units.percent(last.allowed)} "
            f"of the speed with equal nonzeros, and reach {units.percent(last.measured)}."
        )
    below = " Below: speed with equal rows, in % of that with equal nonzeros." if info.speeds.visible else ""
    return caption(
        f"Nonzeros per device. Dotted: mean.{below}{left_out(info.cuts, info.speeds)}",
        ("Largest imbalance (share of the ideal speed that it allows):", f"{worst}."),
        (*more, virtual_note(panel.group for panel in info.cuts.panels)),
    )


def _uneven(cuts: Sequence[Cut]) -> float:
    return max(cut.imbalance for cut in cuts)


def _name(series: Series) -> str:
    """Return the strategy, or the workload and what distinguishes it."""
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
    # Equal rows look like the baseline in any workload.
    variant = BASELINE if cut.series.balance == LINES else cut.series.variant
    return bars_of(_name(cut.series), by_variant(variant), rows, legend)


_Share = tuple[float, tuple[Measurement, ...]]
"""A share and the measurements behind it."""


def _speeds(panel: Panel[LinesSpeed], legend: Legend) -> list[go.Bar]:
    """Return both shares in percent, a row per number of devices; the allowed share is not measured."""
    allowed: list[_Share] = [(speed.allowed, ()) for speed in panel.items]
    measured: list[_Share] = [(speed.measured, (speed.measurement,)) for speed in panel.items]
    labels = [_words(speed) for speed in panel.items]
    return [
        bars_of(
            kind,
            number,
            [
                (100 * share, label, hover(label, "", f"{kind}: {units.percent(share)}"), *of)
                for label, (share, of) in zip(labels, shares, strict=True)
            ],
            legend,
        )
        for (kind, number), shares in zip(KINDS.items(), (allowed, measured), strict=True)
    ]
