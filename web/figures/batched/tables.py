"""Every kernel of the shown batches in numbers; what has no time says why."""

from gpu_engine.records import Measurement
from gpu_engine.verdict import compare
from web import units
from web.batches import BatchGroup, bandwidth, batch_groups, gain, largest, share_of_floor
from web.figures.base import Head, Table
from web.figures.batched.marks import PLACE, place
from web.shown import Shown


def kernels(shown: Shown) -> Table:
    """A row per batch and kernel, the fastest of each batch first; all against the fastest kernel of a library."""
    heads = (
        *PLACE,
        Head("problems"),
        Head("kernel", numeric=False),
        Head("rate", "GFLOP/s"),
        Head("time", "median"),
        Head("95 % interval"),
        Head("share of", "floor"),
        Head("against", "best library"),
        Head("verdict", numeric=False),
        Head("stored"),
        Head("bandwidth", "sustained"),
        Head("conversion", "from CSR"),
        Head("max error", "ε(|A||x|)"),
        Head("note", numeric=False),
    )
    rows = (
        (*place(group, shown), units.count(group.problems), m.kernel, *_numbers(m, group), m.note)
        for group in largest(batch_groups(shown), shown.batch)
        for m in group.measurements
    )
    return Table(heads, tuple(rows))


def _numbers(m: Measurement, group: BatchGroup) -> tuple[str, ...]:
    interval = f"{units.seconds(m.ci_low_s)} – {units.seconds(m.ci_high_s)}" if m.ci_low_s and m.ci_high_s else ""
    peer = group.peer
    return (
        units.number(m.gflops),
        units.seconds(m.median_s),
        interval or units.MISSING,
        units.percent(share_of_floor(m)),
        units.ratio(gain(peer, m)),
        _word(m, peer),
        units.size(m.stored_bytes),
        units.rate(bandwidth(m)),
        "none" if m.convert_s == 0 else units.seconds(m.convert_s),
        units.number(m.max_error),
    )


def _word(m: Measurement, peer: Measurement | None) -> str:
    if m.state != "ok":
        return m.state
    if peer is None:
        return units.MISSING
    return "baseline" if m is peer else compare(peer, m).kind
