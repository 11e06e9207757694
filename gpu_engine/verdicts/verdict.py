"""Verdicts on two kernels measured in the same rounds: pure functions of their records."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gpu_engine.measure.statistics import reach
from gpu_engine.records import Measurement
from gpu_engine.rounds import SHOWN_ROUNDS_MIN
from gpu_engine.text import units

VerdictKind = Literal["faster", "same", "slower", "inconclusive"]

SMALLEST_GAP = {"cuda": 0.01, "cpu": 0.02}
"""Backend → relative differences below this are ignored."""

EQUIVALENCE = {"cuda": 0.03, "cpu": 0.05}
"""Backend → relative difference that the confidence intervals must rule out for the verdict `same`."""

NOISE_MAX = 0.05
"""Largest noise threshold (relative) at which kernels can be equal, and at which a fastest one is named."""

UNKNOWN_GAP: Mapping[str, float] = {"formats": 0.074, "pagerank": 0.003, "batched": 0.059, "scaling": 0.102}
"""Study → A/A gap (relative) that is assumed for records without a control kernel.

The largest gap between the two runs of the control kernel on H200 GPUs, over 162, 8, 30 and 32 groups of rounds
(2026-11-22). CPUs use the same values, because no CPU was recorded. All other studies record a control kernel.
"""

GAP_AS_FACTOR = 10
"""Ratio of two times from which their gap is printed as a factor instead of percent."""

SHOWN_MIN = 0.0005
"""Relative gap below which one decimal of a percentage would be 0.0."""

NO_CONTROL = "No control kernel in this run; noise assumed to be"
"""Sentence, without the assumed gap, that ends the reason of a verdict on records without a control kernel."""

NO_INTERVAL = "One of the two timings has no confidence interval."
"""Reason of a verdict on a timing with no rounds and no confidence interval."""

ROUNDS_MIN = SHOWN_ROUNDS_MIN
"""Rounds from which confidence intervals decide; fewer must be separated by the factors of SEPARATION_BY_ROUNDS."""

SEPARATION_BY_ROUNDS: Mapping[int, float] = {2: 10.0, 3: 10.0, 4: 5.0, 5: 1.05, 6: 1.05, 7: 1.02, 8: 1.02}
"""Rounds → factor by which the slower kernel's fastest round must exceed the faster kernel's slowest round.

