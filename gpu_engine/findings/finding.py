"""Findings: sentences, verdicts, and tables of one comparison group, for pages, terminals, and the API."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from gpu_engine.records import Measurement, MeasurementState
from gpu_engine.rounds import shows_interval
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.verdicts.verdict import SMALLEST_GAP, VerdictKind, compare, factor, speedup_over, verdict_text

ENERGY = (Head("energy", "warm"), Head("GFLOP/s", "per watt"))
"""Heads of the energy columns: joules per SpMV or run, and GFLOP per joule."""

Word = VerdictKind | MeasurementState | Literal["baseline"]
"""Verdict on a kernel, `baseline`, or the state of a case without a verdict."""


@dataclass(frozen=True, slots=True)
class Row:
    """A measurement compared with the baseline.

    label   its kernel, and what distinguishes it from other cases of that kernel
    leads   whether it is the fastest or tied for fastest
    ratio   speedup: time of the baseline over its time; None without two times
    reason  reason of the verdict, or why there is no time
    """

    measurement: Measurement
    label: str
    leads: bool
    word: Word
    ratio: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Sentences, verdicts, and numbers of the measurements of one comparison group.

    title      name of the matrix, batch, or workload, without the matrix's id
    axes       parameters that all measurements have in common
    leaders    labels of the fastest kernel and of those equal to it; none if the timings are too noisy
    decided    whether no other kernel may be equally fast
    sentences  text of the finding, the verdict first
    baseline   label of the row that the others are compared with; empty if there is none
    tabulate   returns the numbers of the rows, in their order; a function, because most findings are shown without
    facts      numbers that all rows share: (name, text)
    members    ids of the matrices, the first of them `matrix_id`
    of         as in ComparisonGroup: part of the overall ranking that it belongs to; None if it has none
    busy       why the timings are too noisy to rank; empty if they are not
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
        """All rows as text: kernel, verdict, speedup over the baseline, then the numbers."""
        speedup, numbers = Head("speedup", f"vs {self.baseline or 'no baseline'}"), self.tabulate()
        heads = (Head("kernel", numeric=False), Head("verdict", numeric=False), speedup, *numbers.heads)
        rows = zip(self.rows, numbers.rows, strict=True)
        texts = ((row.label, verdict_text(row.word), units.speedup(row.ratio), *cells) for row, cells in rows)
        return Table(heads, tuple(texts))

    def document(self) -> dict[str, Any]:
        """Return the finding as the API shows it, as JSON values."""
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
    """Return the row of a measurement compared with the baseline (None if there is none)."""
    word, ratio, reason = verdict_on(m, baseline)
    return Row(m, label, leads, word, ratio, reason)


def with_energy(numbers: Table, measurements: Sequence[Measurement]) -> Table:
    """Return the table with the energy columns before the note at the end; unchanged if no energy was measured.

    measurements  the measurements of the rows, in their order
    """
    if not any(m.energy_j for m in measurements):
        return numbers
    heads = numbers.heads
    index = len(heads) - (not heads[-1].numeric)
    pairs = zip(numbers.rows, measurements, strict=True)
    rows = tuple((*cells[:index], *_energy(m), *cells[index:]) for cells, m in pairs)
    return Table((*heads[:index], *ENERGY, *heads[index:]), rows)


def _energy(m: Measurement) -> tuple[str, str]:
    if not m.energy_j or not m.gflops or not m.median_s:
        return units.energy(m.energy_j), units.MISSING
    return units.energy(m.energy_j), units.number(m.gflops * m.median_s / m.energy_j)


def verdict_on(m: Measurement, baseline: Measurement | None) -> tuple[Word, float | None, str]:
    """Return the verdict or state of a measurement, its speedup over the baseline, and the reason."""
    if m.median_s is None:
        return m.state, None, m.note or f"No timing ({m.state}); no reason was recorded."
    if m.state != "ok":
        return m.state, None, m.note
    if m is baseline:
        return "baseline", 1.0, "All other kernels are compared with this one."
    if baseline is None:
        return "inconclusive", None, "No baseline was measured."
    verdict = compare(baseline, m)
    return verdict.kind, verdict.ratio, verdict.reason


def against(base: Measurement | None, m: Measurement, name: str = "") -> str:
    """Return `speedup 1.25 × over csr/vector (faster)` or `slowdown 2.00 × against …`; empty without two times.

    base  the measurement to compare with; name: its label, by default its kernel
    """
    if base is None or not base.median_s or not m.median_s:
        return ""
    verdict = compare(base, m)
    return f"{speedup_over(base.median_s / m.median_s, name or base.kernel)} ({verdict_text(verdict.kind)})"


def gain(base: Measurement | None, m: Measurement | None) -> float | None:
    """Return the speedup over `base` (above 1 is faster); None without two times."""
    return base.median_s / m.median_s if base and m and base.median_s and m.median_s else None


SHARE_MAX = 1.5
"""Limit of roofline or probe time / measured time. A larger share cannot be true, and is not shown."""

IMPLAUSIBLE, NEGLIGIBLE = "implausible", "negligible"
"""Words in place of a share that is above SHARE_MAX, or below the resolution of its probe."""


def share(bound_s: float | None, m: Measurement) -> float | None:
    """Return roofline (or probe) time / measured time; None if one is missing or the share is withheld."""
    return None if withheld(bound_s, m) else _share(bound_s, m)


def withheld(bound_s: float | None, m: Measurement) -> str:
    """Return `implausible` or `negligible` for a share that cannot be true; empty if it can be, or there is none.

    The error of a probe is taken as SMALLEST_GAP of the backend.
    """
    value = _share(bound_s, m)
    if value is None:
        return ""
    return IMPLAUSIBLE if value > SHARE_MAX else NEGLIGIBLE if value < SMALLEST_GAP[m.backend] else ""


def share_text(bound_s: float | None, m: Measurement) -> str:
    """Return a share of the roofline (or probe) time in percent, or the word in place of a withheld one."""
    return withheld(bound_s, m) or units.percent(share(bound_s, m))


def _share(bound_s: float | None, m: Measurement) -> float | None:
    return bound_s / m.median_s if bound_s and m.median_s else None


INTERVAL = "95 % CI"
"""Head of a column of `interval_text`, unless some times have too few rounds for an interval."""

RANGE = "range of rounds"
"""Head of a column of `interval_text` if all times have too few rounds for an interval."""


def interval_head(rounds: Iterable[int | None]) -> str:
    """Return the head of a column of intervals, from the number of rounds of each time."""
    few = {not shows_interval(number) for number in rounds}
    return INTERVAL if True not in few else RANGE if False not in few else f"{INTERVAL} or range"


def with_intervals(table: Table, measurements: Iterable[Measurement]) -> Table:
    """Return the table with the head of its intervals adapted to the rounds, or without them if it has none."""
    text = interval_head(m.rounds for m in measurements if m.median_s)
    heads = (replace(head, text=text) if head.text == INTERVAL else head for head in table.heads)
    return Table(tuple(heads), table.rows).without_empty(text)


def interval_text(m: Measurement) -> str:
    """Return the 95 % CI of a time; with too few rounds their number, the fastest, and the slowest."""
    return units.interval_or_rounds(m.rounds, m.shown_ci_s, (m.min_s, m.max_s))


def common_axes(measurements: Iterable[Measurement]) -> dict[str, str]:
    """Return the axes that all measurements have in common, by name."""
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
