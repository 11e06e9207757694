"""Nonzeros of each device, and the speed that their balance allows; Figure 6 of the MSREP paper."""

import plotly.graph_objects as go

from gpu_engine.records import Measurement
from web import units
from web.figures.base import Head, Table, blank, escape
from web.figures.panels import Legend
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
from web.scaling import (
    BASELINE,
    COLD,
    Series,
    WorkGroup,
    by_variant,
    imbalance,
    number_of,
    phases_of,
    work_groups,
)
from web.shown import Shown

BAR_PX = 13
NO_PARTS = "No matrix here was cut for two devices or more."

Cut = tuple[Series, Measurement]

Panel = tuple[WorkGroup, list[Cut]]


def draw(shown: Shown) -> go.Figure:
    """Nonzeros, a row a device, a bar a strategy, a panel per matrix and partitioning; the mean dotted."""
    found = first_panels(_chosen(shown), _rows)
    if not found:
        return blank(NO_PARTS)
    titles = [heading(group, shown, group.partitioning) for group, _ in found]
    rows = [[f"device {i}" for i in range(len(own[0][1].entries_by_device))] for _, own in found]
    variants = {series.variant for _, own in found for series, _ in own}
    figure = bar_panels(titles, rows, len(variants), "group", BAR_PX * max(len(own) for _, own in found) + 8)
    legend = Legend()
    for row, (_, own) in enumerate(found, start=1):
        for series, m in own:
            drawn = [
                (name, float(entries), _hover(series, m, name, entries))
                for name, entries in zip(rows[row - 1], m.entries_by_device, strict=True)
            ]
            figure.add_trace(bars(series.variant, by_variant(series.variant), drawn, legend), row=row, col=1)
        entries = own[0][1].entries_by_device
        figure.add_vline(
            x=sum(entries) / len(entries), line={"color": OTHERS, "dash": "dot", "width": 1.5}, row=row, col=1
        )
    figure.update_xaxes(title_text="nonzeros", title_standoff=4, row=len(found), col=1)
    return figure


def table(shown: Shown) -> Table:
    """A row per kernel and number of devices: its parts, the speed that they allow, and what is measured of it."""
    heads = (
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
    return Table(heads, tuple(_row(group, cut, shown) for group, own in _panels(shown) for cut in own))


def summary(shown: Shown) -> str:
    """What the bars are, and the largest imbalance of each strategy that is drawn."""
    found = _chosen(shown)
    if not found:
        return NO_PARTS
    said = "Nonzeros of each device; the dotted line is their mean. A product ends when the largest part does, so that "
    said += "mean/largest is the share of the ideal speed that the cut allows."
    worst: dict[str, float] = {}
    for _, own in found:
        for series, m in own:
            worst[series.variant] = max(worst.get(series.variant, 0.0), imbalance(m) or 0.0)
    named = [f"{name} {units.ratio(value)} ({units.percent(1 / value)})" for name, value in worst.items() if value]
    said += f" Largest imbalance, and what it allows: {', '.join(named)}."
    return said + left_out(len(first_panels(found, _rows)), len(found)) + virtual_note(group for group, _ in found)


def _chosen(shown: Shown) -> list[Panel]:
    """Of each group the number of devices that is spoken of; where that is one, the most."""
    found = []
    for group, own in _panels(shown):
        number = number_of(group, shown)
        devices = number if number > 1 else group.most
        cuts = [cut for cut in own if cut[1].devices == devices]
        if cuts:
            found.append((group, _different(cuts)))
    return found


def _different(cuts: list[Cut]) -> list[Cut]:
    """The first of those that cut alike."""
    return list({m.entries_by_device: (series, m) for series, m in reversed(cuts)}.values())[::-1]


def _panels(shown: Shown) -> list[Panel]:
    """Products from the host, which have strategies; of a matrix without any, the other works."""
    cold = work_groups(shown, (COLD,))
    known = {(group.matrix_id, group.device) for group in cold}
    others = [group for group in work_groups(shown) if (group.matrix_id, group.device) not in known]
    found = []
    for group in (*cold, *others):
        cuts = [(s, m) for s in group.series for m in s.timed if len(m.entries_by_device) > 1 and imbalance(m)]
        if cuts:
            found.append((group, sorted(cuts, key=lambda cut: (cut[1].devices or 0, by_variant(cut[0].variant)))))
    return found


def _rows(panel: Panel) -> int:
    return sum(len(m.entries_by_device) for _, m in panel[1])


def _row(group: WorkGroup, cut: Cut, shown: Shown) -> tuple[str, ...]:
    series, m = cut
    entries, own = m.entries_by_device, imbalance(m)
    sizes = (min(entries), sum(entries) / len(entries), max(entries))
    return (
        *place(group, shown),
        series.label,
        units.count(m.devices),
        *(units.count(size) for size in sizes),
        units.ratio(own),
        units.percent(1 / own if own else None),
        units.percent(_measured(group, series, m)),
    )


def _measured(group: WorkGroup, series: Series, m: Measurement) -> float | None:
    """The time of the balanced product over that of the baseline, both without cutting, copying and merging."""
    if series.variant != BASELINE:
        return None
    others = (other for other in group.series if other.variant != BASELINE)
    balanced = next((found for other in others if (found := other.on(m.devices or 0))), None)
    times = [phases_of(each).get("compute") for each in (balanced, m) if each]
    return times[0] / times[1] if len(times) == 2 and times[0] and times[1] else None


def _hover(series: Series, m: Measurement, name: str, entries: int) -> str:
    mean = sum(m.entries_by_device) / len(m.entries_by_device)
    size = f"{units.count(entries)} nonzeros, {units.ratio(entries / mean)} the mean"
    return f"<b>{escape(series.label)}</b>, {name}<br>{size}"
