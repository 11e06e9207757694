"""Ranking: what the times of kernels that were sampled together allow to say."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from gpu_engine.findings.identical import Identical
from gpu_engine.records import Measurement
from gpu_engine.verdicts.noise import noise
from gpu_engine.verdicts.verdict import compare

NAMED = 4
"""Most names in a sentence."""

KEPT = 512
"""Of how many groups the ranking is kept: the figures of a page ask for the same ones again."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Measurements with a time that came to their end, the fastest first.

    leaders    the fastest and those that are `same` with it; none where the machine was busy
    unsettled  those that may be as fast as the first
    busy       why nothing leads, as one sentence; empty where something does
    """

    measurements: tuple[Measurement, ...]
    leaders: tuple[Measurement, ...]
    unsettled: tuple[Measurement, ...]
    busy: str

    @property
    def decided(self) -> bool:
        """Whether something leads, and no other may be as fast."""
        return bool(self.leaders) and not self.unsettled

    @property
    def claim(self) -> str:
        """What the leaders do: `is fastest`, `lead, not clearly,` …."""
        alone = len(self.leaders) == 1
        if len(self.leaders) == len(self.measurements):
            return "runs" if alone else "show no measurable difference"
        if self.unsettled:
            return "leads, not clearly," if alone else "lead, not clearly,"
        return "is fastest" if alone else "are fastest, with no measurable difference,"

    def sentence(self, name: Callable[[Measurement], str], where: str, facts: Iterable[str]) -> str:
        """Who leads, where, with which facts, and who may be as fast; or why nothing leads.

        name  what a measurement is called; facts: of the leaders, empty ones left out
        """
        if not self.leaders:
            return self.busy
        doubt = f"; {join([name(m) for m in self.unsettled], NAMED)} may be as fast (inconclusive)"
        said = f"{join([name(m) for m in self.leaders], NAMED)} {self.claim} {where}: {', '.join(filter(None, facts))}"
        return f"{said}{doubt if self.unsettled else ''}."


def rank(measurements: Iterable[Measurement], beside: Sequence[Measurement] = ()) -> Ranking:
    """The ranking of those that are `ok`: what did not converge has a time, and leads nothing.

    beside  what was sampled in the same rounds and is not ranked: it too tells whether the machine was busy
    """
    return _ranked(Identical(measurements), Identical(beside))


@lru_cache(maxsize=KEPT)
def _ranked(given: Identical, beside: Identical) -> Ranking:
    timed = tuple(sorted((m for m in given if m.state == "ok" and m.median_s), key=lambda m: m.median_s or 0.0))
    busy = noise((*given, *beside))
    kinds = [compare(timed[0], m).kind for m in timed]
    leaders = () if busy else tuple(m for m, kind in zip(timed, kinds, strict=True) if kind == "same" or m is timed[0])
    unsettled = tuple(m for m, kind in zip(timed, kinds, strict=True) if kind == "inconclusive" and m is not timed[0])
    return Ranking(timed, leaders, unsettled, busy)


def join(names: Sequence[str], most: int = 0) -> str:
    """`a`, `a and b`, `a, b and c`; of more than `most` names (0: any number) the last ones are only counted."""
    if 0 < most < len(names):
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
