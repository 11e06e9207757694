"""Answer of the study: speedup over libraries, share of the SpMVs, and conversions that pay back, on each device."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import gain
from gpu_engine.findings.pagerank.adaptive import Pair, Tally
from gpu_engine.findings.pagerank.runs import Run
from gpu_engine.findings.solvers.consistent import BASE_FORMAT, NONE
from gpu_engine.findings.solvers.groups import Key, Solve, SolveGroup, problems
from gpu_engine.records import Measurement

LIBRARY_NAMES = {"scipy": "SciPy", "cupy": "CuPy", "warp": "NVIDIA Warp"}
"""Library in kernel names → its name in texts."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A group with the Sparsight kernel for one solve, compared with libraries, which multiply in their own CSR.

    pair        fastest library, and that kernel with conversion and set-up; by_library: the same by library
    many        fastest library, and the fastest kernel without what is needed once: the limit of many solves
    """

    group: SolveGroup
    solve: Solve
    pair: Pair
    many: Pair
    by_library: Mapping[str, Pair]


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
        """Pairs of one solve with conversion."""
        return Tally(tuple(each.pair for each in self.compared))

    @property
    def many(self) -> Tally:
        """Pairs of many solves."""
        return Tally(tuple(each.many for each in self.compared))

    def tally_of(self, library: str, method: str = "") -> Tally | None:
        """Return the pairs with a library, of one method or of all; None without any."""
        alike = (each for each in self.compared if method in ("", each.group.method))
        pairs = tuple(each.by_library[library] for each in alike if library in each.by_library)
        return Tally(pairs) if pairs else None

    @property
    def libraries(self) -> tuple[str, ...]:
        """Libraries in the order of LIBRARY_NAMES."""
        return tuple(name for name in LIBRARY_NAMES if any(name in each.by_library for each in self.compared))

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods in order of appearance."""
        return tuple(dict.fromkeys(each.group.method for each in self.compared))

    @property
    def library(self) -> str:
        """Names of the libraries that are the fastest in some comparison: `CuPy`, `the faster of CuPy and …`."""
        names = {each.pair.full.measurement.format for each in self.compared}
        titles = [title for name, title in LIBRARY_NAMES.items() if name in names]
        return titles[0] if len(titles) == 1 else f"the faster of {' and '.join(titles)}"

    @property
    def spmv_share(self) -> float | None:
        """Median share of the SpMVs in the solves with the kernels for one solve; None if no share is known."""
        shares = [share for each in self.compared if (share := each.solve.spmv_share) is not None]
        return median(shares) if shares else None

    @property
    def paying(self) -> tuple[int, int]:
        """Number of solves in which some conversion pays back, and of those with a conversion."""
        known = [
            [pays for solve in each.group.built_in if (pays := each.group.pays_back(solve)) is not None]
            for each in self.compared
        ]
        return sum(any(each) for each in known), sum(bool(each) for each in known)

    @property
    def is_base_only(self) -> bool:
        """Whether the conversions of all groups are compared with a single kernel of CSR."""
        return all(each.group.is_base_only for each in self.compared if each.group.base)

    @property
    def csr_kernels(self) -> tuple[str, ...]:
        """Kernels that read CSR, the fastest of which conversions are compared with."""
        solves = (solve for each in self.compared for solve in each.group.built_in)
        return tuple(dict.fromkeys(s.label for s in solves if s.measurement.format == BASE_FORMAT))


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
        if group.method not in by_method and (compared := compared_of(group)):
            by_method[group.method] = compared
    return by_method


def compared_of(group: SolveGroup) -> Compared | None:
    """Return the comparison of a group; None without a library or a Sparsight kernel, or with noisy timings."""
    solve, library = group.for_one, group.library
    if group.ranking.busy or library is None or solve is None:
        return None
    pairs = {name: _pair(each.total, solve.total) for name, each in group.libraries.items()}
    many = _pair(library.measurement, group.built_in[0].measurement)
    return Compared(group, solve, pairs[library.measurement.format], many, pairs)


def _pair(library: Measurement, other: Measurement) -> Pair:
    return Pair(Run(library), Run(other), gain(library, other) or 1.0)
