"""Every case of a work in numbers; what has no time says why."""

from gpu_engine.records import Measurement
from gpu_engine.verdict import compare
from web import units
from web.figures.base import Head, Table
from web.figures.scaling.marks import PLACE, place
from web.scaling import BASELINE, COLD, ITERATE, PAGERANK, Series, WorkGroup, imbalance, work_groups
from web.shown import Shown

BESIDE = {
    COLD: (Head("against", "baseline"), Head("verdict", "on that", numeric=False)),
    ITERATE: (Head("exchanged", "an iteration"),),
    PAGERANK: (Head("exchanged", "an iteration"), Head("iterations")),
}
"""What only some works have."""


def cases(shown: Shown, work: str) -> Table:
    """A row per kernel and number of devices; products from the host also against the baseline with as many."""
    heads = (
        *PLACE,
        Head("kernel", numeric=False),
        Head("devices"),
        Head("time", "median"),
        Head("95 % interval"),
        Head("rate", "GFLOP/s"),
        Head("speed-up", "over one device"),
        Head("verdict", "on that", numeric=False),
        *BESIDE.get(work, ()),
        Head("imbalance", "largest/mean"),
        Head("stored"),
        Head("max error", "ε(|A||x|)"),
        Head("note", numeric=False),
    )
    rows = [
        (*place(group, shown), series.label, units.count(m.devices), *_numbers(group, series, m), m.note)
        for group in work_groups(shown, (work,))
        for series in group.series
        for m in series.measurements
    ]
    return Table(heads, tuple(rows))


def _numbers(group: WorkGroup, series: Series, m: Measurement) -> tuple[str, ...]:
    interval = f"{units.seconds(m.ci_low_s)} – {units.seconds(m.ci_high_s)}" if m.ci_low_s and m.ci_high_s else ""
    gain = series.gain(m)
    over_one = "one device" if gain and m.devices == 1 else gain.kind if gain else units.MISSING
    return (
        units.seconds(m.median_s),
        interval or units.MISSING,
        units.number(m.gflops),
        units.ratio(gain.value if gain else None),
        over_one if m.state == "ok" else m.state,
        *_beside(group, series, m),
        units.ratio(imbalance(m)),
        units.size(m.stored_bytes),
        units.number(m.max_error),
    )


def _beside(group: WorkGroup, series: Series, m: Measurement) -> tuple[str, ...]:
    """The cells under BESIDE."""
    if group.work == COLD:
        return _against(group, series, m)
    exchanged = "none" if m.exchanged_bytes == 0 else units.size(m.exchanged_bytes)
    return (exchanged, units.count(m.iterations))[: len(BESIDE.get(group.work, ()))]


def _against(group: WorkGroup, series: Series, m: Measurement) -> tuple[str, str]:
    """Ratio and verdict against the baseline of the same partitioning with as many devices."""
    found = group.baseline(m.devices or 0)
    if found is None or not m.median_s or series.variant == BASELINE:
        return units.MISSING, units.MISSING
    verdict = compare(found[1], m)
    return units.ratio(verdict.ratio), verdict.kind
