"""Settings of the page Formats: the choices on a device in a cache state, with the costs of n SpMVs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpu_engine.competitors import BEST, BEST_IN_WORDS
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats.choices import Choices, compare_choices
from gpu_engine.findings.formats.for_n import SPMVS, SPMVS_MAX, KernelCost, best, cost_of
from gpu_engine.findings.formats.groups import group_by_facet
from gpu_engine.findings.solvers.choice import ITERATIONS_MAX
from gpu_engine.records import Measurement
from gpu_engine.text.words import amount
from web.figures.formats.groups import Place, by_place
from web.results import Results
from web.selection import one_of, study_url, whole_number

SPMVS_PARAMETER = whole_number("n", SPMVS_MAX, "SpMVs")
"""Parameter of the address: number of SpMVs with the same matrix."""

ITERATIONS_PARAMETER = whole_number("iterations", ITERATIONS_MAX, "iterations")
"""Parameter of the address: iterations of a solve, of which a report on one matrix says the time."""

VERDICTS = {"faster": ("faster",), "equal": ("same", "inconclusive"), "slower": ("slower",)}
"""Value of VERDICT_PARAMETER → the verdicts that it stands for."""

NOISY, OF_ADVISOR = "noisy", "advisor-"
"""Value of VERDICT_PARAMETER for matrices that are not ranked, and prefix of those for the advisor's choice."""

VERDICT_PARAMETER = one_of("verdict", (*VERDICTS, NOISY, *(OF_ADVISOR + verdict for verdict in VERDICTS)))
"""Parameter of the address: verdict on the best kernel, or on the advisor's choice, of the matrices of the table."""

LIBRARY = BEST.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Setting:
    """A device and cache state.

    n      number of SpMVs of the page; names: matrix id → name of a noisy matrix
    costs  matrix id → costs of its kernels, the fastest SpMV first; algorithms of a library instead of their best
    """

    place: Place
    choices: Choices
    n: int
    costs: Mapping[str, tuple[KernelCost, ...]]
    names: Mapping[str, str]

    def chosen(self, matrix: str) -> KernelCost | None:
        """Return the kernel with the least time for n SpMVs; None if no conversion time is known."""
        return best(self.costs[matrix], self.n)

    def rival(self, matrix: str) -> KernelCost:
        """Return the cost of the baseline: of a library, its algorithm with the fastest SpMV."""
        return next(cost for cost in self.costs[matrix] if self.is_rival(cost.kernel))

    def is_rival(self, kernel: str) -> bool:
        """Return whether a kernel is the baseline, or an algorithm of the library that it stands for."""
        if self.choices.baseline == BEST:
            return kernel.partition("/")[0] == LIBRARY
        return kernel == self.choices.baseline

    @property
    def in_sentence(self) -> str:
        """Name of the baseline in a sentence."""
        return "the best of cuSPARSE" if self.choices.baseline == BEST else self.choices.baseline

    @property
    def full_rival(self) -> str:
        """Name of the baseline beside counts of matrices."""
        return BEST_IN_WORDS if self.choices.baseline == BEST else self.choices.baseline

    @property
    def short_rival(self) -> str:
        """Name of the baseline in a head."""
        return "cuSPARSE" if self.choices.baseline == BEST else self.choices.baseline


def settings(results: Results) -> Iterator[Setting]:
    """Yield the devices and cache states that have a baseline."""
    every = by_place(results.all_measurements)
    n = spmvs(results.data)
    for place, groups in by_place(results.measurements).items():
        choices = compare_choices(groups, every.get(place, groups), results.data, place[0])
        if choices:
            names = {i: results.data.matrix(i).name for i in choices.busy}
            yield Setting(place, choices, n, _costs(results, place, choices), names)


def spmvs(data: StudyData) -> int:
    """Return the number of SpMVs in the address."""
    return data.number(SPMVS_PARAMETER.name) or SPMVS


def opened(results: Results, matrix: str) -> str:
    """Return the address of the page with the drawer of a matrix."""
    return study_url(results.study, results.requested.with_(open=matrix))


def numbers_text(n: int) -> str:
    """Return `500 SpMVs`, or `1 SpMV`."""
    return amount(n, "SpMV")


def _costs(results: Results, place: Place, choices: Choices) -> dict[str, tuple[KernelCost, ...]]:
    chosen, every = (group_by_facet(ms) for ms in (results.measurements, results.all_measurements))
    cache = place[1].partition(",")[0]
    return {
        i: _costs_of(i, chosen.get((i, place[0], cache), ()), every.get((i, place[0], cache), ()), choices)
        for i in choices.groups
    }


def _costs_of(
    matrix: str, group: tuple[Measurement, ...], every: tuple[Measurement, ...], choices: Choices
) -> tuple[KernelCost, ...]:
    """Return the costs of the chosen kernels, and those of the baseline, which needs not be chosen."""
    algorithms = [m for m in every if choices.baseline == BEST and m.format == LIBRARY and m.kernel != BEST]
    rivals = [m for m in algorithms if m.median_s] or [choices.baselines[matrix]]
    known = {m.kernel: m for m in (*rivals, *group) if m.kernel != BEST or m in rivals}
    costs = (cost for m in known.values() if (cost := cost_of(m)))
    return tuple(sorted(costs, key=lambda cost: cost.spmv_s))
