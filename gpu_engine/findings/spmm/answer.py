"""Answer of the study: how much faster one SpMM is than k SpMVs, and than libraries, on each device."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean

from gpu_engine.findings.bootstrap import interval_of_mean
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.spmm.groups import SpmmGroup, spmm_groups
from gpu_engine.findings.spmm.names import K
from gpu_engine.verdicts.verdict import Verdict, VerdictKind


@dataclass(frozen=True, slots=True)
class Speedups:
    """Speedups of one SpMM over the same alternative, on at least one matrix."""

    verdicts: tuple[Verdict, ...]

    @property
    def mean(self) -> float:
        """Geometric mean."""
        return geometric_mean(verdict.ratio for verdict in self.verdicts if verdict.ratio)

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % CI of the mean over the matrices; None with too few."""
        return interval_of_mean([verdict.ratio for verdict in self.verdicts if verdict.ratio])

    @property
    def counts(self) -> Counter[VerdictKind]:
        """Number of matrices by verdict."""
        return Counter(verdict.kind for verdict in self.verdicts)


@dataclass(frozen=True)
class Answer:
    """The groups of one device, cache state, order, and number of columns with a verdict on one SpMM.

    every  the groups of all numbers of columns measured there
    """

    device: str
    cache: str
    order: str
    k: int
    every: tuple[SpmmGroup, ...]

    @property
    def groups(self) -> tuple[SpmmGroup, ...]:
        """Its groups, without those of noisy timings."""
        return tuple(group for group in self.every if group.k == self.k and not group.ranking.busy)

    @property
    def by_columns(self) -> tuple["Answer", ...]:
        """The answers for all numbers of columns."""
        ks = sorted({group.k for group in self.every})
        return tuple(answer for k in ks if (answer := replace(self, k=k)).groups)

    @property
    def over_spmvs(self) -> Speedups | None:
        """Speedups over k SpMVs; None without any."""
        return _speedups(group.over_spmvs for group in self.groups)

    @property
    def over_library(self) -> Speedups | None:
        """Speedups over the fastest library kernel; None without any."""
        return _speedups(group.over_library for group in self.groups)

    @property
    def fastest(self) -> Counter[str]:
        """Number of matrices by kernel that is fastest or tied."""
        return Counter(m.kernel for group in self.groups for m in group.ranking.leaders)


def answers(data: StudyData) -> tuple[Answer, ...]:
    """Return an answer per device, cache state, and order, for the chosen number of columns, else the middle one."""
    by_setting: dict[tuple[str, str, str], list[SpmmGroup]] = {}
    for group in spmm_groups(data, every=True):
        if group.over_spmvs or group.over_library:
            by_setting.setdefault((group.device, group.cache, group.order), []).append(group)
    made = (_answer(setting, groups, data) for setting, groups in by_setting.items())
    return tuple(sorted((answer for answer in made if answer.groups), key=lambda answer: answer.order != "row"))


def _answer(setting: tuple[str, str, str], groups: Sequence[SpmmGroup], data: StudyData) -> Answer:
    return Answer(*setting, data.number(K) or _middle(groups), tuple(groups))


def _middle(groups: Sequence[SpmmGroup]) -> int:
    """Return the middle one of the numbers of columns that were measured on the most matrices; 0 without any."""
    counts = Counter(group.k for group in groups if not group.ranking.busy)
    usual = sorted(k for k, count in counts.items() if count == max(counts.values()))
    return usual[len(usual) // 2] if usual else 0


def _speedups(verdicts: Iterable[Verdict | None]) -> Speedups | None:
    known = tuple(verdict for verdict in verdicts if verdict is not None and verdict.ratio)
    return Speedups(known) if known else None
