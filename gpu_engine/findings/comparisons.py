"""Kernels beside their rivals over many cases: a row a case, and what they gain over all of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from statistics import geometric_mean, median

from gpu_engine.findings.answer import interval_of_mean
from gpu_engine.findings.finding import share, share_text
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.verdicts.verdict import Verdict, VerdictKind, compare

SPREAD = (Head("geometric mean"), Head("95 %", "interval"), Head("lowest"), Head("highest"))
"""The heads of `spread`."""

Floor = Callable[[Measurement], float | None]

FLOORS: Mapping[str, Floor] = {
    "floor": lambda m: m.roofline_s,
    "gather floor": lambda m: m.gather_probe_s,
}

KINDS: tuple[VerdictKind, ...] = ("faster", "same", "inconclusive", "slower")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A kernel beside its rivals on one matrix, batch or graph.

    of      what is averaged together, and the heading of its table
    names   the cells that say on which, its name first
    rivals  by what the heads of their columns call them; None: without a time
    """

    of: str
    names: tuple[str, ...]
    kernel: Measurement
    rivals: Mapping[str, Measurement | None]

    def verdict(self, rival: str) -> Verdict | None:
        """Return the verdict on the kernel against a rival; None without a time."""
        other = self.rivals.get(rival)
        return compare(other, self.kernel) if other and other.median_s and self.kernel.median_s else None


def tables(comparisons: Sequence[Comparison], names: Sequence[Head]) -> dict[str, Table]:
    """Return a table for each `of`, a row per comparison: the kernel beside its floors, then its rivals."""
    return {of: _table(own, names) for of, own in _by_of(comparisons).items()}


def summary(comparisons: Sequence[Comparison], what: str) -> Table:
    """Return a row per `of` and rival: the speed-ups over it, the verdicts, and the mean shares of the floors.

    what  the cases are, in the plural
    """
    floors, kinds = _floors(comparisons), _kinds(comparisons)
    rows = [
        (of, rival, *_gains(own, rival, kinds, floors.values()))
        for of, own in _by_of(comparisons).items()
        for rival in _rivals(own)
    ]
    counts = (Head(what), *SPREAD, *map(Head, kinds))
    heads = (Head("of", numeric=False), Head("over", numeric=False), *counts)
    shares = (Head(f"share of {floor}", "geometric mean") for floor in floors)
    return Table((*heads, *shares), tuple(rows))


def spread(values: Sequence[tuple[str, float]], text: Callable[[float], str] = units.ratio) -> tuple[str, ...]:
    """Return the geometric mean of numbers by case, its 95 % interval, the lowest and the highest of them as text.

    Of numbers that are not all positive the median stands in the place of the mean; of none: dashes.
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
        *(head for floor in floors for head in (Head(floor), Head("share of", floor))),
        *(Head(f"{rival}, speed-up over it") for rival in rivals),
    )
    return Table(heads, tuple((*each.names, *_cells(each, rivals, floors)) for each in comparisons))


def _kinds(comparisons: Iterable[Comparison]) -> tuple[VerdictKind, ...]:
    """The verdicts that there may be: none on times of which only the median is known."""
    return KINDS if any(each.kernel.ci_low_s or each.kernel.few_rounds_s for each in comparisons) else ()


def _floors(comparisons: Iterable[Comparison]) -> dict[str, Floor]:
    """Return the FLOORS that at least one of the kernels has."""
    kernels = [each.kernel for each in comparisons]
    return {name: floor for name, floor in FLOORS.items() if any(map(floor, kernels))}


def _rivals(comparisons: Sequence[Comparison]) -> list[str]:
    """What any of them is compared with, in the order of their rivals."""
    names = dict.fromkeys(name for each in comparisons for name in each.rivals)
    return [name for name in names if any(each.verdict(name) for each in comparisons)]


def _cells(each: Comparison, rivals: Sequence[str], floors: Mapping[str, Floor]) -> list[str]:
    m = each.kernel
    shares = ((units.seconds(floor(m)), share_text(floor(m), m)) for floor in floors.values())
    against = (_against(each, rival) for rival in rivals)
    return [m.kernel, units.seconds(m.median_s), *(cell for pair in shares for cell in pair), *against]


def _against(each: Comparison, rival: str) -> str:
    """The time of a rival, which kernel or algorithm it is where its head does not say so, and the speed-up."""
    other, verdict = each.rivals.get(rival), each.verdict(rival)
    if other is None or verdict is None:
        return units.MISSING
    which = other.note if other.kernel in rival else other.kernel
    time = f"{units.seconds(other.median_s)} ({which})" if which else units.seconds(other.median_s)
    return f"{time}, {units.ratio(verdict.ratio)}{f' ({verdict.kind})' if _kinds([each]) else ''}"


def _gains(
    comparisons: Sequence[Comparison], rival: str, kinds: Iterable[VerdictKind], floors: Iterable[Floor]
) -> Iterator[str]:
    judged = [(each, verdict) for each in comparisons if (verdict := each.verdict(rival))]
    counts = Counter(verdict.kind for _, verdict in judged)
    gains = [(each.names[0], verdict.ratio) for each, verdict in judged if verdict.ratio]
    yield from (str(len(judged)), *spread(gains), *(str(counts[kind]) for kind in kinds))
    for floor in floors:
        known = [value for each, _ in judged if (value := share(floor(each.kernel), each.kernel))]
        yield units.percent(geometric_mean(known) if known else None)
