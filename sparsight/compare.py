"""What two jobs, or two kernels of one job, allow to say of each other, one row a matrix, device and cache state."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpu_engine.errors import InputError, NotFoundError, quote
from gpu_engine.records import Case, Measurement, measurement_from_json
from gpu_engine.verdict import NOISE_MAX, Verdict, VerdictKind, compare, in_words


@dataclass(frozen=True, slots=True)
class Difference:
    """The verdict on one measurement against another of the same matrix, device and cache state.

    baseline, other      kernels
    baseline_s, other_s  medians, None where there is no time
    ratio                baseline time / other time: above 1 the other is faster
    """

    matrix_id: str
    device: str
    cache: str
    baseline: str
    other: str
    baseline_s: float | None
    other_s: float | None
    verdict: VerdictKind
    ratio: float | None
    reason: str


def compare_kernels(results: Mapping[str, Any], baseline: str, other: str) -> list[Difference]:
    """One kernel of a results document against another, in the rounds that they share; raises NotFoundError."""
    found = _measurements(results)
    known = list(dict.fromkeys(m.kernel for m in found))
    for kernel in (baseline, other):
        if kernel not in known:
            raise NotFoundError(
                f"The job has not measured {quote(kernel)}; it measured {', '.join(known) or 'nothing'}."
            )
    pairs = _pairs([m for m in found if m.kernel == baseline], [m for m in found if m.kernel == other], _place)
    return [_difference(a, b, compare(a, b)) for a, b in pairs]


def compare_results(baseline: Mapping[str, Any], other: Mapping[str, Any]) -> list[Difference]:
    """Every kernel of one results document against itself in another; raises InputError where they share no case."""

    def case(m: Measurement) -> tuple[str, ...]:
        return (*_place(m), m.kernel, m.case)

    differences = [
        _difference(a, b, apart(a, b)) for a, b in _pairs(_measurements(baseline), _measurements(other), case)
    ]
    if not differences:
        raise InputError("The two jobs share no case: they have no matrix, device and kernel in common.")
    return differences


def apart(baseline: Measurement, other: Measurement) -> Verdict:
    """The verdict on two measurements of different rounds: never `same`, and `ambiguous` unless the gap is large.

    What changes between two jobs (clocks, neighbours, memory) is in no interval. So a gap counts only where the
    verdict on shared rounds would hold and it is over NOISE_MAX.
    """
    verdict = compare(baseline, other)
    if verdict.ratio is None:
        return verdict
    gap = abs(verdict.ratio - 1)
    if verdict.kind in ("faster", "slower") and gap > NOISE_MAX:
        reason = f"{in_words(verdict.ratio)}, though not measured in the same rounds; intervals lie apart."
        return Verdict(verdict.kind, verdict.ratio, reason)
    doubt = f"Not measured in the same rounds, and a gap of {gap:.1%} decides nothing then. Measure both in one job."
    return Verdict("ambiguous", verdict.ratio, doubt)


def _measurements(results: Mapping[str, Any]) -> list[Measurement]:
    return [measurement_from_json(entry) for entry in results["measurements"]]


def _place(m: Measurement) -> tuple[str, ...]:
    return m.matrix_id, m.device, m.cache, Case.parse(m.case).axes_text


def _pairs(
    baseline: Sequence[Measurement], other: Iterable[Measurement], key: Any
) -> Iterator[tuple[Measurement, Measurement]]:
    others = {key(m): m for m in other}
    return ((m, others[key(m)]) for m in baseline if key(m) in others)


def _difference(baseline: Measurement, other: Measurement, verdict: Verdict) -> Difference:
    return Difference(
        matrix_id=baseline.matrix_id,
        device=baseline.device,
        cache=baseline.cache,
        baseline=baseline.kernel,
        other=other.kernel,
        baseline_s=baseline.median_s,
        other_s=other.median_s,
        verdict=verdict.kind,
        ratio=verdict.ratio,
        reason=verdict.reason,
    )
