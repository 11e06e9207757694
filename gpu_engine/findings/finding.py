"""Finding: what the measurements of one matrix, batch or work on one device allow to say, for whoever shows it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from gpu_engine.records import Measurement, MeasurementState
from gpu_engine.rounds import has_interval
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.verdicts.verdict import SMALLEST_GAP, VerdictKind, compare, factor, in_words

ENERGY = (Head("energy", "warm"), Head("GFLOP/s", "a watt"))
"""Heads of what is shown of energy: joules of a product or a run, and operations by it."""

Word = VerdictKind | MeasurementState | Literal["baseline"]
"""What stands beside a kernel: the verdict on it, that it is the baseline, or the state of a case without a verdict."""


@dataclass(frozen=True, slots=True)
class Row:
    """A measurement beside the baseline.

    label   its kernel, and what sets it apart from others of that kernel
    leads   whether it is among the leaders
    ratio   time of the baseline over its time; None without two times
    reason  why the verdict is what it is, or why there is no time
    """

    measurement: Measurement
    label: str
    leads: bool
    word: Word
    ratio: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What may be said of measurements that were sampled together.

    title      what they are of, without the matrix's id
    axes       that all of them have in common
    leaders    labels of the fastest and of those that are `same` with it; none where the machine was busy
    decided    whether no other may be as fast as the leaders
    sentences  the verdict first
    baseline   label of what the rows are compared with; empty where there is none
    tabulate   makes the numbers of the rows, in their order: most findings of a page are shown without
    facts      numbers that all rows share: (name, text)
    members    ids of the matrices that they are of, the first of them `matrix_id`
    of         as in Contest, what sets it apart from findings that are answered by themselves; None: nobody has said
    busy       why the machine was too busy for these times to count, as one sentence; empty where it was not
    """

    study: str
    matrix_id: str
    device: str
    cache: str
    title: str
    axes: Mapping[str, str]
    leaders: tuple[str, ...]
    decided: bool
    sentences: tuple[str, ...]
    baseline: str
    rows: tuple[Row, ...]
    tabulate: Callable[[], Table] = field(repr=False, compare=False)
    facts: tuple[tuple[str, str], ...] = ()
    members: tuple[str, ...] = ()
    of: str | None = None
    busy: str = ""

    @property
    def table(self) -> Table:
        """All rows as text: the kernel, the verdict on it, then its numbers."""
        against, numbers = Head("against", self.baseline or "nothing"), self.tabulate()
        heads = (Head("kernel", numeric=False), Head("verdict", numeric=False), against, *numbers.heads)
        rows = zip(self.rows, numbers.rows, strict=True)
        return Table(heads, tuple((row.label, row.word, units.times(row.ratio), *cells) for row, cells in rows))

    def document(self) -> dict[str, Any]:
        """As the API gives it."""
        return {
            "study": self.study,
            "matrix_id": self.matrix_id,
            "device": self.device,
            "cache": self.cache,
            "axes": dict(self.axes),
            "fastest": list(self.leaders),
            "decided": self.decided,
            "busy": self.busy or None,
            "sentences": list(self.sentences),
            "baseline": self.baseline or None,
            "verdicts": [_verdict_document(row) for row in self.rows],
        }


def row_of(m: Measurement, label: str, leads: bool, baseline: Measurement | None) -> Row:
    """The row of a measurement beside the baseline, None where there is none."""
    word, ratio, reason = verdict_on(m, baseline)
    return Row(m, label, leads, word, ratio, reason)


def with_energy(numbers: Table, measurements: Sequence[Measurement]) -> Table:
    """The same with what was measured of energy before the note at the end; as it is where nothing was.

    measurements  those of its rows
    """
    if not any(m.energy_j for m in measurements):
        return numbers
    heads = numbers.heads
    place = len(heads) - (not heads[-1].numeric)
    of_rows = zip(numbers.rows, measurements, strict=True)
    rows = tuple((*cells[:place], *_energy(m), *cells[place:]) for cells, m in of_rows)
    return Table((*heads[:place], *ENERGY, *heads[place:]), rows)


def _energy(m: Measurement) -> tuple[str, str]:
    if not m.energy_j or not m.gflops or not m.median_s:
        return units.energy(m.energy_j), units.MISSING
    return units.energy(m.energy_j), units.number(m.gflops * m.median_s / m.energy_j)


