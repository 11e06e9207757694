"""Every case of a work in numbers; what has no time says why."""

from gpu_engine.records import Measurement
from gpu_engine.verdict import compare
from web import units
from web.figures.base import Head, Table
from web.figures.scaling.marks import PLACE, place
from web.scaling import LINES, Series, WorkGroup, work_groups
from web.scaling_cases import COLD, ITERATE, PAGERANK, imbalance
from web.shown import Shown

BESIDE = {
    COLD: (Head("against", "baseline"), Head("verdict", "on that", numeric=False)),
    ITERATE: (Head("exchanged", "an iteration"),),
    PAGERANK: (Head("exchanged", "an iteration"), Head("iterations")),
}
"""What only some works have."""

BESIDE_LIBRARY = (Head("against", "a library's"), Head("verdict", "on that", numeric=False))
"""Where some products are a library's: ours against the same kernel with that product."""


def cases(shown: Shown, work: str) -> Table:
    """A row per kernel and number of devices; products from the host also against the baseline with as many."""
    groups = work_groups(shown, (work,))
    beside = BESIDE_LIBRARY if any(series.competitor for group in groups for series in group.series) else ()
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
        *beside,
        Head("imbalance", "largest/mean"),
        Head("stored"),
        Head("max error", "ε(|A||x|)"),
        Head("note", numeric=False),
    )
    rows = [
        (*place(group, shown), series.label, units.count(m.devices), *_numbers(group, series, m, len(beside)), m.note)
        for group in groups
        for series in group.series
        for m in series.measurements
    ]
    return Table(heads, tuple(rows))


def _numbers(group: WorkGroup, series: Series, m: Measurement, beside_library: int) -> tuple[str, ...]:
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
        *_against(group.twin(series, m), m)[:beside_library],
        units.ratio(imbalance(m)),
        units.size(m.stored_bytes),
        units.number(m.max_error),
    )


def _beside(group: WorkGroup, series: Series, m: Measurement) -> tuple[str, ...]:
    """The cells under BESIDE."""
    if group.work == COLD:
        found = group.baseline(m.devices or 0, series.competitor) if series.cut != LINES else None
        return _against(found[1] if found else None, m)
    exchanged = "none" if m.exchanged_bytes == 0 else units.size(m.exchanged_bytes)
    return (exchanged, units.count(m.iterations))[: len(BESIDE.get(group.work, ()))]


def _against(other: Measurement | None, m: Measurement) -> tuple[str, str]:
    """Ratio and verdict: how many times as fast as the other."""
    if other is None or not m.median_s:
        return units.MISSING, units.MISSING
    verdict = compare(other, m)
    return units.ratio(verdict.ratio), verdict.kind
