"""Whether a machine was too busy for its times to name a leader: a pure function of the records."""

import statistics
from collections.abc import Sequence

from gpu_engine.records import Measurement
from gpu_engine.verdicts.verdict import NOISE_MAX, gap_text

SPREAD_MAX = 2.0
"""Third quartile of the rounds over the quickest round, of the typical kernel. On a quiet machine it is under 1.3."""

PROBE_MAX = 1.5
"""A floor over the time of a kernel, after what it stores less. Over 9,548 times of an H200 the highest is 1.03."""

WIDTH_MAX = 3.0
"""The 95 % interval of a kernel over its median. Of 7,198 records of H200 GPUs the widest is 1."""

BYTES_PER_NONZERO = 12
"""Of a kernel without compression: a value of 8 bytes and a column of 4."""


def noise(group: Sequence[Measurement]) -> str:
    """Why the times of kernels measured together name no leader, as one sentence; empty where they may.

    group  the measurements of one matrix on one device in one cache state; those without a time say nothing
    """
    timed = [m for m in group if m.median_s]
    reason = _differs_from_itself(timed) or _rounds_differ(timed) or _interval_is_wide(timed) or _probe_is_beaten(timed)
    return f"This machine was busy: {reason}. Nothing leads here; measure again in quiet." if reason else ""


def beats_copy(m: Measurement) -> bool:
    """Whether a kernel is so much quicker than the copy probe allows that the probe was held up."""
    return _beyond(m, m.roofline_s) > PROBE_MAX


def _differs_from_itself(timed: Sequence[Measurement]) -> str:
    most = max((m.aa_gap or 0.0 for m in timed), default=0.0)
    return f"the reference kernel differs from itself by {gap_text(most)}" if most > NOISE_MAX else ""


def _rounds_differ(timed: Sequence[Measurement]) -> str:
    """All kernels share the rounds, so that a busy machine shows in most of them and an unsteady kernel in one."""
    spreads = [m.q3_s / m.min_s for m in timed if m.q3_s and m.min_s]
    typical = statistics.median(spreads) if spreads else 0.0
    return f"a quarter of the rounds took over {typical:.1f} times the quickest" if typical > SPREAD_MAX else ""


def _interval_is_wide(timed: Sequence[Measurement]) -> str:
    """Of the kernels that may be the fastest: what is slower for certain may be as unsteady as it likes."""
    ends = [m.ci_high_s for m in timed if m.ci_high_s]
    rivals = [m for m in timed if m.ci_low_s and m.ci_high_s and m.ci_low_s <= min(ends)]
    width = max(((m.ci_high_s - m.ci_low_s) / m.median_s for m in rivals), default=0.0)  # type: ignore[operator]
    return f"an interval is {width:.1f} times as wide as the median in it" if width > WIDTH_MAX else ""


def _probe_is_beaten(timed: Sequence[Measurement]) -> str:
    """A kernel is quicker than a probe by the bytes that it stores less: where by far more, the probe was held up."""
    probes = {
        "the gather probe": max((_beyond(m, m.gather_probe_s) for m in timed), default=0.0),
        "the copy probe": max((_beyond(m, m.roofline_s) for m in timed), default=0.0),
    }
    name, most = max(probes.items(), key=lambda probe: probe[1])
    return f"{name} took {most:.1f} times as long as the bytes of a kernel allow" if most > PROBE_MAX else ""


def _beyond(m: Measurement, roofline_s: float | None) -> float:
    """A floor over the time of one product, divided by what its layout saves of value and column of each nonzero."""
    if not roofline_s or not m.gflops or not m.median_s or not m.stored_bytes or not m.details.is_one_product:
        return 0.0
    nnz = m.gflops * m.median_s * 1e9 / 2
    return roofline_s / m.median_s / max(1.0, BYTES_PER_NONZERO * nnz / m.stored_bytes)