def verdict_on(m: Measurement, baseline: Measurement | None) -> tuple[Word, float | None, str]:
    """The word beside a measurement, the ratio of times, and the reason."""
    if m.median_s is None:
        return m.state, None, m.note or f"No time: {m.state}, and no reason was recorded."
    if m.state != "ok":
        return m.state, None, m.note
    if m is baseline:
        return "baseline", 1.0, "Every other kernel is compared with this one."
    if baseline is None:
        return "inconclusive", None, "There is nothing to compare it with."
    verdict = compare(baseline, m)
    return verdict.kind, verdict.ratio, verdict.reason


def against(base: Measurement | None, m: Measurement, name: str = "") -> str:
    """`1.25 times as fast as csr/vector (faster)`: time over time, at least 1; empty without two times.

    name  what the other is called; empty: by its kernel
    """
    if base is None or not base.median_s or not m.median_s:
        return ""
    verdict = compare(base, m)
    return f"{in_words(base.median_s / m.median_s)} as {name or base.kernel} ({verdict.kind})"


def gain(base: Measurement | None, m: Measurement | None) -> float | None:
    """How many times as fast as `base`; None without two times."""
    return base.median_s / m.median_s if base and m and base.median_s and m.median_s else None


SHARE_MAX = 1.5
"""A floor of more than so many times the time was held up, or is not that of this work: no share of it is shown."""

IMPLAUSIBLE, NEGLIGIBLE = "implausible", "negligible"
"""What stands in the place of a share that is withheld: it is over SHARE_MAX, or less than its probe can tell."""


def share(bound_s: float | None, m: Measurement) -> float | None:
    """Return a floor over the time; None where one of them is missing, or the share is withheld."""
    return None if withheld(bound_s, m) else _share(bound_s, m)


def withheld(bound_s: float | None, m: Measurement) -> str:
    """Return the word for a share of a floor that cannot be true; empty where it can be, or there is none.

    The error of a probe is what a time differs from itself by without a difference, SMALLEST_GAP.
    """
    value = _share(bound_s, m)
    if value is None:
        return ""
    return IMPLAUSIBLE if value > SHARE_MAX else NEGLIGIBLE if value < SMALLEST_GAP[m.backend] else ""


def share_text(bound_s: float | None, m: Measurement) -> str:
    """Return a share of a floor as percents, or the word where it is withheld."""
    return withheld(bound_s, m) or units.percent(share(bound_s, m))


def _share(bound_s: float | None, m: Measurement) -> float | None:
    return bound_s / m.median_s if bound_s and m.median_s else None


INTERVAL = "95 % interval"
"""The head of a column of `interval_text`, unless some rounds are too few for one."""

RANGE = "range of rounds"
"""The same where all of them are too few."""


def interval_head(rounds: Iterable[int | None]) -> str:
    """Return the head of a column of intervals of times of so many rounds each."""
    few = {not has_interval(number) for number in rounds}
    return INTERVAL if True not in few else RANGE if False not in few else f"{INTERVAL} or range"


def with_interval_head(heads: Iterable[Head], measurements: Iterable[Measurement]) -> tuple[Head, ...]:
    """Return the heads of these measurements; that of intervals promises none where rounds are too few for one."""
    text = interval_head(m.rounds for m in measurements if m.median_s)
    return tuple(replace(head, text=text) if head.text == INTERVAL else head for head in heads)


def interval_text(m: Measurement) -> str:
    """Return the 95 % interval of a time; of too few rounds their number, the least and the greatest."""
    return units.interval_or_rounds(m.rounds, (m.ci_low_s, m.ci_high_s), (m.min_s, m.max_s))


def common_axes(measurements: Iterable[Measurement]) -> dict[str, str]:
    """The axes that all of them have in common."""
    first, *others = [m.axes for m in measurements] or [{}]
    return {name: value for name, value in first.items() if all(axes.get(name) == value for axes in others)}


def _verdict_document(row: Row) -> dict[str, Any]:
    m = row.measurement
    return {
        "case": m.case,
        "kernel": m.kernel,
        "label": row.label,
        "state": m.state,
        "leads": row.leads,
        "verdict": row.word,
        "factor": None if row.ratio is None else factor(row.ratio),
        "reason": row.reason,
    }
