"""What may be said of kernels measured together: the verdict in words and the rows of the comparison table."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from gpu_engine.competitors import BEST
from gpu_engine.noise import noise
from gpu_engine.records import Measurement
from gpu_engine.verdict import VerdictKind, compare
from web import units
from web.palette import Style, style

BASELINES = (BEST, "csr/vector", "csr/scalar")
"""The first one measured is the baseline, unless the reader chooses another: what people use today."""

NAMED = 4
"""Most kernels that a sentence names."""

Word = VerdictKind | Literal["baseline", "failed", "skipped"]

Facet = tuple[str, str, str]
"""(matrix id, device, cache): devices and cache states are never ranked together."""


@dataclass(frozen=True, slots=True)
class KernelRow:
    """A kernel in the table; numbers as text, in the units that the Comparison names."""

    kernel: str
    look: Style
    leads: bool
    word: Word
    ratio: str
    reason: str
    median: str
    interval: str
    gflops: str
    floor: str
    gather_floor: str
    stored: str
    convert: str
    pays_off: str
    max_error: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The kernels of one matrix on one device in one cache state.

    leaders    the fastest kernel and those that are `same` with it; none where the machine was busy
    statement  what the verdict says of the leaders, in words, or why there are none
    """

    matrix_id: str
    device: str
    cache: str
    baseline: str
    leaders: tuple[str, ...]
    statement: str
    time_unit: str
    size_unit: str
    floor: str
    gather_floor: str
    rows: tuple[KernelRow, ...]

    @property
    def sentence(self) -> str:
        """The verdict as one sentence."""
        return f"{join(self.leaders, NAMED)} {self.statement}" if self.leaders else self.statement


def group_by_facet(measurements: Sequence[Measurement]) -> dict[Facet, list[Measurement]]:
    """Facets in order of appearance; within one, the fastest kernel first, then the kernels without a time."""
    facets: dict[Facet, list[Measurement]] = {}
    for m in measurements:
        facets.setdefault((m.matrix_id, m.device, m.cache), []).append(m)
    for group in facets.values():
        group.sort(key=lambda m: (m.median_s is None, m.median_s or 0.0, m.kernel))
    return facets


def comparisons(measurements: Sequence[Measurement], baseline: str = "") -> list[Comparison]:
    """A Comparison per facet, against the named kernel or, where it has no time there, the first of BASELINES."""
    return [_comparison(facet, group, baseline) for facet, group in group_by_facet(measurements).items()]


class Ranked(Protocol):
    """Kernels ranked on a matrix or a batch, on one device in one cache state."""

    @property
    def device(self) -> str:
        """Where they were measured."""
        ...

    @property
    def cache(self) -> str:
        """In which cache state."""
        ...

    @property
    def leaders(self) -> Sequence[str]:
        """The fastest kernel and those that are `same` with it; none where the machine was busy."""
        ...


def overview(found: Sequence[Ranked], what: str = "matrices") -> list[str]:
    """A sentence per device and cache state with several matrices, or `what` they are: where which kernel leads."""
    places: dict[tuple[str, str], list[Ranked]] = {}
    for ranked in found:
        places.setdefault((ranked.device, ranked.cache), []).append(ranked)
    return [_leads(f"{len(group)} {what}", *place, group) for place, group in places.items() if len(group) > 1]


def _leads(over: str, device: str, cache: str, group: Sequence[Ranked]) -> str:
    counts = Counter(kernel for ranked in group for kernel in ranked.leaders)
    without = sum(not ranked.leaders for ranked in group)
    first, *others = counts.most_common(NAMED) or [("no kernel", 0)]
    leads = [f"{first[0]} leads or shares the lead on {first[1]}", *(f"{kernel} on {n}" for kernel, n in others)]
    more = len(counts) - NAMED
    rest = f", and {more} more {'kernel leads' if more == 1 else 'kernels lead'} somewhere" if more > 0 else ""
    undecided = f"; on {without} nothing leads" if counts and without else ""
    return f"Over {over} on {device}, {cache}: {', '.join(leads)}{rest}{undecided}."


def join(names: Sequence[str], most: int = 0) -> str:
    """`a`, `a and b`, `a, b and c`; of more than `most` names (0: any number) the last ones are only counted."""
    if 0 < most < len(names):
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def products_to_pay(m: Measurement, baseline: Measurement | None) -> float | None:
    """Products after which converting to the format of `m` has paid off; inf: never; None: unknown or not settled."""
    if baseline is None or not m.median_s or not baseline.median_s or m.convert_s is None:
        return None
    verdict = compare(baseline, m).kind
    if verdict == "ambiguous":
        return None
    extra = m.convert_s - (baseline.convert_s or 0.0)
    if extra <= 0 and verdict != "slower":
        return 0.0
    # A gain that is not more than a kernel differs from itself pays nothing back.
    return math.ceil(extra / (baseline.median_s - m.median_s)) if verdict == "faster" else math.inf


def baseline_of(timed: Sequence[Measurement], wanted: str) -> Measurement | None:
    """The wanted kernel, else the first of BASELINES, else the slowest; `timed` of one facet, fastest first."""
    # In a new order a kernel is called `csr/vector+rcm`: it stands for csr/vector where that is not among them.
    by_kernel = {m.kernel.partition("+")[0]: m for m in timed} | {m.kernel: m for m in timed}
    known = (by_kernel[name] for name in (wanted, *BASELINES) if name in by_kernel)
    return next(known, timed[-1] if timed else None)


