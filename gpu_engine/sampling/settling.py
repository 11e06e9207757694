"""Which cases need more rounds: those whose verdicts more of them may change. Pure functions of what was sampled."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from gpu_engine.measure.statistics import quartiles, reach
from gpu_engine.verdicts.verdict import ROUNDS_MIN, limit_of, rounds_apart

FIRST_LOOK = 5
"""So many rounds has everything that is not costly."""

COSTLY, COSTLY_S = 8.0, 0.1
"""A turn is costly that takes so many times as long as the shortest one, and at least so many seconds."""

OUTLIERS = 0.25
"""This share of the faster one's rounds may be as long as it likes, as in the verdict, once there are ROUNDS_MIN."""


SHORTEST_S = 1e-12
"""No clock tells less."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """What was sampled of a case in one cache state.

    samples_s  seconds, one a round
    turn_s     seconds of one of its turns, all in all
    """

    samples_s: Sequence[float]
    turn_s: float


@dataclass(frozen=True, slots=True)
class _Span:
    """Where the rounds of a case lie, in seconds; a few of them: how far a verdict takes them to reach."""

    rounds: int
    median_s: float
    low_s: float
    high_s: float
    costly: bool


def open_cases(sampled: Mapping[str, Sampled], reference: str, again_s: Sequence[float], backend: str) -> set[str]:
    """The names of those that need more rounds; none where every verdict is settled.

    sampled  of one cache state, at least FEWEST rounds each
    again_s  seconds of the second entry of the case that is the reference

    A verdict is settled where the rounds of the two are further apart than so few of them have to be (`FEW`), by the
    limit of the verdict, and by how much the rounds of the typical case differ. Each case is held against the fastest,
    which has ROUNDS_MIN rounds anyhow, and the reference. Others are held against each other for ROUNDS_MIN rounds,
    costly ones not at all.
    """
    spans = _spans(sampled)
    leader = min(spans, key=lambda name: spans[name].median_s)
    limit = limit_of(backend, gap_of(sampled[reference].samples_s, again_s))
    margin = (1 + limit) * _typical_spread(sampled)
    least = dict.fromkeys(spans, FIRST_LOOK) | {leader: ROUNDS_MIN}
    found = {name for name, own in spans.items() if own.rounds < least[name] and (name == leader or not own.costly)}
    for one, other in combinations(spans, 2):
        matters = not {leader, reference}.isdisjoint((one, other)) or _are_neighbours(spans[one], spans[other])
        if matters and not _is_settled(spans[one], spans[other], margin):
            found |= {one, other}
    return found


def costly_s(shortest_s: float) -> float:
    """Seconds from which on something is costly, beside what takes so long."""
    return max(COSTLY * shortest_s, COSTLY_S)


def gap_of(reference_s: Sequence[float], again_s: Sequence[float]) -> float:
    """What the reference differs from itself by: the relative gap between its two entries."""
    return abs(statistics.median(again_s) / statistics.median(reference_s) - 1)


def _are_neighbours(one: _Span, other: _Span) -> bool:
    return not (one.costly or other.costly) and min(one.rounds, other.rounds) < ROUNDS_MIN


def _is_settled(one: _Span, other: _Span, margin: float) -> bool:
    fast, slow = sorted((one, other), key=lambda own: own.median_s)
    return slow.low_s > fast.high_s * margin * rounds_apart(min(one.rounds, other.rounds))


def _spans(sampled: Mapping[str, Sampled]) -> dict[str, _Span]:
    # Of what is sampled together most may be slow: as PageRank on a web, one thread a page.
    fastest_s = min(own.turn_s for own in sampled.values())
    limit_s = costly_s(fastest_s)
    return {name: _span(own.samples_s, own.turn_s > limit_s) for name, own in sampled.items()}


def _span(samples: Sequence[float], costly: bool) -> _Span:
    few = len(samples) < ROUNDS_MIN
    ends = reach(samples) if few else (min(samples), float(np.quantile(samples, 1 - OUTLIERS)))
    return _Span(len(samples), statistics.median(samples), *ends, costly)


def _typical_spread(sampled: Mapping[str, Sampled]) -> float:
    """Third quartile of the rounds over the quickest."""
    quarters = (quartiles(own.samples_s) for own in sampled.values())
    return statistics.median(q3 / max(low, SHORTEST_S) for low, _, _, q3 in quarters)
