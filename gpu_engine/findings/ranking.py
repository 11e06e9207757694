"""Ranking of kernels that were sampled in the same rounds."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from gpu_engine.findings.identity_key import Identical
from gpu_engine.records import Measurement
from gpu_engine.text.words import capital
from gpu_engine.verdicts.noise import noise
from gpu_engine.verdicts.verdict import compare

NAMED = 4
"""Maximum number of names in a sentence."""

WORDS_MAX = 25
"""Maximum number of words of a sentence with facts."""

RANKINGS_CACHED = 512
"""Number of rankings in the cache: the figures of a page ask for the same groups repeatedly."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Converged measurements with a time, the fastest first.

    leaders    the fastest one and those equal to it (verdict `same`); none if the timings are too noisy
    unsettled  those that may be equally fast (verdict `inconclusive`)
    busy       why the timings are too noisy to rank, with what to do; empty if they are not
    """

    measurements: tuple[Measurement, ...]
    leaders: tuple[Measurement, ...]
    unsettled: tuple[Measurement, ...]
    busy: str

    @property
    def decided(self) -> bool:
        """Whether there is a fastest kernel, and no other may be equally fast."""
        return bool(self.leaders) and not self.unsettled

    @property
    def claim(self) -> str:
        """Predicate of the leaders in a sentence: `is fastest`, `tie for fastest` …."""
        alone = len(self.leaders) == 1
        if len(self.leaders) == len(self.measurements):
            return "is the only kernel ranked" if alone else "show no measurable difference"
        if self.unsettled:
            return "is probably fastest" if alone else "probably tie for fastest"
        return "is fastest" if alone else "tie for fastest"

    def sentence(self, name: Callable[[Measurement], str], where: str, facts: Iterable[str]) -> str:
        """Return the ranking as a sentence: fastest kernels, facts, and those that may be equally fast; or why none is.

        name   function that returns the label of a measurement
        where  device and cache state, such as `on cpu, warm`
        facts  texts about the first one; empty ones are left out
        """
        if not self.leaders:
            return self.busy
        doubt = f" {join([name(m) for m in self.unsettled], NAMED)} may be equally fast (inconclusive)."
        begin = f"{join([name(m) for m in self.leaders], NAMED)} {self.claim} {where}: "
        return f"{_short_sentences(begin, [*filter(None, facts)])}{doubt if self.unsettled else ''}"


def _short_sentences(begin: str, facts: list[str]) -> str:
    """Return the facts as one sentence, or the last ones as a second one if it is longer than WORDS_MAX."""
    first = len(facts)
    while first > 1 and len((begin + ", ".join(facts[:first])).split()) > WORDS_MAX:
        first -= 1
    rest = ", ".join(facts[first:])
    # A name keeps its first letter: `pCSR/baseline`.
    rest = capital(rest) if rest.partition(" ")[0].isalpha() else rest
    return f"{begin}{', '.join(facts[:first])}.{f' {rest}.' if rest else ''}"


def rank(measurements: Iterable[Measurement], beside: Sequence[Measurement] = ()) -> Ranking:
    """Return the ranking of the measurements in state `ok`; what did not converge is not ranked.

    beside  measurements of the same rounds that are not ranked but count for the noise check
    """
    return _ranked(Identical(measurements), Identical(beside))


@lru_cache(maxsize=RANKINGS_CACHED)
def _ranked(given: Identical, beside: Identical) -> Ranking:
    timed = tuple(sorted((m for m in given if m.state == "ok" and m.median_s), key=lambda m: m.median_s or 0.0))
    busy = noise((*given, *beside))
    kinds = [compare(timed[0], m).kind for m in timed]
    leaders = () if busy else tuple(m for m, kind in zip(timed, kinds, strict=True) if kind == "same" or m is timed[0])
    unsettled = tuple(m for m, kind in zip(timed, kinds, strict=True) if kind == "inconclusive" and m is not timed[0])
    return Ranking(timed, leaders, unsettled, busy)


def join(names: Sequence[str], most: int = 0) -> str:
    """Return `a`, `a and b`, or `a, b and c`; beyond `most` names (0: no limit) the rest as a number."""
    if 0 < most < len(names):
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
