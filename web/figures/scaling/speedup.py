"""Speedup over one device; Figures 21 to 23 of the MSREP paper.

One figure has SpMV `from_host`, over a common time on one device; the other has matrices `staying` on the devices.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import INTERVAL
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.findings.scaling.cases import COLD, ITSELF, STAYING, WORKS, SpeedUp, no_control_text
from gpu_engine.findings.scaling.groups import WorkGroup, by_work, devices_in_words, work_groups
from gpu_engine.findings.scaling.series import BASELINE, Series
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.verdicts.verdict import verdict_text
from web.figures.base import blank, caption, escape
from web.figures.busy import evidence
from web.figures.highlighting import NAMED_MAX
from web.figures.panels import Legend, Panels, panels
from web.figures.scaling.markers import PLACE, Panel, left_out, line, virtual_note

PANEL_PX = 220
PANELS_MAX = 9
"""Maximum number of panels: nobody reads more, and the table has all."""

NO_BASE = "No partitioning was timed on both one and several devices with the same workload."

OVER_ITSELF = "the same kernel on one device"
OVER_BASELINE = f"{BASELINE} with the same partitioning on one device"


@dataclass(frozen=True, slots=True)
class Curve:
    """A series with times on several devices, and `base`, its time on one device."""

    series: Series
    points: tuple[tuple[Measurement, SpeedUp], ...]
    base: Measurement | None


@dataclass(frozen=True, slots=True)
class SpeedUps:
    """The curves of all partitionings per matrix and workload; for SpMV from the host, a panel per partitioning.

    lead          the workload, with which the summary starts
    over          the base of the speedups, and its exceptions
    furthest      largest speedup of each panel with the most devices, of a Sparsight series if there is one
    without_base  series that run on several devices and have no base on one
    noise         the sentence on the two runs of the control kernel (A/A)
    virtual       the sentence on simulated devices
    """

    lead: str
    over: str
    curves: Panels[Panel[Curve]]
    furthest: tuple[tuple[Series, Measurement, SpeedUp], ...]
    without_base: tuple[str, ...]
    noise: str
    virtual: str


def info(data: StudyData, works: Sequence[str], lead: str) -> SpeedUps:
    """Return a panel for the first group of each matrix and workload."""
    groups, from_the_host = work_groups(data, works), works == (COLD,)
    every = []
    for panel_groups in [[group] for group in groups] if from_the_host else by_work(groups):
        curves = tuple(_curve(group, series) for group in panel_groups for series in group.series)
        if several := tuple(curve for curve in curves if any(m.details.devices != 1 for m, _ in curve.points)):
            every.append(Panel(data.matrix(panel_groups[0].matrix_id).name, panel_groups[0], several))
    return SpeedUps(
        lead,
        _over(groups) if from_the_host else OVER_ITSELF,
        Panels(tuple(every), PANELS_MAX),
        tuple(_furthest(panel.items) for panel in every),
        tuple(
            f"{series.label} on {data.matrix(group.matrix_id).name}"
            for group in groups
            for series in group.series
            if series.timed and group.gain(series, series.timed[-1]) is None
        ),
        _noise([m for panel in every for curve in panel.items for m, _ in curve.points]),
        virtual_note(groups),
    )


from_host = partial(
    info, works=(COLD,), lead="SpMV from host arrays to y on the host: partition, transfer, multiply, and merge."
)
"""Info of SpMV from the host: partitioning, transfers, and merge count."""

staying = partial(
    info,
    works=STAYING,
    lead="Matrix and vectors stay on the devices; transfers do not count.",
)
"""Info of resident SpMV, iterations, and PageRank; a panel has one workload."""


def draw(info: SpeedUps) -> go.Figure:
    """Return the speedup over the number of devices, a line per series, a panel per workload and matrix."""
    first = info.curves.visible
    if not first:
        return blank(NO_BASE)
    named = _named(first)
    figure = panels(
        [_title(panel) for panel in first], [PANEL_PX] * len(first), 2 * len({*named.values()}) + 2, across=3
    )
    legend = Legend()
    for row, panel in enumerate(first, start=1):
        counts = sorted({m.details.devices or 0 for curve in panel.items for m, _ in curve.points})
        figure.add_trace(_ideal(counts[-1], legend), row=row, col=1)
        # Named lines lie above the others.
        for curve in sorted(panel.items, key=lambda curve: curve.series.label in named):
            figure.add_trace(_line(curve, named, legend), row=row, col=1)
        margin = 0.04 * counts[-1]
        figure.update_xaxes(tickvals=counts, range=[1 - margin, counts[-1] + margin], row=row, col=1)
    figure.update_yaxes(rangemode="tozero", title_text="speedup", ticksuffix=f"{units.THIN}×")
    figure.update_xaxes(title_text="devices", title_standoff=4, row=len(first), col=1)
    return figure


def table(info: SpeedUps) -> Table:
    """Return a row per series and number of devices."""
    heads = (
        *PLACE,
        Head("workload", numeric=False),
        Head("kernel", numeric=False),
        Head("devices"),
        Head("time", "median"),
        Head("speedup", "over one device" if info.over == OVER_ITSELF else f"over {BASELINE} on one"),
        Head(INTERVAL),
        Head("efficiency", "% of ideal"),
        Head("verdict", numeric=False),
    )
    rows = (
        (*panel.place, WORKS[panel.group.work], curve.series.label, *_cells(curve.series, m, gain))
        for panel in info.curves.panels
        for curve in panel.items
        for m, gain in curve.points
    )
    return Table(heads, tuple(rows)).without_empty(INTERVAL)


def summary(info: SpeedUps) -> str:
    """Return what the lines are, the largest speedup on each matrix, and the series without a base."""
    without = f"No speedup, because the time on one device is missing: {join(info.without_base, NAMED)}."
    without = without if info.without_base else ""
    if not info.curves.panels:
        return f"{NO_BASE} {without}".strip()
    text = f"{info.lead} Speedup over {info.over}. Dotted: ideal (linear) speedup."
    highlights = list(zip(info.curves.visible, info.furthest, strict=False))
    sentences = [
        f"On {panel.matrix}, {panel.group.device}, {WORKS[panel.group.work]}: {series.label} reaches "
        f"{units.ratio(gain.value)} with {devices_in_words(m.details.devices or 0, panel.group.virtual)}."
        for panel, (series, m, gain) in highlights[:NAMED]
    ]
    others = "The table has the others." if highlights[NAMED:] else ""
    return caption(f"{text}{left_out(info.curves)}", (), (*sentences, others, without, info.noise, info.virtual))


def _over(groups: Sequence[WorkGroup]) -> str:
    """Return the base of SpMV from the host; a base other than the baseline is named."""
    bases = [group.common_base[0] for group in groups if group.common_base]
    others = dict.fromkeys(series.label for series in bases if series.variant != BASELINE)
    return OVER_BASELINE + (f" (if not timed: {join([*others], NAMED)})" if others else "")


def _noise(measurements: Sequence[Measurement]) -> str:
    """Return the largest gap between the two runs of a control kernel, as a sentence."""
    gaps = [m.aa_gap for m in measurements if m.aa_gap is not None]
    if len(gaps) < len(measurements):
        return no_control_text()
    return f"The two runs of the control kernel differ by at most {units.percent(max(gaps))}." if gaps else ""


def _curve(group: WorkGroup, series: Series) -> Curve:
    """Return the series with its base on one device, its own or a common one, and its times on several."""
    timed = [series.base] if series.base else []
    timed += [m for m in series.timed if m.details.devices and m.details.devices > 1]
    return Curve(series, tuple((m, gain) for m in timed if (gain := group.gain(series, m))), group.base(series))


def _furthest(curves: Sequence[Curve]) -> tuple[Series, Measurement, SpeedUp]:
    ours = [curve for curve in curves if not curve.series.competitor]
    ends = [(curve.series, *curve.points[-1]) for curve in ours or curves]
    most = max(m.details.devices or 0 for _, m, _ in ends)
    return max((end for end in ends if end[1].details.devices == most), key=lambda end: end[2].value)


def _title(panel: Panel[Curve]) -> str:
    return panel.title(panel.group.partitioning if panel.group.work == COLD else WORKS[panel.group.work])


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


def _named(panels: Sequence[Panel[Curve]]) -> dict[str, str]:
    """Return legend names by label; of many series, those of the baselines and of the largest speedups."""
    # If each panel has one partitioning, its color identifies it. A narrow screen has no room for more words.
    one = all(len({curve.series.partitioning for curve in panel.items}) == 1 for panel in panels)
    every = [curve.series for panel in panels for curve in panel.items]
    names = {s.label: (s.label.partition("/")[2] if one else s.label) for s in every}
    if len({*names.values()}) <= NAMED_MAX:
        return names
    chosen = {series.label for series in every if series.variant == BASELINE and not series.competitor}
    for panel in panels:
        for competitor in (False, True):
            curves = [curve for curve in panel.items if bool(curve.series.competitor) == competitor]
            chosen |= {_furthest(curves)[0].label} if curves else set()
    return {label: name for label, name in names.items() if label in chosen}


def _line(curve: Curve, named: Mapping[str, str], legend: Legend) -> go.Scatter:
    gains = [gain for _, gain in curve.points]
    ends = [(gain.low or gain.value, gain.high or gain.value) for gain in gains]
    errors = {
        "type": "data",
        "symmetric": False,
        "array": [high - gain.value for gain, (_, high) in zip(gains, ends, strict=True)],
        "arrayminus": [gain.value - low for gain, (low, _) in zip(gains, ends, strict=True)],
        "width": 3,
    }
    points = [(m.details.devices or 0, gain.value) for m, gain in curve.points]
    texts = [_hover(curve.series, m, gain) for m, gain in curve.points]
    of = evidence([m, curve.base] if curve.base else [m] for m, _ in curve.points)
    return line(curve.series, points, legend, texts, errors, named.get(curve.series.label, "")).update(of)


def _hover(series: Series, m: Measurement, gain: SpeedUp) -> str:
    lines = (
        f"<b>{escape(series.label)}</b>, {devices_in_words(m.details.devices or 0, virtual=False)}",
        f"speedup {units.ratio(gain.value)}, efficiency {units.percent(_efficiency(series, m))}",
        f"median {units.seconds(m.median_s)}",
    )
    return "<br>".join(lines)


def _efficiency(series: Series, m: Measurement) -> float | None:
    """Return the speedup of a kernel over itself on one device, divided by the number of devices."""
    speedup = series.gain(m)
    return speedup.value / (m.details.devices or 1) if speedup else None


def _cells(series: Series, m: Measurement, gain: SpeedUp) -> tuple[str, ...]:
    interval = f"{units.ratio(gain.low)} – {units.ratio(gain.high)}" if gain.low and gain != ITSELF else units.MISSING
    return (
        units.count(m.details.devices),
        units.seconds(m.median_s),
        units.ratio(gain.value),
        interval,
        units.percent(_efficiency(series, m)),
        "one device" if gain == ITSELF else verdict_text(gain.kind),
    )
