"""Nonzeros of each device, and the speed that their balance allows; Figure 6 of the MSREP paper."""

from collections.abc import Iterable

import plotly.graph_objects as go

from gpu_engine.records import Measurement
from web import units
from web.figures.base import Head, Table, blank, escape
from web.figures.panels import Legend
from web.figures.scaling import cuts
from web.figures.scaling.marks import (
    PLACE,
    bar_panels,
    bars,
    first_panels,
    heading,
    left_out,
    place,
    virtual_note,
)
from web.palette import OTHERS
from web.scaling import BASELINE, LINES, Entry, Series, WorkGroup, by_variant, number_of, work_groups
from web.scaling_cases import COLD, RESIDENT, STAYING, WORKS, imbalance
from web.shown import Shown

BAR_PX = 13
NO_PARTS = "No matrix here was cut for two devices or more."

Panel = tuple[WorkGroup, list[Entry]]


def draw(shown: Shown) -> go.Figure:
    """Nonzeros, a row a device, a bar a strategy, a panel per matrix and partitioning; the mean dotted.

    Below, the speed that equal lines allow and that which they reach, of products that stay on the devices.
    """
    found, compared = first_panels(_chosen(shown), _rows), first_panels(cuts.compared(shown), cuts.rows)
    if not found:
        return blank(NO_PARTS)
    titles = [heading(group, shown, group.partitioning) for group, _ in found]
    rows = [[f"device {i}" for i in range(len(own[0][1].entries_by_device))] for _, own in found]
    variants = {_named(series) for _, own in found for series, _ in own}
    figure = bar_panels(
        [*titles, *(cuts.title(panel, shown) for panel in compared)],
        [*rows, *(cuts.labels(panel) for panel in compared)],
        len(variants) + (len(cuts.KINDS) if compared else 0),
        "group",
        BAR_PX * max(len(own) for _, own in found) + 8,
    )
    legend = Legend()
    for row, (_, own) in enumerate(found, start=1):
        for series, m in own:
            drawn = [
                (name, float(entries), _hover(series, m, name, entries))
                for name, entries in zip(rows[row - 1], m.entries_by_device, strict=True)
            ]
            figure.add_trace(bars(_named(series), _number(series), drawn, legend), row=row, col=1)
        entries = own[0][1].entries_by_device
        figure.add_vline(
            x=sum(entries) / len(entries), line={"color": OTHERS, "dash": "dot", "width": 1.5}, row=row, col=1
        )
    figure.update_xaxes(title_text="nonzeros", title_standoff=4, row=len(found), col=1)
    for row, panel in enumerate(compared, start=len(found) + 1):
        figure.add_traces(cuts.traces(panel, legend), rows=row, cols=1)
    if compared:
        figure.update_xaxes(title_text=cuts.AXIS, title_standoff=4, row=len(found) + len(compared), col=1)
    return figure


def table(shown: Shown) -> Table:
    """The first of `tables`, without rows where there is none."""
    return next((found for _, found in tables(shown)), Table(HEADS, ()))


def tables(shown: Shown) -> list[tuple[str, Table]]:
    """Of each work a row per kernel and number of devices: its parts, the speed that they allow, and what is measured.

    Products from the host and resident ones, which are cut in several ways; where there are neither, the other works.
    """
    panels = _panels(shown, (COLD, RESIDENT)) or _panels(shown, STAYING)
    found: dict[str, list[tuple[str, ...]]] = {}
    for group, own in panels:
        found.setdefault(group.work, []).extend(_row(group, entry, shown) for entry in own)
    return [(work, Table(HEADS, tuple(found[work]))) for work in WORKS if work in found]


HEADS = (
    *PLACE,
    Head("kernel", numeric=False),
    Head("devices"),
    Head("smallest", "nonzeros"),
    Head("mean", "nonzeros"),
    Head("largest", "nonzeros"),
    Head("imbalance", "largest/mean"),
    Head("allows", "mean/largest"),
    Head("product", "balanced/this"),
)


def summary(shown: Shown) -> str:
    """What the bars are, the largest imbalance of each strategy that is drawn, and what is measured of it."""
    found, compared = _chosen(shown), cuts.compared(shown)
    if not found:
        return NO_PARTS
    said = "Nonzeros of each device; the dotted line is their mean. A product ends when the largest part does, so that "
    said += "mean/largest is the share of the ideal speed that the cut allows."
    worst: dict[str, float] = {}
    for _, own in found:
        for series, m in own:
            worst[_named(series)] = max(worst.get(_named(series), 0.0), imbalance(m) or 0.0)
    named = [f"{name} {units.ratio(value)} ({units.percent(1 / value)})" for name, value in worst.items() if value]
    said += f" Largest imbalance, and what it allows: {', '.join(named)}.{cuts.said(compared, shown)}"
    drawn = len(first_panels(found, _rows)) + len(first_panels(compared, cuts.rows))
    return said + left_out(drawn, len(found) + len(compared)) + virtual_note(group for group, _ in found)


def _chosen(shown: Shown) -> list[Panel]:
    """Of each matrix and partitioning the first work, with the devices that are spoken of, if several."""
    first: dict[tuple[str, str, str], Panel] = {}
    for group, own in _panels(shown, WORKS):
        number = number_of(group, shown)
        devices = number if number > 1 else group.most
        cut = [entry for entry in own if entry[1].devices == devices]
        if cut:
            first.setdefault((group.matrix_id, group.device, group.partitioning), (group, _different(cut)))
    return list(first.values())


def _different(own: list[Entry]) -> list[Entry]:
    """The first of those that cut alike."""
    return list({m.entries_by_device: (series, m) for series, m in reversed(own)}.values())[::-1]


def _panels(shown: Shown, works: Iterable[str]) -> list[Panel]:
    """Of each group what has several parts, by number of devices."""
    found = []
    for group in work_groups(shown, works):
        own = [(s, m) for s in group.series for m in s.timed if len(m.entries_by_device) > 1 and imbalance(m)]
        if own:
            found.append((group, sorted(own, key=lambda entry: entry[1].devices or 0)))
    return found


def _named(series: Series) -> str:
    """The strategy, or the work and what sets it apart."""
    return f"{series.variant}, {series.apart}" if series.apart else series.variant


def _number(series: Series) -> int:
    """The look of equal lines is that of the baseline in any work."""
    return by_variant(BASELINE if series.cut == LINES else series.variant)


def _rows(panel: Panel) -> int:
    return sum(len(m.entries_by_device) for _, m in panel[1])


def _row(group: WorkGroup, entry: Entry, shown: Shown) -> tuple[str, ...]:
    series, m = entry
    entries, own = m.entries_by_device, imbalance(m)
    sizes = (min(entries), sum(entries) / len(entries), max(entries))
    return (
        *place(group, shown),
        series.label,
        units.count(m.devices),
        *(units.count(size) for size in sizes),
        units.ratio(own),
        units.percent(1 / own if own else None),
        units.percent(group.cut_speed(series, m)),
    )


def _hover(series: Series, m: Measurement, name: str, entries: int) -> str:
    mean = sum(m.entries_by_device) / len(m.entries_by_device)
    size = f"{units.count(entries)} nonzeros, {units.ratio(entries / mean)} the mean"
    return f"<b>{escape(series.label)}</b>, {name}<br>{size}"
