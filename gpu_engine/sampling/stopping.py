"""Adaptive stopping: decides which cases need more rounds, from the samples so far. Pure functions."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from gpu_engine.measure.statistics import quartiles, reach
from gpu_engine.verdicts.verdict import ROUNDS_MIN, noise_threshold, rounds_apart

FIRST_LOOK = 5
"""Rounds of every case that is not slow before sampling may stop."""

SLOW_FACTOR, SLOW_MIN_S = 8.0, 0.1
"""A case is slow if its turn takes this many times the shortest turn, and at least this many seconds."""

OUTLIERS = 0.25
"""Share of the faster case's rounds that may be arbitrarily long, as in the verdict, from ROUNDS_MIN rounds on."""

MIN_SAMPLE_S = 1e-12
"""Lower bound for a sample, in seconds."""


@dataclass(frozen=True, slots=True)
class CaseSamples:
    """Samples of a case in one cache state.

    samples_s  seconds, one per round
    turn_s     seconds that one turn takes, including its overhead
    """

    samples_s: Sequence[float]
    turn_s: float


@dataclass(frozen=True, slots=True)
class _Span:
    """Range of the rounds of a case, in seconds; for fewer than ROUNDS_MIN rounds, the range that a verdict assumes."""

    rounds: int
    median_s: float
    low_s: float
    high_s: float
    slow: bool


def undecided_cases(
    samples: Mapping[str, CaseSamples], control: str, repeat_s: Sequence[float], backend: str
) -> set[str]:
    """Return the names of the cases that need more rounds; empty if every verdict is decided.

    samples   of one cache state, at least MIN_ROUNDS_FOR_VERDICT rounds each
    control   name of the control kernel
    repeat_s  seconds of its second run, one per round

    A verdict is decided if the rounds of the two cases are further apart than their number requires (`FEW`), the
    noise threshold, and the typical spread of a case. Each case is compared with the fastest, which always gets
    ROUNDS_MIN rounds, and with the control kernel. Other pairs are compared for ROUNDS_MIN rounds, slow ones not at
    all.
    """
    spans = _spans(samples)
    fastest = min(spans, key=lambda name: spans[name].median_s)
    limit = noise_threshold(backend, aa_gap(samples[control].samples_s, repeat_s))
    margin = (1 + limit) * _typical_spread(samples)
    min_rounds = dict.fromkeys(spans, FIRST_LOOK) | {fastest: ROUNDS_MIN}
    undecided = {
        name for name, span in spans.items() if span.rounds < min_rounds[name] and (name == fastest or not span.slow)
    }
    for one, other in combinations(spans, 2):
        matters = not {fastest, control}.isdisjoint((one, other)) or _is_compared(spans[one], spans[other])
        if matters and not _is_decided(spans[one], spans[other], margin):
            undecided |= {one, other}
    return undecided


def slow_threshold_s(shortest_s: float) -> float:
    """Return the seconds above which a turn is slow, given the shortest turn."""
    return max(SLOW_FACTOR * shortest_s, SLOW_MIN_S)


def aa_gap(control_s: Sequence[float], repeat_s: Sequence[float]) -> float:
    """Return the relative difference between the two runs of the control kernel, given their samples in seconds."""
    return abs(statistics.median(repeat_s) / statistics.median(control_s) - 1)


def _is_compared(one: _Span, other: _Span) -> bool:
    """Return whether two cases, neither the fastest nor the control kernel, are compared."""
    return not (one.slow or other.slow) and min(one.rounds, other.rounds) < ROUNDS_MIN


def _is_decided(one: _Span, other: _Span, margin: float) -> bool:
    faster, slower = sorted((one, other), key=lambda span: span.median_s)
    return slower.low_s > faster.high_s * margin * rounds_apart(min(one.rounds, other.rounds))


def _spans(samples: Mapping[str, CaseSamples]) -> dict[str, _Span]:
    # Relative to the fastest case, because most of a group may be slow: PageRank on a web graph, one thread per page.
    fastest_s = min(case.turn_s for case in samples.values())
    limit_s = slow_threshold_s(fastest_s)
    return {name: _span(case.samples_s, case.turn_s > limit_s) for name, case in samples.items()}


def _span(samples_s: Sequence[float], slow: bool) -> _Span:
    few = len(samples_s) < ROUNDS_MIN
    ends = reach(samples_s) if few else (min(samples_s), float(np.quantile(samples_s, 1 - OUTLIERS)))
    return _Span(len(samples_s), statistics.median(samples_s), *ends, slow)


def _typical_spread(samples: Mapping[str, CaseSamples]) -> float:
    """Return the median over the cases of third quartile / fastest round."""
    quarters = (quartiles(case.samples_s) for case in samples.values())
    return statistics.median(q3 / max(low, MIN_SAMPLE_S) for low, _, _, q3 in quarters)
