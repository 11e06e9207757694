"""What two jobs, or two kernels of one job, allow to say of each other, one row a matrix, device and cache state."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gpu_engine.errors import InputError, NotFoundError, quote
from gpu_engine.records import Case, Measurement, measurement_from_json
from gpu_engine.verdicts.verdict import NOISE_MAX, Verdict, VerdictKind, compare, in_words

DifferenceKind = VerdictKind | Literal["failed", "missing", "untimed"]
"""A verdict on two times, or why there are not two.

`failed`: the baseline has a time, and the other failed. `missing`: the other job has no such case, or skipped it though
the baseline has a time. `untimed`: the baseline has no time.
"""


@dataclass(frozen=True, slots=True)
class Difference:
    """The verdict on one measurement against another of the same matrix, device, cache state and axes.

    axes                 of the case by name, such as `batch`; empty where its study has none
    baseline, other      kernels
    baseline_s, other_s  medians, None where there is no time
    ratio                baseline time / other time: above 1 the other is faster
    """

    matrix_id: str
    device: str
    cache: str
    axes: Mapping[str, str]
    baseline: str
    other: str
    baseline_s: float | None
    other_s: float | None
    verdict: DifferenceKind
    ratio: float | None
    reason: str

    @property
    def slowdown(self) -> float:
        """How much longer the other takes, as a share of the baseline's time; 0 where the verdict is not `slower`."""
        return 1 / self.ratio - 1 if self.verdict == "slower" and self.ratio else 0.0


def compare_kernels(results: Mapping[str, Any], baseline: str, other: str) -> list[Difference]:
    """One kernel of a results document against another, in the rounds that they share; raises NotFoundError."""
    found = _measurements(results)
    known = list(dict.fromkeys(m.kernel for m in found))
    for kernel in (baseline, other):
        if kernel not in known:
            raise NotFoundError(
                f"The job has not measured {quote(kernel)}; it measured {', '.join(known) or 'nothing'}."
            )
    others = {_place(m): m for m in found if m.kernel == other}
    return [_difference(m, others[_place(m)], compare) for m in found if m.kernel == baseline and _place(m) in others]


def compare_results(baseline: Mapping[str, Any], other: Mapping[str, Any]) -> list[Difference]:
    """Every case of one results document against itself in another; raises InputError where they share none."""
    return differences(_measurements(baseline), _measurements(other))


def differences(baseline: Sequence[Measurement], other: Sequence[Measurement]) -> list[Difference]:
    """Every case of the measurements of one job against itself in another; raises InputError where they share none."""
    after = {_case(m): m for m in other}
    if not any(_case(m) in after for m in baseline):
        raise InputError("The two jobs share no case: they have no matrix, device and kernel in common.")
    return [_difference(m, after.get(_case(m)), apart) for m in baseline]


def apart(baseline: Measurement, other: Measurement) -> Verdict:
    """The verdict on two measurements of different rounds: never `same`, and `inconclusive` unless the gap is large.

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
    if gap > NOISE_MAX:
        return Verdict("inconclusive", verdict.ratio, verdict.reason)
    doubt = f"Not measured in the same rounds, and a gap of {gap:.1%} decides nothing then. Measure both in one job."
    return Verdict("inconclusive", verdict.ratio, doubt)


def _measurements(results: Mapping[str, Any]) -> list[Measurement]:
    return [measurement_from_json(entry) for entry in results["measurements"]]


def _place(m: Measurement) -> tuple[str, ...]:
    return m.matrix_id, m.device, m.cache, Case.parse(m.case).axes_text


def _case(m: Measurement) -> tuple[str, ...]:
    return (*_place(m), m.kernel)


def _difference(
    baseline: Measurement, other: Measurement | None, judge: Callable[[Measurement, Measurement], Verdict]
) -> Difference:
    kind, ratio, reason = _verdict(baseline, other, judge)
    return Difference(
        matrix_id=baseline.matrix_id,
        device=baseline.device,
        cache=baseline.cache,
        axes=dict(Case.parse(baseline.case).axes),
        baseline=baseline.kernel,
        other=(other or baseline).kernel,
        baseline_s=baseline.median_s,
        other_s=other.median_s if other else None,
        verdict=kind,
        ratio=ratio,
        reason=reason,
    )


def _verdict(
    baseline: Measurement, other: Measurement | None, judge: Callable[[Measurement, Measurement], Verdict]
) -> tuple[DifferenceKind, float | None, str]:
    """Kind, ratio and reason of a Difference."""
    if other is None:
        return "missing", None, "The other job has no such case."
    if baseline.median_s is None:
        return "untimed", None, _reason("A", baseline)
    if other.median_s is None:
        return "failed" if other.state == "failed" else "missing", None, _reason("B", other)
    verdict = judge(baseline, other)
    return verdict.kind, verdict.ratio, verdict.reason


def _reason(name: str, m: Measurement) -> str:
    return f"{name} has no time, it {'failed' if m.state == 'failed' else 'was skipped'}: {m.note}"
