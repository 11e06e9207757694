"""Noise checks: whether timings are too noisy to name a fastest kernel. Pure functions of the records."""

import statistics
from collections.abc import Sequence

from gpu_engine.records import Measurement
from gpu_engine.verdicts.verdict import NOISE_MAX, gap_text

SPREAD_MAX = 2.0
"""Limit of third quartile / fastest round for the median kernel. It is below 1.3 on a machine without other load."""

PROBE_MAX = 1.5
"""Limit of probe time / kernel time, corrected for compression. The maximum over 11,471 times of H200 GPUs is 1.3."""

WIDTH_MAX = 3.0
"""Limit of the width of a 95 % CI over the median. The maximum over 11,471 records of H200 GPUs is 1.1."""

BYTES_PER_NONZERO = 12
"""Bytes that a kernel without compression reads per nonzero: a value of 8 bytes and a column of 4."""


def noise(group: Sequence[Measurement]) -> str:
    """Return why the times of kernels measured together are too noisy to rank; empty if they are not.

    group  the measurements of one matrix on one device in one cache state; those without a time are ignored
    """
    timed = [m for m in group if m.median_s]
    reason = _aa_gap_is_large(timed) or _rounds_differ(timed) or _interval_is_wide(timed) or _probe_is_beaten(timed)
    if not reason:
        return ""
    return f"Too noisy to rank: {reason}. Close other programs on this machine and measure again."


def beats_copy(m: Measurement) -> bool:
    """Return whether a kernel is faster than the copy probe by more than PROBE_MAX, so that the probe was disturbed."""
    return _beyond(m, m.roofline_s) > PROBE_MAX


def _aa_gap_is_large(timed: Sequence[Measurement]) -> str:
    most = max((m.aa_gap or 0.0 for m in timed), default=0.0)
    return f"two runs of the control kernel differ by {gap_text(most)}" if most > NOISE_MAX else ""


def _rounds_differ(timed: Sequence[Measurement]) -> str:
    """Check the median kernel: all kernels share the rounds, so load on the machine shows in most of them."""
    spreads = [m.q3_s / m.min_s for m in timed if m.q3_s and m.min_s]
    typical = statistics.median(spreads) if spreads else 0.0
    reason = f"25 % of the rounds took more than {typical:.1f}\u202f× as long as the fastest round"
    return reason if typical > SPREAD_MAX else ""


def _interval_is_wide(timed: Sequence[Measurement]) -> str:
    """Check only kernels that may be the fastest: the noise of clearly slower kernels does not change the ranking."""
    ends = [m.ci_high_s for m in timed if m.ci_high_s]
    rivals = [m for m in timed if m.ci_low_s and m.ci_high_s and m.ci_low_s <= min(ends)]
    width = max(((m.ci_high_s - m.ci_low_s) / m.median_s for m in rivals), default=0.0)  # type: ignore[operator]
    return f"a confidence interval is {width:.1f}\u202f× as wide as its median" if width > WIDTH_MAX else ""


def _probe_is_beaten(timed: Sequence[Measurement]) -> str:
    """Check the probes: a kernel can be faster only by the bytes it saves; if by far more, the probe was disturbed."""
    probes = {
        "the gather probe": max((_beyond(m, m.gather_probe_s) for m in timed), default=0.0),
        "the copy probe": max((_beyond(m, m.roofline_s) for m in timed), default=0.0),
    }
    name, most = max(probes.items(), key=lambda probe: probe[1])
    return f"{name} took {most:.1f}\u202f× as long as a kernel that moves as many bytes" if most > PROBE_MAX else ""


def _beyond(m: Measurement, roofline_s: float | None) -> float:
    """Return probe time / time of one SpMV, divided by the compression of values and columns; 0 if unknown."""
    if not roofline_s or not m.gflops or not m.median_s or not m.stored_bytes or not m.details.is_one_product:
        return 0.0
    nnz = m.gflops * m.median_s * 1e9 / 2
    return roofline_s / m.median_s / max(1.0, BYTES_PER_NONZERO * nnz / m.stored_bytes)
