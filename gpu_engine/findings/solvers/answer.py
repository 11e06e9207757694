"""Answer of the study: speedup over libraries, share of the SpMVs, and conversions that pay back, on each device."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import gain
from gpu_engine.findings.pagerank.adaptive import Pair, Tally
from gpu_engine.findings.pagerank.runs import Run
from gpu_engine.findings.solvers.groups import NONE, Key, SolveGroup, problems

LIBRARY_NAMES = {"scipy": "SciPy", "cupy": "CuPy", "warp": "NVIDIA Warp"}
"""Library in kernel names → its name in texts."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A group with its fastest Sparsight kernel and its fastest library."""

    group: SolveGroup
    pair: Pair


@dataclass(frozen=True)
class Answer:
    """The comparisons on one device, by problem and method."""

    device: str
    by_problem: Mapping[Key, Mapping[str, Compared]]

    @cached_property
    def compared(self) -> tuple[Compared, ...]:
        """All comparisons."""
        return tuple(each for methods in self.by_problem.values() for each in methods.values())

    @property
    def tally(self) -> Tally:
        """All pairs."""
        return Tally(tuple(each.pair for each in self.compared))

    def tally_of(self, method: str) -> Tally | None:
        """Return the pairs of a method; None without any."""
        pairs = tuple(each.pair for each in self.compared if each.group.method == method)
        return Tally(pairs) if pairs else None

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods in order of appearance."""
        return tuple(dict.fromkeys(each.group.method for each in self.compared))

    @property
    def library(self) -> str:
        """Name of the library that is the fastest in all comparisons, or `the fastest library`."""
        names = {each.pair.full.measurement.format for each in self.compared}
        return LIBRARY_NAMES.get(names.pop(), "the library") if len(names) == 1 else "the fastest library"

    @property
    def spmv_share(self) -> float | None:
        """Median share of the SpMVs in the fastest solves; None if no share is known."""
        shares = [share for each in self.compared if (share := each.group.built_in[0].spmv_share) is not None]
        return median(shares) if shares else None

    @property
    def paying(self) -> tuple[int, int]:
        """Number of solves in which some conversion pays back, and of those with a conversion."""
        known = [
            [pays for solve in each.group.built_in if (pays := each.group.pays_back(solve)) is not None]
            for each in self.compared
        ]
        return sum(any(each) for each in known), sum(bool(each) for each in known)


def answers(data: StudyData) -> tuple[Answer, ...]:
    """Return an answer per device on which some problem was solved by Sparsight and a library."""
    by_device: dict[str, dict[Key, dict[str, Compared]]] = {}
    for key, groups in problems(data).items():
        by_method = _by_method(groups)
        if by_method:
            by_device.setdefault(key[1], {})[key] = by_method
    return tuple(Answer(device, by_problem) for device, by_problem in by_device.items())


def _by_method(groups: Sequence[SolveGroup]) -> dict[str, Compared]:
    """Return the comparison per method, of the solves without a preconditioner if there are some."""
    by_method: dict[str, Compared] = {}
    for group in sorted(groups, key=lambda group: group.preconditioner != NONE):
        if group.method not in by_method and (pair := pair_of(group)):
            by_method[group.method] = Compared(group, pair)
    return by_method


def pair_of(group: SolveGroup) -> Pair | None:
    """Return the fastest library and the fastest Sparsight kernel; None without both, or with noisy timings."""
    if group.ranking.busy or group.library is None or not group.built_in:
        return None
    library, other = group.library.measurement, group.built_in[0].measurement
    speedup = gain(library, other)
    return Pair(Run(library), Run(other), speedup) if speedup else None
