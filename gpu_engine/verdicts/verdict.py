"""The verdict on two kernels measured in the same rounds: a pure function of their records."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gpu_engine.measure.statistics import reach
from gpu_engine.records import Measurement

VerdictKind = Literal["faster", "same", "slower", "inconclusive"]

SMALLEST_GAP = {"cuda": 0.01, "cpu": 0.02}
"""A smaller relative gap is no difference that anybody would act on."""

EQUIVALENCE = {"cuda": 0.03, "cpu": 0.05}
"""Two kernels are `same` only where their intervals rule out a larger gap than this."""

NOISE_MAX = 0.05
"""Where a kernel differs from itself by more, nothing is called the same, and nothing leads."""

UNKNOWN_GAP: Mapping[str, float] = {"formats": 0.074, "pagerank": 0.003, "batched": 0.059, "scaling": 0.102}
"""Study → relative gap that stands for what a kernel differs from itself by where none entered the rounds twice.

The largest between the two entries of the reference kernel on H200 GPUs, of 162, 8, 30 and 32 groups of rounds
(2026-11-22). No CPU was recorded: the same stand for it. The records of other studies have such a kernel.
"""

GAP_AS_FACTOR = 10
"""A time over another from which on their gap is told as a factor."""

NO_REFERENCE = "No kernel entered these rounds twice: what one differs from itself by is not known, and taken to be"
"""Added, with the gap taken, to the reason of a verdict on records without a reference kernel."""

ROUNDS_MIN = 9
"""Where one of two has fewer rounds, all its rounds have to be apart from those of the other by what is in FEW."""

FEW: Mapping[int, float] = {2: 10.0, 3: 10.0, 4: 5.0, 5: 1.05, 6: 1.05, 7: 1.02, 8: 1.02}
"""Rounds → how many times as long as the slowest round of the faster one the quickest of the slower one has to take.

