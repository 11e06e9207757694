"""Dots of a comparison of two devices: speedup of the second per kernel, one dot per matrix, beside the bandwidths."""

from collections.abc import Sequence
from statistics import geometric_mean

from gpu_engine.findings.formats.device_pairs import DevicePair, KernelGain
from gpu_engine.text import units
from web.palette import mark_of
from web.plots.axis import Axis, log_axis
from web.plots.dots import Dot, DotRow, Dots, DotValue, Series

KERNELS_SHOWN = 12
BANDWIDTH = ("ring", "of-none")
"""Form and color of the ratio of bandwidths."""


def device_pair_dots(pair: DevicePair) -> Dots | None:
    """Return the dots of the kernels with most matrices, after the fastest kernel of each matrix; None without any."""
    if not pair.matrices:
        return None
    best = KernelGain("", tuple(pair.matrices), tuple(shared.gain for shared in pair.matrices))
    most = sorted(pair.gains, key=lambda gain: -len(gain.matrices))[:KERNELS_SHOWN]
    ranked = sorted(most, key=lambda gain: -geometric_mean(gain.speedups))
    rates = [rate for gain in (best, *ranked) if (rate := gain.bandwidth)]
    axis = log_axis([value for gain in (best, *ranked) for value in gain.speedups] + rates)
    return Dots(
        heading="Speedup of each kernel",
        series=(
            Series("geometric mean", "circle", "of-none"),
            Series("ratio of bandwidths", *BANDWIDTH, "measured copy bandwidth at the size of each matrix, mean"),
        ),
        ticks=axis.ticks(),
        one=axis.at(1.0),
        heads=("speedup", "per bandwidth", "matrices"),
        rows=(_row(best, axis, is_summary=True), *(_row(gain, axis) for gain in ranked)),
        what="kernel",
        wide=("matrices",),
        note="small: one matrix",
    )


def _row(gain: KernelGain, axis: Axis, is_summary: bool = False) -> DotRow:
    color, form = ("of-none", "circle") if is_summary else mark_of(gain.kernel)
    mean = geometric_mean(gain.speedups)
    rate = gain.bandwidth
    return DotRow(
        name="fastest of each matrix" if is_summary else gain.kernel,
        href="",
        dots=(*_small(gain.speedups, axis, form, color), *_rate(rate, axis), axis.dot(mean, form, color)),
        values=(
            DotValue(units.ratio(mean)),
            DotValue(units.ratio(mean / rate) if rate else units.MISSING),
            DotValue(units.count(len(gain.matrices))),
        ),
        is_summary=is_summary,
        color=color,
        form=form,
    )


def _small(speedups: Sequence[float], axis: Axis, form: str, color: str) -> tuple[Dot, ...]:
    """Return the dots of single matrices that the axis reaches; the table of values has all of them."""
    return tuple(axis.dot(value, form, color, is_small=True) for value in speedups if axis.holds(value))


def _rate(rate: float | None, axis: Axis) -> tuple[Dot, ...]:
    return (axis.dot(rate, *BANDWIDTH),) if rate and axis.holds(rate) else ()
