"""The verdict on two kernels measured in the same rounds: a pure function of their records."""

from dataclasses import dataclass
from typing import Literal

from gpu_engine.records import Measurement

VerdictKind = Literal["faster", "same", "slower", "ambiguous"]

SMALLEST_GAP = {"cuda": 0.01, "cpu": 0.02}
"""A smaller relative gap is `same` whatever the intervals say."""

NOISE_MAX = 0.05
"""Under this, what a kernel differs from itself by is small enough to call two kernels equal."""

ROUNDS_MIN = 9
"""Fewer rounds cannot carry a rank test at 5 %."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What may be said of `other` against `baseline`.

    ratio   baseline time / other time: above 1 the other is faster; None without two times
    reason  one sentence with the numbers that decided
    """

    kind: VerdictKind
    ratio: float | None
    reason: str


def compare(baseline: Measurement, other: Measurement) -> Verdict:
    """The verdict on `other` against `baseline`: same device, matrix and cache state, or `ambiguous` says why not.

    `same` when the gap is under the larger of 1 % (GPU), 2 % (CPU) and the gap between the reference kernel's two
    entries, and not over NOISE_MAX; `faster` or `slower` when the 95 % intervals of the medians lie apart, the slower
    one's quickest round is above three quarters of the faster one's, and on a GPU the gap holds in clock cycles too.
    """
    if (baseline.device, baseline.matrix_id, baseline.cache) != (other.device, other.matrix_id, other.cache):
        return Verdict("ambiguous", None, "Measured on different devices, matrices or cache states.")
    if not baseline.median_s or not other.median_s:
        return Verdict("ambiguous", None, "One of the two has no time.")
    ratio = baseline.median_s / other.median_s
    gap = abs(ratio - 1)
    limit = max(_smallest_gap(other), baseline.reference_gap or 0.0, other.reference_gap or 0.0)
    if gap <= limit and gap > NOISE_MAX:
        return Verdict(
            "ambiguous", ratio, f"A kernel differs from itself by {limit:.0%} here. Measure again, in quiet."
        )
    if gap <= limit:
        return Verdict("same", ratio, f"The gap of {gap:.1%} is within {limit:.1%}, what a kernel differs from itself.")
    doubt = _doubt(baseline, other, ratio, limit)
    if doubt:
        return Verdict("ambiguous", ratio, doubt)
    kind: VerdictKind = "faster" if ratio > 1 else "slower"
    return Verdict(kind, ratio, f"{gap:.1%} {kind}; intervals and rounds lie apart.")


def _smallest_gap(measurement: Measurement) -> float:
    return SMALLEST_GAP["cpu" if measurement.device.endswith("cpu") else "cuda"]


def _doubt(baseline: Measurement, other: Measurement, ratio: float, limit: float) -> str:
    """Why a gap over the limit still decides nothing; empty if it does."""
    rounds = min(len(baseline.samples_s), len(other.samples_s))
    if 0 < rounds < ROUNDS_MIN:
        return f"Only {rounds} rounds; at least {ROUNDS_MIN} are needed. Measure again with more."
    slow, fast = (baseline, other) if ratio > 1 else (other, baseline)
    if slow.ci_low_s is None or slow.min_s is None or fast.ci_high_s is None or fast.q3_s is None:
        return "One of the two has no interval."
    if fast.ci_high_s >= slow.ci_low_s:
        return "The 95 % intervals overlap. Measure again with more rounds."
    # Intervals of medians alone called 64 of 7,560 pairs of one kernel different; with the rounds apart, none.
    if fast.q3_s >= slow.min_s:
        return "The rounds of the two overlap: the slower one was as quick in some round as the faster one in most."
    if baseline.clock_hz and other.clock_hz:
        cycles = ratio * baseline.clock_hz / other.clock_hz
        if (cycles > 1) != (ratio > 1) or abs(cycles - 1) <= limit:
            return "The gap vanishes in clock cycles: the clock changed between the two."
    return ""