Fewer than five rounds tell kernels apart that are worlds apart, and none tells anything.
"""

FEWEST = min(FEW)
"""From so many rounds on a verdict is possible."""


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
    """The verdict on `other` against `baseline`: same device, matrix and cache state, or `inconclusive` says why not.

    The limit is what a kernel differs from itself by: the larger of SMALLEST_GAP and the gap between the reference
    kernel's two entries, UNKNOWN_GAP where there are none, which decides as a measured gap of that size does. `same`
    when the gap is within the limit, the limit within NOISE_MAX, and the 95 % interval of the ratio within EQUIVALENCE.
    `faster` or `slower` when the gap is over the limit, the 95 % intervals of the medians lie apart, the slower one's
    quickest round is above three quarters of the faster one's, and on a GPU the gap holds in cycles too. Where one
    has fewer than ROUNDS_MIN rounds they are never `same`, and their rounds have to be apart by FEW and the limit.
    """
    if (baseline.device, baseline.matrix_id, baseline.cache) != (other.device, other.matrix_id, other.cache):
        return Verdict("inconclusive", None, "Measured on different devices, matrices or cache states.")
    if not baseline.median_s or not other.median_s:
        return Verdict("inconclusive", None, "One of the two has no time.")
    ratio = baseline.median_s / other.median_s
    interval = interval_of_ratio(baseline, other)
    if interval is None and not (baseline.few_rounds_s or other.few_rounds_s):
        return Verdict("inconclusive", ratio, "One of the two has no interval.")
    if ratio == 1.0 and _times(baseline) == _times(other):
        return Verdict("same", 1.0, "Both are one measurement under two names.")
    gaps = [m.aa_gap for m in (baseline, other) if m.aa_gap is not None]
    if gaps:
        return _of_times(baseline, other, ratio, interval, max(gaps))
    gap = UNKNOWN_GAP.get(baseline.study, max(UNKNOWN_GAP.values()))
    verdict = _of_times(baseline, other, ratio, interval, gap)
    return dataclasses.replace(verdict, reason=f"{verdict.reason} {NO_REFERENCE} {gap:.1%}.")


def _times(m: Measurement) -> tuple[object, ...]:
    """All that a record keeps of its rounds."""
    return m.samples_s, m.min_s, m.q1_s, m.median_s, m.q3_s, m.ci_low_s, m.ci_high_s, m.clock_hz


def _of_times(
    baseline: Measurement, other: Measurement, ratio: float, interval: tuple[float, float] | None, aa_gap: float
) -> Verdict:
    limit = limit_of(other.backend, aa_gap)
    few = _too_few(baseline, other, limit)
    if not few and interval and abs(ratio - 1) <= limit:
        return _equivalence(ratio, interval, limit, EQUIVALENCE[other.backend])
    doubt = few or _no_difference(baseline, other, ratio, limit)
    if doubt:
        return Verdict("inconclusive", ratio, doubt)
    kind: VerdictKind = "faster" if ratio > 1 else "slower"
    return Verdict(kind, ratio, f"{in_words(ratio)}; intervals and rounds lie apart.")


def limit_of(backend: str, aa_gap: float) -> float:
    """What a kernel differs from itself by there, at least SMALLEST_GAP; a relative gap."""
    return max(SMALLEST_GAP[backend], aa_gap)


def rounds_apart(rounds: int) -> float:
    """What FEW asks for with so many rounds: 1 from ROUNDS_MIN on, and more than there is with less than FEWEST."""
    return 1.0 if rounds >= ROUNDS_MIN else FEW.get(rounds, math.inf)


def factor(ratio: float) -> float:
    """Time over time, at least 1: how many times as fast or as slow, which the word beside it says."""
    return max(ratio, 1 / ratio)


def in_words(ratio: float) -> str:
    """`1.25 times as fast`, `3.6 times as slow`, or `as fast` where the digits shown are those of 1."""
    size = f"{factor(ratio):.3g}"
    return "as fast" if size == "1" else f"{size} times as {'fast' if ratio > 1 else 'slow'}"


def interval_of_ratio(baseline: Measurement, other: Measurement) -> tuple[float, float] | None:
    """The 95 % interval of baseline time / other time, from those of the two medians; None without both.

    The distances of the ends are added in squares, as logarithms (Zou and Donner, 2008, DOI 10.1002/sim.3095). A drift
    that both have in common is in both intervals: the result errs on the wide side.
    """
    if not (baseline.median_s and baseline.ci_low_s and baseline.ci_high_s):
        return None
    if not (other.median_s and other.ci_low_s and other.ci_high_s):
        return None
    ratio = baseline.median_s / other.median_s
    below = math.hypot(math.log(baseline.median_s / baseline.ci_low_s), math.log(other.ci_high_s / other.median_s))
    above = math.hypot(math.log(baseline.ci_high_s / baseline.median_s), math.log(other.median_s / other.ci_low_s))
    return ratio * math.exp(-below), ratio * math.exp(above)


def gap_text(share: float) -> str:
    """A gap between two times as people read it: `12.0%`; from ten times on `a factor of 32`."""
    return f"{share:.1%}" if 1 + share < GAP_AS_FACTOR else f"a factor of {1 + share:.0f}"


def _equivalence(ratio: float, interval: tuple[float, float], limit: float, margin: float) -> Verdict:
    """`same` on evidence: a gap within the limit is not enough, for noise hides any gap."""
    low, high = interval
    if limit > NOISE_MAX:
        doubt = f"A kernel differs from itself by {gap_text(limit)} here. Measure again, in quiet."
        return Verdict("inconclusive", ratio, doubt)
    if low < 1 / (1 + margin) or high > 1 + margin:
        doubt = f"No gap is seen, but the intervals allow {max(1 / low, high) - 1:.1%}. Measure again with more rounds."
        return Verdict("inconclusive", ratio, doubt)
    reason = (
        f"The gap of {abs(ratio - 1):.1%} is within {limit:.1%}, what a kernel differs from itself by; "
        f"the intervals rule out one of {margin:.0%}."
    )
    return Verdict("same", ratio, reason)


def _too_few(baseline: Measurement, other: Measurement, limit: float) -> str:
    """Why a few rounds decide nothing; empty where there are enough, or they are far enough apart."""
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
    return f"Only {rounds} rounds, and they are not {need:.3g} times apart. Measure again with {ROUNDS_MIN} or more."


def _reach(m: Measurement) -> tuple[float | None, float | None]:
    """Return the ends of the interval in seconds; of too few rounds for one, how far they are taken to reach."""
    return reach(m.few_rounds_s) if m.few_rounds_s else (m.ci_low_s, m.ci_high_s)


def _rounds(m: Measurement) -> int:
    """Those of its time; older records do not say, and have enough."""
    return m.rounds or len(m.samples_s) or ROUNDS_MIN


def _no_difference(baseline: Measurement, other: Measurement, ratio: float, limit: float) -> str:
    """Why a gap over the limit still decides nothing; empty if it does."""
    slow, fast = (baseline, other) if ratio > 1 else (other, baseline)
    (_, fast_high), (slow_low, _) = _reach(fast), _reach(slow)
    if slow_low is None or slow.min_s is None or fast_high is None or fast.q3_s is None:
        return "One of the two has no interval."
    if fast_high >= slow_low:
        return "The 95 % intervals overlap. Measure again with more rounds."
    # Intervals of medians alone called 64 of 7,560 pairs of one kernel different; with the rounds apart, none.
    if fast.q3_s >= slow.min_s:
        return "The rounds of the two overlap: the slower one was as quick in some round as the faster one in most."
    if baseline.clock_hz and other.clock_hz:
        cycles = ratio * baseline.clock_hz / other.clock_hz
        if (cycles > 1) != (ratio > 1) or abs(cycles - 1) <= limit:
            return "The gap vanishes in clock cycles: the clock changed between the two."
    return ""
