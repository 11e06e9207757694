"""Comparisons of kernels with library kernels over many cases: one row per case, and mean speedups over all."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from statistics import geometric_mean, median

from gpu_engine.findings.bootstrap import interval_of_mean
from gpu_engine.findings.finding import INTERVAL, share, share_text
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.verdicts.verdict import Verdict, VerdictKind, compare, verdict_text

SPREAD = (Head("geometric mean"), Head(INTERVAL), Head("lowest"), Head("highest"))
"""Heads of the cells that `spread` returns."""

Floor = Callable[[Measurement], float | None]
"""Reference time of a measurement in seconds: roofline or gather probe; None if unknown."""

FLOORS: Mapping[str, Floor] = {
    "roofline": lambda m: m.roofline_s,
    "gather probe": lambda m: m.gather_probe_s,
}
"""Reference times by name."""

KINDS: tuple[VerdictKind, ...] = ("faster", "same", "inconclusive", "slower")
"""Verdicts in the order of the columns."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A kernel compared with rivals on one matrix, batch, or graph.

    of      heading of its table; comparisons with the same heading are averaged together
    names   cells that identify the case, its name first
    rivals  measurements by the name in their column head; None without a time
    """

    of: str
    names: tuple[str, ...]
    kernel: Measurement
    rivals: Mapping[str, Measurement | None]

    def verdict(self, rival: str) -> Verdict | None:
        """Return the verdict on the kernel against a rival; None without two times."""
        other = self.rivals.get(rival)
        return compare(other, self.kernel) if other and other.median_s and self.kernel.median_s else None


def tables(comparisons: Sequence[Comparison], names: Sequence[Head]) -> dict[str, Table]:
    """Return a table per `of` with one row per comparison: the kernel, its reference times, then its rivals."""
    return {of: _table(members, names) for of, members in _by_of(comparisons).items()}


def summary(comparisons: Sequence[Comparison], what: str) -> Table:
    """Return a table with one row per `of` and rival: speedups, verdicts, and mean % of roofline.

    what  plural noun for the cases, such as `matrices`
    """
    floors, kinds = _floors(comparisons), _kinds(comparisons)
    rows = [
        (of, rival, *_gains(members, rival, kinds, floors.values()))
        for of, members in _by_of(comparisons).items()
        for rival in _rivals(members)
    ]
    counts = (Head(what), *SPREAD, *(Head(verdict_text(kind)) for kind in kinds))
    heads = (Head("of", numeric=False), Head("over", numeric=False), *counts)
    shares = (Head(f"% of {floor}", "geometric mean") for floor in floors)
    return Table((*heads, *shares), tuple(rows)).without_empty(INTERVAL)


def spread(values: Sequence[tuple[str, float]], text: Callable[[float], str] = units.ratio) -> tuple[str, ...]:
    """Return the geometric mean of (case, number) pairs, its 95 % CI, the lowest, and the highest as text.

    If not all numbers are positive, the median replaces the mean; without numbers, all are dashes.
    """
    if not values:
        return (units.MISSING,) * len(SPREAD)
    numbers = [value for _, value in values]
    positive = min(numbers) > 0
    mean = text(geometric_mean(numbers)) if positive else f"{text(median(numbers))} (median)"
    ends = interval_of_mean(numbers) if positive else None
    interval = " – ".join(map(text, ends)) if ends else units.MISSING
    low, high = (
        f"{text(value)} ({name})" for name, value in (min(values, key=itemgetter(1)), max(values, key=itemgetter(1)))
    )
    return mean, interval, low, high


def _by_of(comparisons: Iterable[Comparison]) -> dict[str, list[Comparison]]:
    groups: dict[str, list[Comparison]] = {}
    for each in comparisons:
        groups.setdefault(each.of, []).append(each)
    return groups


def _table(comparisons: Sequence[Comparison], names: Sequence[Head]) -> Table:
    rivals, floors = _rivals(comparisons), _floors(comparisons)
    heads = (
        *(*names, Head("kernel", numeric=False), Head("time", "median")),
        *(head for floor in floors for head in (Head(floor), Head(f"% of {floor}"))),
        *(Head(f"{rival}, speedup over it") for rival in rivals),
    )
    return Table(heads, tuple((*each.names, *_cells(each, rivals, floors)) for each in comparisons))


def _kinds(comparisons: Iterable[Comparison]) -> tuple[VerdictKind, ...]:
    """Return the verdicts that are possible: none for times of which only the median is known."""
    return KINDS if any(each.kernel.ci_low_s or each.kernel.few_rounds_s for each in comparisons) else ()


def _floors(comparisons: Iterable[Comparison]) -> dict[str, Floor]:
    """Return the FLOORS that at least one of the kernels has."""
    kernels = [each.kernel for each in comparisons]
    return {name: floor for name, floor in FLOORS.items() if any(map(floor, kernels))}


def _rivals(comparisons: Sequence[Comparison]) -> list[str]:
    """Return the names of all rivals with a verdict, in order of appearance."""
    names = dict.fromkeys(name for each in comparisons for name in each.rivals)
    return [name for name in names if any(each.verdict(name) for each in comparisons)]


def _cells(each: Comparison, rivals: Sequence[str], floors: Mapping[str, Floor]) -> list[str]:
    m = each.kernel
    shares = ((units.seconds(floor(m)), share_text(floor(m), m)) for floor in floors.values())
    speedups = (_speedup(each, rival) for rival in rivals)
    return [m.kernel, units.seconds(m.median_s), *(cell for pair in shares for cell in pair), *speedups]


def _speedup(each: Comparison, rival: str) -> str:
    """Return the time of a rival, its kernel unless the head names it, and the speedup over it with the verdict."""
    other, verdict = each.rivals.get(rival), each.verdict(rival)
    if other is None or verdict is None:
        return units.MISSING
    which = other.note if other.kernel in rival else other.kernel
    time = f"{units.seconds(other.median_s)} ({which})" if which else units.seconds(other.median_s)
    return f"{time}, {units.ratio(verdict.ratio)}{f' ({verdict_text(verdict.kind)})' if _kinds([each]) else ''}"


def _gains(
    comparisons: Sequence[Comparison], rival: str, kinds: Iterable[VerdictKind], floors: Iterable[Floor]
) -> Iterator[str]:
    pairs = [(each, verdict) for each in comparisons if (verdict := each.verdict(rival))]
    counts = Counter(verdict.kind for _, verdict in pairs)
    gains = [(each.names[0], verdict.ratio) for each, verdict in pairs if verdict.ratio]
    yield from (str(len(pairs)), *spread(gains), *(str(counts[kind]) for kind in kinds))
    for floor in floors:
        known = [value for each, _ in pairs if (value := share(floor(each.kernel), each.kernel))]
        yield units.percent(geometric_mean(known) if known else None)
