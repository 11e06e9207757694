"""Choices: a kernel for each matrix, by its times or by the advisor, and every single kernel, over a baseline."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import geometric_mean

from gpu_engine.advisor.evaluation import evaluate
from gpu_engine.advisor.gpus import gpu_named
from gpu_engine.competitors import BEST
from gpu_engine.findings.bootstrap import interval_of_mean
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats.csr_kernels import FASTEST_CSR, fastest_csr
from gpu_engine.findings.ranking import rank
from gpu_engine.formats import FORMATS
from gpu_engine.records import Measurement
from gpu_engine.verdicts.verdict import Verdict, VerdictKind, compare

Groups = Mapping[str, Sequence[Measurement]]
"""Matrix id → its measurements on one device in one cache state, the fastest first."""


INTERVALS_CACHED = 512

SPARSIGHT = frozenset(format_.name for format_ in FORMATS)
"""Names of the formats of Sparsight, without those of libraries and of custom kernels."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A kernel, or a kernel for each matrix, compared with the baseline.

    kernel        empty for a kernel for each matrix
    measurements  matrix id → its timed measurement
    verdicts      matrix id → verdict on it against the baseline
    """

    kernel: str
    measurements: Mapping[str, Measurement]
    verdicts: Mapping[str, Verdict]

    @property
    def speedups(self) -> tuple[float, ...]:
        """Speedups over the baseline."""
        return tuple(verdict.ratio for verdict in self.verdicts.values() if verdict.ratio)

    @property
    def mean(self) -> float:
        """Geometric mean of the speedups."""
        return geometric_mean(self.speedups)

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % CI of the mean over the matrices; None for few matrices."""
        return _interval(self.speedups)

    @property
    def wins(self) -> tuple[int, int, int]:
        """Numbers of matrices on which it is faster, equal or inconclusive, and slower."""
        counts = self.counts
        return counts["faster"], counts["same"] + counts["inconclusive"], counts["slower"]

    @property
    def counts(self) -> Counter[VerdictKind]:
        """Number of matrices per verdict."""
        return Counter(verdict.kind for verdict in self.verdicts.values())

    @property
    def beats_baseline(self) -> bool:
        """Whether its mean is above 1: by its CI, or by its verdicts if it has none."""
        faster, _, slower = self.wins
        return self.interval[0] > 1 if self.interval else self.mean > 1 and faster > slower

    def within(self, matrices: Iterable[str]) -> "Choice | None":
        """Return the choice over some of the matrices; None if it has no time there."""
        known = {i: verdict for i in matrices if (verdict := self.verdicts.get(i))}
        return Choice(self.kernel, {i: self.measurements[i] for i in known}, known) if known else None


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices on one device in one cache state.

    baseline   name of the baseline: FASTEST_CSR if it is not the same kernel on all matrices
    baselines  its measurements by matrix id
    groups     the matrices that count: they have a fastest kernel and a time of the baseline
    fastest    the fastest kernel of each matrix, of any library
    sparsight  the fastest Sparsight kernel of each matrix; None without one
    advised    the advisor's choice; None without a prediction
    kernels    every kernel with a time except the baseline: those timed on all matrices first, then by mean
    busy       ids of the matrices whose timings are too noisy; lacking: number of those without a time of the baseline
    """

    baseline: str
    baselines: Mapping[str, Measurement]
    groups: Groups
    fastest: Choice
    sparsight: Choice | None
    advised: Choice | None
    kernels: tuple[Choice, ...]
    busy: tuple[str, ...]
    lacking: int

    @property
    def best(self) -> Choice:
        """The choice that pages compare with the baseline: the fastest Sparsight kernel, or any kernel without one."""
        return self.sparsight or self.fastest

    @property
    def best_single(self) -> Choice | None:
        """The kernel with the largest mean among those timed on all matrices."""
        return next((choice for choice in self.kernels if len(choice.verdicts) == len(self.groups)), None)


@lru_cache(INTERVALS_CACHED)
def _interval(speedups: tuple[float, ...]) -> tuple[float, float] | None:
    return interval_of_mean(speedups)


def compare_choices(groups: Groups, every: Groups, data: StudyData, device: str) -> Choices | None:
    """Return the choices among the kernels of `groups`; None if no matrix counts.

    every  measurements that the baseline is taken from, by the same ids: it needs not be one of the chosen kernels
    """
    quiet = {i: group for i, group in groups.items() if rank(group).leaders}
    busy = tuple(i for i, group in groups.items() if i not in quiet and any(m.median_s for m in group))
    baseline, baselines = _baselines(data.baseline, {i: every.get(i, group) for i, group in quiet.items()})
    usable = {i: quiet[i] for i in baselines}
    if not usable:
        return None
    fastest = _choice("", {i: group[0] for i, group in usable.items()}, baselines)
    sparsight = {i: m for i, group in usable.items() if (m := _fastest_of_sparsight(group))}
    advised = _advised(usable, data, device)
    kernels = dict.fromkeys(m.kernel for group in usable.values() for m in group if m.median_s)
    singles = [_single(kernel, usable, baselines) for kernel in kernels if kernel != baseline]
    return Choices(
        baseline,
        baselines,
        usable,
        fastest,
        _choice("", sparsight, baselines) if sparsight else None,
        _choice("", advised, baselines) if advised else None,
        tuple(sorted(singles, key=lambda each: (len(each.verdicts) < len(usable), -each.mean, each.kernel))),
        busy,
        len(quiet) - len(usable),
    )


def _baselines(chosen: str, groups: Groups) -> tuple[str, dict[str, Measurement]]:
    """Return the name of the baseline, and its measurement on each matrix that has one.

    It is the chosen kernel or the best one of the library if that has a time on some matrix, else the fastest kernel of
    CSR of each matrix, else the kernel with times on the most matrices.
    """
    counts = Counter(m.kernel for group in groups.values() for m in group if m.median_s)
    plain = {kernel.partition("+")[0]: kernel for kernel in counts}
    known = (plain.get(name, name if name in counts else "") for name in (chosen, BEST))
    if name := next(filter(None, known), ""):
        return name, _of_kernel(name, groups)
    csr = {i: m for i, group in groups.items() if (m := fastest_csr([m for m in group if m.median_s]))}
    if csr:
        kernels = {m.kernel for m in csr.values()}
        return (kernels.pop() if len(kernels) == 1 else FASTEST_CSR), csr
    most = max(counts, key=lambda kernel: (counts[kernel], kernel), default="")
    return most, _of_kernel(most, groups)


def _of_kernel(kernel: str, groups: Groups) -> dict[str, Measurement]:
    return {i: m for i, group in groups.items() if (m := _named(kernel, group))}


def _named(kernel: str, group: Sequence[Measurement]) -> Measurement | None:
    return next((m for m in group if m.kernel == kernel and m.median_s), None)


def _fastest_of_sparsight(group: Sequence[Measurement]) -> Measurement | None:
    return next((m for m in group if m.format in SPARSIGHT and m.median_s), None)


def _single(kernel: str, groups: Groups, baselines: Mapping[str, Measurement]) -> Choice:
    return _choice(kernel, _of_kernel(kernel, groups), baselines)


def _choice(kernel: str, chosen: Mapping[str, Measurement], baselines: Mapping[str, Measurement]) -> Choice:
    return Choice(kernel, chosen, {i: compare(baselines[i], m) for i, m in chosen.items()})


def _advised(groups: Groups, data: StudyData, device: str) -> dict[str, Measurement]:
    """Return the measured kernel that the advisor predicts as the fastest, by matrix id."""
    gpu = gpu_named(device)
    if gpu is None:
        return {}
    features = {i: data.matrix(i).stored for i in groups}
    outcomes = evaluate((m for group in groups.values() for m in group), features, gpu).outcomes
    known = ((outcome.matrix_id, _named(outcome.advised, groups[outcome.matrix_id])) for outcome in outcomes)
    return {i: m for i, m in known if m}
