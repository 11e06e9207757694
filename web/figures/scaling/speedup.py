"""How many times as fast as on one device; Figures 21 to 23 of the MSREP paper. `cold` and `staying` draw it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.records import Measurement
from web import units
from web.comparison import NAMED, join
from web.figures.base import Head, Table, blank, escape
from web.figures.panels import Legend, panels
from web.figures.scaling.marks import PLACE, heading, left_out, line, place, virtual_note
from web.scaling import Series, WorkGroup, by_work, in_words, work_groups
from web.scaling_cases import COLD, WORKS, SpeedUp
from web.shown import Shown

PANEL_PX = 300
PANELS_MAX = 6
"""More panels one above the other nobody reads; the table has all."""

NO_BASE = "Nothing here has a time on one device and on several of the same partitioning, strategy and work."


@dataclass(frozen=True, slots=True)
class Curve:
    """A series that has a time on one device and on several."""

    series: Series
    points: tuple[tuple[Measurement, SpeedUp], ...]


Panel = tuple[WorkGroup, list[Curve]]


def draw(shown: Shown, works: Iterable[str]) -> go.Figure:
    """Speed-up over the number of devices, a line a series, a panel a work and matrix; the ideal line dotted."""
    found = curves(shown, works)[:PANELS_MAX]
    if not found:
        return blank(NO_BASE)
    labels = {curve.series.label for _, own in found for curve in own}
    figure = panels([_title(group, shown) for group, _ in found], [PANEL_PX] * len(found), 2 * len(labels) + 1)
    legend = Legend()
    for row, (_, own) in enumerate(found, start=1):
        counts = sorted({m.devices or 0 for curve in own for m, _ in curve.points})
        figure.add_trace(_ideal(counts[-1], legend), row=row, col=1)
        for curve in own:
            figure.add_trace(_line(curve, legend), row=row, col=1)
        margin = 0.04 * counts[-1]
        figure.update_xaxes(tickvals=counts, range=[1 - margin, counts[-1] + margin], row=row, col=1)
    figure.update_yaxes(rangemode="tozero", title_text="speed-up", ticksuffix=f"{units.THIN}×")
    figure.update_xaxes(title_text="devices", title_standoff=4, row=len(found), col=1)
    return figure


def table(shown: Shown, works: Iterable[str]) -> Table:
    """A row per series and number of devices, each over its own time on one device."""
    heads = (
        *PLACE,
        Head("work", numeric=False),
        Head("kernel", numeric=False),
        Head("devices"),
        Head("time", "median"),
        Head("speed-up", "over one device"),
        Head("interval"),
        Head("share of", "ideal"),
        Head("verdict", numeric=False),
    )
    rows = [
        (*place(group, shown), WORKS[group.work], curve.series.label, *_numbers(m, gain))
        for group, own in curves(shown, works)
        for curve in own
        for m, gain in curve.points
    ]
    return Table(heads, tuple(rows))


def summary(shown: Shown, works: Iterable[str], of: str) -> str:
    """What the lines are, which of ours goes furthest on each matrix, and what has nothing to be held against."""
    wanted = tuple(works)
    found, groups = curves(shown, wanted), work_groups(shown, wanted)
    without = _without_base(groups, shown)
    if not found:
        return NO_BASE + without
    said = f"{of} how many times as fast as the same kernel on one device; the dotted line is the ideal, as many times "
    said += "as there are devices."
    for group, own in found[:PANELS_MAX]:
        best, m, gain = _furthest(own)
        where = f"{shown.matrix(group.matrix_id).name}, {group.device}, {WORKS[group.work]}"
        said += f" On {where}: {best.label} reaches {units.ratio(gain.value)} with "
        said += f"{in_words(m.devices or 0, group.virtual)}."
    return said + without + left_out(min(len(found), PANELS_MAX), len(found)) + virtual_note(groups)


def curves(shown: Shown, works: Iterable[str]) -> list[Panel]:
    """Of each matrix and work the first group, and the series of all that have a time on one device and on several."""
    found = []
    for groups in by_work(work_groups(shown, works)):
        own = [curve for group in groups for series in group.series if len((curve := _curve(series)).points) > 1]
        if own:
            found.append((groups[0], own))
    return found


def _curve(series: Series) -> Curve:
    """Its base and what runs on several devices."""
    timed = [series.base] if series.base else []
    timed += [m for m in series.timed if m.devices and m.devices > 1]
    return Curve(series, tuple((m, gain) for m in timed if (gain := series.gain(m))))


def _furthest(own: Sequence[Curve]) -> tuple[Series, Measurement, SpeedUp]:
    """The largest speed-up with the most devices, of ours where one of them has any."""
    ours = [curve for curve in own if not curve.series.competitor]
    ends = [(curve.series, *curve.points[-1]) for curve in ours or own]
    most = max(m.devices or 0 for _, m, _ in ends)
    return max((end for end in ends if end[1].devices == most), key=lambda end: end[2].value)


def _without_base(groups: Sequence[WorkGroup], shown: Shown) -> str:
    """A sentence on what runs on several devices and has no time on one."""
    missing = [
        f"{series.label} on {shown.matrix(group.matrix_id).name}"
        for group in groups
        for series in group.series
        if series.base is None and series.timed
    ]
    if not missing:
        return ""
    return f" Without a time on one device, and so without a speed-up: {join(missing, NAMED)}."


def _title(group: WorkGroup, shown: Shown) -> str:
    return heading(group, shown, *(() if group.work == COLD else (WORKS[group.work],)))


def _ideal(most: int, legend: Legend) -> go.Scatter:
    return go.Scatter(
        **legend.entry("ideal"),
        x=[1, most],
        y=[1.0, float(most)],
        mode="lines",
        line={"dash": "dot", "width": 1.5},
        hoverinfo="skip",
        meta={"role": "roof"},
    )


def _line(curve: Curve, legend: Legend) -> go.Scatter:
    gains = [gain for _, gain in curve.points]
    ends = [(gain.low or gain.value, gain.high or gain.value) for gain in gains]
    errors = {
        "type": "data",
        "symmetric": False,
        "array": [high - gain.value for gain, (_, high) in zip(gains, ends, strict=True)],
        "arrayminus": [gain.value - low for gain, (low, _) in zip(gains, ends, strict=True)],
        "width": 3,
    }
    points = [(m.devices or 0, gain.value) for m, gain in curve.points]
    return line(curve.series, points, legend, [_hover(curve.series, m, gain) for m, gain in curve.points], errors)


def _hover(series: Series, m: Measurement, gain: SpeedUp) -> str:
    share = units.percent(gain.value / (m.devices or 1))
    lines = (
        f"<b>{escape(series.label)}</b>, {in_words(m.devices or 0, virtual=False)}",
        f"{units.ratio(gain.value)}, {share} of the ideal",
        f"median {units.seconds(m.median_s)}",
    )
    return "<br>".join(lines)


def _numbers(m: Measurement, gain: SpeedUp) -> tuple[str, ...]:
    alone = m.devices == 1
    interval = f"{units.ratio(gain.low)} – {units.ratio(gain.high)}" if gain.low and not alone else units.MISSING
    return (
        units.count(m.devices),
        units.seconds(m.median_s),
        units.ratio(gain.value),
        interval,
        units.percent(gain.value / (m.devices or 1)),
        "one device" if alone else gain.kind,
    )
