"""Comparisons of two jobs, or of two kernels of one job: one row per matrix, device, and cache state."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gpu_engine.errors import InputError, NotFoundError, quote
from gpu_engine.records import Case, Measurement, measurement_from_json
from gpu_engine.verdicts.verdict import NOISE_MAX, Verdict, VerdictKind, compare, percent_text, speedup_text

DifferenceKind = VerdictKind | Literal["failed", "missing", "untimed"]
"""A verdict on two times, or the reason why there are not two.

`failed`: the baseline has a time, and the other failed. `missing`: the baseline has a time, and the other job skipped
the case or does not have it. `untimed`: the baseline has no time.
"""


@dataclass(frozen=True, slots=True)
class Difference:
    """Verdict on one measurement against another of the same matrix, device, cache state, and axes.

    axes                 further parameters of the case by name, such as `batch`; empty if its study has none
    baseline, other      kernels
    baseline_s, other_s  medians in seconds, None without a time
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
        """Relative increase of the time over the baseline (0.1 is 10 %); 0 unless the verdict is `slower`."""
        return 1 / self.ratio - 1 if self.verdict == "slower" and self.ratio else 0.0


def compare_kernels(results: Mapping[str, Any], baseline: str, other: str) -> list[Difference]:
    """Return comparisons of two kernels of a results document, in the rounds that they share; raises NotFoundError."""
    measurements = _measurements(results)
    known = list(dict.fromkeys(m.kernel for m in measurements))
    for kernel in (baseline, other):
        if kernel not in known:
            raise NotFoundError(f"The job has no kernel {quote(kernel)}. Its kernels: {', '.join(known) or 'none'}.")
    partners = {_setting(m): m for m in measurements if m.kernel == other}
    return [
        _difference(m, partners[_setting(m)], compare)
        for m in measurements
        if m.kernel == baseline and _setting(m) in partners
    ]


def compare_results(baseline: Mapping[str, Any], other: Mapping[str, Any]) -> list[Difference]:
    """Return a comparison of each case of one results document with another; raises InputError if they share none."""
    return differences(_measurements(baseline), _measurements(other))


def differences(baseline: Sequence[Measurement], other: Sequence[Measurement]) -> list[Difference]:
    """Return a comparison of each case of one job with another job; raises InputError if they share none."""
    after = {_case(m): m for m in other}
    if not any(_case(m) in after for m in baseline):
        raise InputError("The two jobs have no case in common. Choose jobs with the same matrix, device, and kernel.")
    return [_difference(m, after.get(_case(m)), apart) for m in baseline]


def apart(baseline: Measurement, other: Measurement) -> Verdict:
    """Return the verdict on two measurements of different rounds: never `same`, `inconclusive` unless the gap is large.

    Confidence intervals do not cover what changes between two jobs (clocks, other users, memory). So a gap counts
    only if it exceeds NOISE_MAX and the verdict on shared rounds would hold.
    """
    verdict = compare(baseline, other)
    if verdict.ratio is None:
        return verdict
    gap = abs(verdict.ratio - 1)
    if verdict.kind in ("faster", "slower") and gap > NOISE_MAX:
        reason = (
            f"{speedup_text(verdict.ratio).capitalize()}, in different rounds; confidence intervals do not overlap."
        )
        return Verdict(verdict.kind, verdict.ratio, reason)
    if gap > NOISE_MAX:
        return Verdict("inconclusive", verdict.ratio, verdict.reason)
    doubt = f"A difference of {percent_text(gap)} between different rounds is inconclusive. Measure both in one job."
    return Verdict("inconclusive", verdict.ratio, doubt)


def _measurements(results: Mapping[str, Any]) -> list[Measurement]:
    return [measurement_from_json(entry) for entry in results["measurements"]]


def _setting(m: Measurement) -> tuple[str, ...]:
    return m.matrix_id, m.device, m.cache, Case.parse(m.case).axes_text


def _case(m: Measurement) -> tuple[str, ...]:
    return (*_setting(m), m.kernel)


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
    """Return kind, ratio, and reason of a Difference."""
    if other is None:
        return "missing", None, "The other job does not have this case."
    if baseline.median_s is None:
        return "untimed", None, _reason("A", baseline)
    if other.median_s is None:
        return "failed" if other.state == "failed" else "missing", None, _reason("B", other)
    verdict = judge(baseline, other)
    return verdict.kind, verdict.ratio, verdict.reason


def _reason(name: str, m: Measurement) -> str:
    return f"{name} {'failed' if m.state == 'failed' else 'was skipped'}: {m.note}"
