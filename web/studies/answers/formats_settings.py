"""Settings of the page Formats: the choices on a device in a cache state, with the costs of n SpMVs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpu_engine.competitors import BEST, BEST_IN_WORDS
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats.choices import Choices, compare_choices
from gpu_engine.findings.formats.csr_kernels import FASTEST_CSR, FASTEST_CSR_IN_WORDS, keeps_csr
from gpu_engine.findings.formats.decision import Decision, decide
from gpu_engine.findings.formats.for_n import SPMVS, SPMVS_MAX, KernelCost, best, cost_of
from gpu_engine.findings.formats.groups import group_by_facet
from gpu_engine.findings.solvers.choice import ITERATIONS_MAX
from gpu_engine.records import Measurement
from gpu_engine.text.words import amount, capital
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
    decisions  matrix id → decision for n SpMVs among the chosen kernels and all of CSR; None without a time
    """

    place: Place
    choices: Choices
    n: int
    costs: Mapping[str, tuple[KernelCost, ...]]
    decisions: Mapping[str, Decision | None]
    names: Mapping[str, str]

    def chosen(self, matrix: str) -> KernelCost | None:
        """Return the kernel with the least time for n SpMVs; None if no conversion time is known."""
        return best(self.costs[matrix], self.n)

    def rival(self, matrix: str) -> KernelCost:
        """Return the cost of the baseline: of a library or CSR, that with the fastest SpMV."""
        return next(cost for cost in self.costs[matrix] if self.is_rival(cost.kernel))

    def is_rival(self, kernel: str) -> bool:
        """Return whether a kernel is the baseline, or an algorithm of the library that it stands for."""
        if self.choices.baseline == BEST:
            return kernel.partition("/")[0] == LIBRARY
        return keeps_csr(kernel) if self.choices.baseline == FASTEST_CSR else kernel == self.choices.baseline

    @property
    def in_sentence(self) -> str:
        """Name of the baseline in a sentence."""
        return "the best of cuSPARSE" if self.choices.baseline == BEST else self._of_csr(FASTEST_CSR_IN_WORDS)

    def in_sentence_on(self, matrix: str) -> str:
        """Return the name of the baseline in a sentence on one matrix."""
        kernel = self.choices.baselines[matrix].kernel
        return self.in_sentence if kernel == BEST else kernel

    @property
    def full_rival(self) -> str:
        """Name of the baseline beside counts of matrices."""
        return BEST_IN_WORDS if self.choices.baseline == BEST else self._of_csr(FASTEST_CSR_IN_WORDS)

    @property
    def short_rival(self) -> str:
        """Name of the baseline in a head."""
        return "cuSPARSE" if self.choices.baseline == BEST else self._of_csr("CSR")

    @property
    def row_name(self) -> str:
        """Name of the baseline among kernels."""
        return self._of_csr(capital(FASTEST_CSR_IN_WORDS))

    def _of_csr(self, text: str) -> str:
        """Return a text for the fastest kernels of CSR, or the name of a single baseline."""
        return text if self.choices.baseline == FASTEST_CSR else self.choices.baseline


def settings(results: Results) -> Iterator[Setting]:
    """Yield the devices and cache states that have a baseline, in the order of the menu of devices."""
    every = by_place(results.all_measurements)
    n, order = spmvs(results.data), {device: number for number, device in enumerate(results.devices)}
    places = by_place(results.measurements)
    for place in sorted(places, key=lambda place: order.get(results.device_id(place[0]), len(order))):
        groups = places[place]
        choices = compare_choices(groups, every.get(place, groups), results.data, place[0])
        if choices:
            names = {i: results.data.matrix(i).name for i in choices.busy}
            decisions = {i: decide(group, n) for i, group in _with_csr(results, place, choices).items()}
            yield Setting(place, choices, n, _costs(results, place, choices), decisions, names)


def spmvs(data: StudyData) -> int:
    """Return the number of SpMVs in the address."""
    return data.number(SPMVS_PARAMETER.name) or SPMVS


def opened(results: Results, matrix: str) -> str:
    """Return the address of the page with the drawer of a matrix."""
    return study_url(results.study, results.requested.with_(open=matrix))


def numbers_text(n: int) -> str:
    """Return `500 SpMVs`, or `1 SpMV`."""
    return amount(n, "SpMV")


def _every(results: Results, place: Place, choices: Choices) -> dict[str, tuple[Measurement, ...]]:
    """Return all measurements of the matrices that count, chosen or not."""
    every, cache = group_by_facet(results.all_measurements), place[1].partition(",")[0]
    return {i: every.get((i, place[0], cache), ()) for i in choices.groups}


def _with_csr(results: Results, place: Place, choices: Choices) -> dict[str, list[Measurement]]:
    """Return the measurements of the chosen kernels, and of all that read CSR, of the matrices that count."""
    chosen = {m.kernel for m in results.measurements}
    every = _every(results, place, choices)
    return {i: [m for m in group if m.kernel in chosen or keeps_csr(m.kernel)] for i, group in every.items()}


def _costs(results: Results, place: Place, choices: Choices) -> dict[str, tuple[KernelCost, ...]]:
    chosen, every = group_by_facet(results.measurements), _every(results, place, choices)
    cache = place[1].partition(",")[0]
    return {i: _costs_of(i, chosen.get((i, place[0], cache), ()), every[i], choices) for i in choices.groups}


def _costs_of(
    matrix: str, group: tuple[Measurement, ...], every: tuple[Measurement, ...], choices: Choices
) -> tuple[KernelCost, ...]:
    """Return the costs of the chosen kernels, and those of the baseline, which needs not be chosen."""
    algorithms = [m for m in every if choices.baseline == BEST and m.format == LIBRARY and m.kernel != BEST]
    rivals = [m for m in algorithms if m.median_s] or [choices.baselines[matrix]]
    known = {m.kernel: m for m in (*rivals, *group) if m.kernel != BEST or m in rivals}
    costs = (cost for m in known.values() if (cost := cost_of(m)))
    return tuple(sorted(costs, key=lambda cost: cost.spmv_s))