def without_duplicates(timed: Sequence[Measurement]) -> list[Measurement]:
    """All but the algorithms that BEST was chosen from: naming both would count one time twice."""
    library = BEST.partition("/")[0]
    if not any(m.kernel == BEST for m in timed):
        return list(timed)
    return [m for m in timed if m.kernel == BEST or m.format != library]


def leaders_of(ranked: Sequence[Measurement]) -> list[Measurement]:
    """The first of `ranked`, timed and fastest first, and those that are `same` with it; none on a busy machine."""
    if noise(ranked):
        return []
    return [m for m in ranked if m is ranked[0] or compare(ranked[0], m).kind == "same"]


def _comparison(facet: Facet, group: list[Measurement], wanted: str) -> Comparison:
    timed = [m for m in group if m.median_s]
    baseline = baseline_of(timed, wanted)
    ranked = without_duplicates(timed)
    leaders = leaders_of(ranked)
    time = units.unit_for([m.median_s for m in timed], units.TIME)
    size = units.unit_for([m.stored_bytes for m in timed], units.SIZE)
    return Comparison(
        *facet,
        baseline=baseline.kernel if baseline else "",
        leaders=tuple(m.kernel for m in leaders),
        statement=_statement(ranked, leaders, baseline) if baseline else "No kernel has a time here.",
        time_unit=time.symbol,
        size_unit=size.symbol,
        floor=units.seconds(next((m.floor_s for m in timed), None)),
        gather_floor=units.seconds(next((m.gather_floor_s for m in timed), None)),
        rows=tuple(_rows(group, {m.kernel for m in leaders}, baseline, time, size)),
    )


def _statement(ranked: Sequence[Measurement], leaders: Sequence[Measurement], baseline: Measurement) -> str:
    if not leaders:
        return noise(ranked)
    best, unsettled = ranked[0], unsettled_of(ranked)
    facts = [units.gflops(best.gflops)]
    if best.floor_s and best.median_s:
        facts.append(f"{units.percent(best.floor_s / best.median_s)} of the floor")
    # Where the baseline itself leads, the lead over the next kernel is what there is to say.
    rival = next((m for m in ranked if m not in leaders), None) if baseline in leaders else baseline
    if rival is not None and rival not in unsettled:
        verdict = compare(rival, best)
        facts.append(f"{units.ratio(verdict.ratio)} {rival.kernel} ({verdict.kind})")
    doubt = f"; {join([m.kernel for m in unsettled], NAMED)} may be as fast (ambiguous)" if unsettled else ""
    return f"{claim(ranked, leaders, unsettled)} on {best.device}, {best.cache}: {', '.join(facts)}{doubt}."


def unsettled_of(ranked: Sequence[Measurement]) -> list[Measurement]:
    """Those that may be as fast as the first; `ranked` is timed and sorted, fastest first."""
    return [m for m in ranked if m is not ranked[0] and compare(ranked[0], m).kind == "ambiguous"]


def claim(ranked: Sequence[Measurement], leaders: Sequence[Measurement], unsettled: Sequence[Measurement]) -> str:
    """What the leaders do: `is fastest`, `lead, not clearly,` …."""
    if len(leaders) == len(ranked) > 1:
        return "show no measurable difference"
    if unsettled:
        return "leads, not clearly," if len(leaders) == 1 else "lead, not clearly,"
    return "is fastest" if len(leaders) == 1 else "are fastest, with no measurable difference,"


def _rows(
    group: Sequence[Measurement], leaders: set[str], baseline: Measurement | None, time: units.Unit, size: units.Unit
) -> list[KernelRow]:
    # One number of decimals for the median and both ends of its interval.
    times = units.column([_scaled(t, time) for m in group for t in (m.median_s, m.ci_low_s, m.ci_high_s)])
    median, low, high = times[0::3], times[1::3], times[2::3]
    rate = units.column([m.gflops for m in group])
    stored = units.column([_scaled(m.stored_bytes, size) for m in group])
    errors = units.column([m.max_error for m in group])
    rows = []
    for i, m in enumerate(group):
        word, ratio, reason = _verdict(m, baseline)
        rows.append(
            KernelRow(
                kernel=m.kernel,
                look=style(m.format),
                leads=m.kernel in leaders,
                word=word,
                ratio=units.ratio(ratio),
                reason=reason,
                median=median[i],
                interval=f"{low[i]} – {high[i]}" if m.ci_low_s and m.ci_high_s else units.MISSING,
                gflops=rate[i],
                floor=units.percent(_share(m.floor_s, m)),
                gather_floor=units.percent(_share(m.gather_floor_s, m)),
                stored=stored[i],
                convert=units.seconds(m.convert_s) if m.convert_s != 0 else "none",
                pays_off=_pays_off(m, baseline),
                max_error=errors[i],
            )
        )
    return rows


def _verdict(m: Measurement, baseline: Measurement | None) -> tuple[Word, float | None, str]:
    if m.state != "ok":
        return m.state, None, m.note or f"The case {m.state}; no reason was recorded."
    if baseline is None or m.kernel == baseline.kernel:
        return "baseline", 1.0, "Every other kernel is compared with this one."
    verdict = compare(baseline, m)
    return verdict.kind, verdict.ratio, verdict.reason


def _pays_off(m: Measurement, baseline: Measurement | None) -> str:
    products = products_to_pay(m, baseline)
    if baseline is None or m.kernel == baseline.kernel or products is None:
        return units.MISSING
    if math.isinf(products):
        return "never"
    return units.count(products) if products else "at once"


def _share(bound_s: float | None, m: Measurement) -> float | None:
    return bound_s / m.median_s if bound_s and m.median_s else None


def _scaled(value: float | None, unit: units.Unit) -> float | None:
    return None if value is None else value / unit.factor