Fewer than five rounds separate only kernels with very different times; one round decides nothing.
"""

MIN_ROUNDS_FOR_VERDICT = min(SEPARATION_BY_ROUNDS)
"""Least number of rounds with which a verdict is possible."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of comparing `other` with `baseline`.

    ratio   speedup: baseline time / other time, above 1 if the other is faster; None without two times
    reason  one or two sentences with the numbers that decided
    """

    kind: VerdictKind
    ratio: float | None
    reason: str


def compare(baseline: Measurement, other: Measurement) -> Verdict:
    """Return the verdict on `other` against `baseline`; `inconclusive` if device, matrix, or cache state differ.

    The noise threshold is the larger of SMALLEST_GAP and the A/A gap of the control kernel (UNKNOWN_GAP without one).
    `same`: the gap is within the threshold, the threshold is within NOISE_MAX, and the 95 % CI of the ratio is within
    EQUIVALENCE. `faster` or `slower`: the gap exceeds the threshold, the 95 % CIs of the medians do not overlap, the
    slower kernel's fastest round is above the third quartile of the faster one, and on a GPU the gap holds in clock
    cycles too. With fewer than ROUNDS_MIN rounds two kernels are never `same`, and their rounds must be separated by
    SEPARATION_BY_ROUNDS and the threshold.
    """
    if (baseline.device, baseline.matrix_id, baseline.cache) != (other.device, other.matrix_id, other.cache):
        return Verdict("inconclusive", None, "Measured on different devices, matrices or cache states.")
    if not baseline.median_s or not other.median_s:
        return Verdict("inconclusive", None, "One of the two kernels was not timed.")
    ratio = baseline.median_s / other.median_s
    interval = interval_of_ratio(baseline, other)
    if interval is None and not (baseline.few_rounds_s or other.few_rounds_s):
        return Verdict("inconclusive", ratio, NO_INTERVAL)
    if ratio == 1.0 and _times(baseline) == _times(other):
        return Verdict("same", 1.0, "Identical: both names refer to the same measurement.")
    gap, is_known = _aa_gap(baseline, other)
    verdict = _verdict_on_times(baseline, other, ratio, interval, gap)
    return (
        verdict
        if is_known
        else dataclasses.replace(verdict, reason=f"{verdict.reason} {NO_CONTROL} {percent_text(gap)}.")
    )


def threshold_between(baseline: Measurement, other: Measurement) -> float:
    """Return the noise threshold of `compare` as a relative gap."""
    return noise_threshold(other.backend, _aa_gap(baseline, other)[0])


def _aa_gap(baseline: Measurement, other: Measurement) -> tuple[float, bool]:
    """Return the larger A/A gap of two kernels, and whether a control kernel was measured; else the gap is assumed."""
    gaps = [m.aa_gap for m in (baseline, other) if m.aa_gap is not None]
    return (max(gaps), True) if gaps else (UNKNOWN_GAP.get(baseline.study, max(UNKNOWN_GAP.values())), False)


def _times(m: Measurement) -> tuple[object, ...]:
    """Return all values that a record has about its rounds."""
    return m.samples_s, m.min_s, m.q1_s, m.median_s, m.q3_s, m.ci_low_s, m.ci_high_s, m.clock_hz


def _verdict_on_times(
    baseline: Measurement, other: Measurement, ratio: float, interval: tuple[float, float] | None, aa_gap: float
) -> Verdict:
    limit = noise_threshold(other.backend, aa_gap)
    few = _too_few(baseline, other, limit)
    if not few and interval and abs(ratio - 1) <= limit:
        return _equivalence(ratio, interval, limit, EQUIVALENCE[other.backend])
    doubt = few or _no_difference(baseline, other, ratio, limit)
    if doubt:
        return Verdict("inconclusive", ratio, doubt)
    kind: VerdictKind = "faster" if ratio > 1 else "slower"
    return Verdict(kind, ratio, f"{speedup_text(ratio).capitalize()}; confidence intervals and rounds do not overlap.")


def noise_threshold(backend: str, aa_gap: float) -> float:
    """Return the noise threshold as a relative gap: the A/A gap, but at least SMALLEST_GAP of the backend."""
    return max(SMALLEST_GAP[backend], aa_gap)


def rounds_apart(rounds: int) -> float:
    """Return the factor of SEPARATION_BY_ROUNDS: 1 from ROUNDS_MIN on, infinite below MIN_ROUNDS_FOR_VERDICT."""
    return 1.0 if rounds >= ROUNDS_MIN else SEPARATION_BY_ROUNDS.get(rounds, math.inf)


def factor(ratio: float) -> float:
    """Return a ratio of times as a factor of at least 1: the speedup, or the slowdown if the ratio is below 1."""
    return max(ratio, 1 / ratio)


def speedup_text(ratio: float) -> str:
    """Return `speedup 1.25 ×`, `slowdown 3.60 ×`, or `same time` if the ratio rounds to 1 at three digits."""
    size = units.ratio(factor(ratio))
    return "same time" if size == units.ratio(1.0) else f"{'speedup' if ratio > 1 else 'slowdown'} {size}"


def speedup_over(ratio: float, name: str) -> str:
    """Return `speedup 1.25 × over NAME`, `slowdown 3.60 × against NAME`, or `same time as NAME`."""
    words = speedup_text(ratio)
    return f"{words} {'as' if words[-1] != '×' else 'over' if ratio > 1 else 'against'} {name}"


def verdict_text(kind: str) -> str:
    """Return the word for a verdict or state in texts and tables: `equal` for `same`, else the id itself."""
    return "equal" if kind == "same" else kind


def interval_of_ratio(baseline: Measurement, other: Measurement) -> tuple[float, float] | None:
    """Return the 95 % CI of baseline time / other time, from the CIs of the two medians; None without both.

    The distances of the ends are added in squares, as logarithms (Zou and Donner, 2008, DOI 10.1002/sim.3095). A drift
    common to both kernels is in both intervals, so the result is rather too wide than too narrow.
    """
    if not (baseline.median_s and baseline.ci_low_s and baseline.ci_high_s):
        return None
    if not (other.median_s and other.ci_low_s and other.ci_high_s):
        return None
    ratio = baseline.median_s / other.median_s
    below = math.hypot(math.log(baseline.median_s / baseline.ci_low_s), math.log(other.ci_high_s / other.median_s))
    above = math.hypot(math.log(baseline.ci_high_s / baseline.median_s), math.log(other.median_s / other.ci_low_s))
    return ratio * math.exp(-below), ratio * math.exp(above)


def percent_text(share: float) -> str:
    """Return a share of 1 in percent with one decimal: `10.2 %`."""
    return f"{100 * share:.1f}{units.THIN}%"


def gap_text(share: float) -> str:
    """Return a relative gap between two times as text: `8.7 %`, or `a factor of 32` from GAP_AS_FACTOR on."""
    if 0 < share < SHOWN_MIN:
        return f"less than {percent_text(2 * SHOWN_MIN)}"
    return percent_text(share) if 1 + share < GAP_AS_FACTOR else f"a factor of {1 + share:.0f}"


def _equivalence(ratio: float, interval: tuple[float, float], limit: float, margin: float) -> Verdict:
    """Return `same` only on evidence: a gap within the limit is not enough, because noise hides any gap."""
    low, high = interval
    if limit > NOISE_MAX:
        doubt = f"Two runs of the same kernel differ by {gap_text(limit)}. Close other programs and measure again."
        return Verdict("inconclusive", ratio, doubt)
    if low < 1 / (1 + margin) or high > 1 + margin:
        largest = max(1 / low, high) - 1
        doubt = (
            f"No difference seen, but differences up to {percent_text(largest)} cannot be ruled out. Use more rounds."
        )
        return Verdict("inconclusive", ratio, doubt)
    reason = (
        f"The difference of {gap_text(abs(ratio - 1))} is within the noise ({gap_text(limit)}), "
        f"and a difference above {100 * margin:.0f}{units.THIN}% is ruled out."
    )
    return Verdict("same", ratio, reason)


def _too_few(baseline: Measurement, other: Measurement, limit: float) -> str:
    """Return why a few rounds decide nothing; empty if there are enough, or they are separated far enough."""
    rounds = min(_rounds(baseline), _rounds(other))
    if rounds >= ROUNDS_MIN:
        return ""
    fast, slow = sorted((baseline, other), key=lambda m: m.median_s or 0.0)
    (_, fast_high), (slow_low, _) = _reach(fast), _reach(slow)
    longest = max(fast_high or 0.0, fast.q3_s or math.inf)
    quickest = min(slow_low or 0.0, slow.min_s or 0.0)
    need = rounds_apart(rounds) * (1 + limit)
    if quickest > need * longest:
        return ""
    number = "1 round" if rounds == 1 else f"{rounds} rounds"
    separation = "" if math.isinf(need) else f", which do not differ by {units.ratio(need)}"
    return f"Only {number}{separation}. Measure again with at least {ROUNDS_MIN} rounds."


def _reach(m: Measurement) -> tuple[float | None, float | None]:
    """Return the ends of the confidence interval in seconds; with too few rounds for one, their assumed range."""
    return reach(m.few_rounds_s) if m.few_rounds_s else (m.ci_low_s, m.ci_high_s)


def _rounds(m: Measurement) -> int:
    """Return the number of rounds; ROUNDS_MIN for older records, which have enough but do not store it."""
    return m.rounds or len(m.samples_s) or ROUNDS_MIN


def _no_difference(baseline: Measurement, other: Measurement, ratio: float, limit: float) -> str:
    """Return why a gap over the limit still decides nothing; empty if it does."""
    slow, fast = (baseline, other) if ratio > 1 else (other, baseline)
    (_, fast_high), (slow_low, _) = _reach(fast), _reach(slow)
    if slow_low is None or slow.min_s is None or fast_high is None or fast.q3_s is None:
        return NO_INTERVAL
    if fast_high >= slow_low:
        return "The 95 % confidence intervals overlap. Measure again with more rounds."
    # With the intervals of the medians only, 64 of 7,560 pairs of one kernel were called different; now none is.
    if fast.q3_s >= slow.min_s:
        return "The fastest round of the slower kernel overlaps with typical rounds of the faster one. Use more rounds."
    if baseline.clock_hz and other.clock_hz:
        cycles = ratio * baseline.clock_hz / other.clock_hz
        if (cycles > 1) != (ratio > 1) or abs(cycles - 1) <= limit:
            return "The difference disappears in clock cycles: the GPU clock changed in between. Measure again."
    return ""
