"""Ranking: what the times of kernels that were sampled together allow to say."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gpu_engine.noise import noise
from gpu_engine.records import Measurement
from gpu_engine.verdict import compare

NAMED = 4
"""Most names in a sentence."""


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
        doubt = f"; {join([name(m) for m in self.unsettled], NAMED)} may be as fast (ambiguous)"
        said = f"{join([name(m) for m in self.leaders], NAMED)} {self.claim} {where}: {', '.join(filter(None, facts))}"
        return f"{said}{doubt if self.unsettled else ''}."


def rank(measurements: Iterable[Measurement], beside: Sequence[Measurement] = ()) -> Ranking:
    """The ranking of those that are `ok`: what did not converge has a time, and leads nothing.

    beside  what was sampled in the same rounds and is not ranked: it too tells whether the machine was busy
    """
    given = tuple(measurements)
    timed = tuple(sorted((m for m in given if m.state == "ok" and m.median_s), key=lambda m: m.median_s or 0.0))
    busy = noise((*given, *beside))
    kinds = [compare(timed[0], m).kind for m in timed]
    leaders = () if busy else tuple(m for m, kind in zip(timed, kinds, strict=True) if kind == "same" or m is timed[0])
    unsettled = tuple(m for m, kind in zip(timed, kinds, strict=True) if kind == "ambiguous" and m is not timed[0])
    return Ranking(timed, leaders, unsettled, busy)


class Ranked(Protocol):
    """What leads on a matrix or a batch, on one device in one cache state."""

    @property
    def device(self) -> str:
        """Where it was measured."""
        ...

    @property
    def cache(self) -> str:
        """In which cache state."""
        ...

    @property
    def leaders(self) -> Sequence[str]:
        """The fastest and what is `same` with it; none where the machine was busy."""
        ...


def overview(ranked: Sequence[Ranked], what: str = "matrices") -> list[str]:
    """A sentence per device and cache state with several matrices, or `what` they are: where which kernel leads."""
    groups: dict[tuple[str, str], list[Ranked]] = {}
    for each in ranked:
        groups.setdefault((each.device, each.cache), []).append(each)
    return [_leads(f"{len(group)} {what}", *place, group) for place, group in groups.items() if len(group) > 1]


def _leads(over: str, device: str, cache: str, group: Sequence[Ranked]) -> str:
    counts = Counter(kernel for ranked in group for kernel in ranked.leaders)
    without = sum(not ranked.leaders for ranked in group)
    if not counts:
        return f"Over {over} on {device}, {cache}: nothing leads."
    first, *others = counts.most_common(NAMED)
    leads = [f"{first[0]} leads or shares the lead on {first[1]}", *(f"{kernel} on {n}" for kernel, n in others)]
    more = len(counts) - NAMED
    rest = f", and {more} more {'kernel leads' if more == 1 else 'kernels lead'} somewhere" if more > 0 else ""
    undecided = f"; on {without} nothing leads" if without else ""
    return f"Over {over} on {device}, {cache}: {', '.join(leads)}{rest}{undecided}."


def join(names: Sequence[str], most: int = 0) -> str:
    """`a`, `a and b`, `a, b and c`; of more than `most` names (0: any number) the last ones are only counted."""
    if 0 < most < len(names):
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
