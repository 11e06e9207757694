"""The kernel for one solve of a number of iterations, conversion included: from measured solves, or by the cost model.

Costs of kernels are those of `for_n`, with an iteration in the place of the SpMV: what is needed once is the conversion
and the part of the solve that does not depend on the iterations.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from gpu_engine.advisor import EQUAL
from gpu_engine.findings.finding import SHARE_MAX
from gpu_engine.findings.formats.csr_kernels import keeps_csr
from gpu_engine.findings.formats.decision import decide
from gpu_engine.findings.formats.for_n import KernelCost, best, break_even, crossovers, total_s
from gpu_engine.findings.solvers.consistent import NONE
from gpu_engine.findings.solvers.groups import TITLES, Solve, SolveGroup
from gpu_engine.findings.solvers.solve_model import ON_H200, SolveParts, SystemSize, run_iterations, solve_parts
from gpu_engine.formats import kernel_names
from gpu_engine.records import Measurement
from gpu_engine.solvers import Method, find_method
from gpu_engine.verdicts.verdict import compare

ITERATIONS, ITERATIONS_MAX = 200, 10**6
"""Default and largest number of iterations that a page takes."""

Basis = Literal["solves", "spmvs", "structure"]
"""Times behind a choice: measured solves, or the cost model with measured or with predicted SpMVs."""


@dataclass(frozen=True, slots=True)
class SolveQuestion:
    """A solve without a preconditioner.

    copy_rate  bytes/s of a copy in the memory of the GPU; None on a CPU, which has no cost model
    """

    method: Method
    iterations: int
    size: SystemSize
    copy_rate: float | None

    @property
    def run(self) -> int:
        """Iterations that are run: on a GPU those up to the next test of convergence."""
        return self.iterations if self.copy_rate is None else run_iterations(self.method, self.iterations)

    def after(self, iterations: int) -> "SolveQuestion":
        """Return the question for another number of iterations."""
        return replace(self, iterations=iterations)

    @property
    def parts(self) -> SolveParts:
        """Parts of the cost model; raises ValueError on a CPU."""
        if self.copy_rate is None:
            raise ValueError("A CPU has no cost model of a solve.")
        return solve_parts(self.method, self.iterations, self.size, self.copy_rate)

    def first(self, run: int) -> int:
        """Return the least number of iterations of which `run` or more are run."""
        whole = run_iterations(self.method, run) - run_iterations(self.method, 1) + 1
        return run if self.copy_rate is None else whole


@dataclass(frozen=True, slots=True)
class SolveChoice:
    """The kernel to use for a solve on one device.

    total_s           seconds of conversion and solve; low_s, high_s: its range
    convert_s         seconds of the conversion in it; None: unknown, so that total_s is without it
    spmv_share        share of the SpMVs in the solve; None: unknown
    csr, csr_total_s  best kernel of CSR, and its seconds; empty and None without one
    is_csr_only       whether it is the only kernel of CSR with a measured solve
    pays_from         iterations from which the conversion pays against CSR; None: CSR is kept, or it is unknown
    later             iterations from which another kernel pays, and that kernel; None: never
    measured          measured solve of the kernel; None: predicted
    rival             kernel without a measured solve that is predicted to be faster, and its seconds; None: none
    """

    question: SolveQuestion
    basis: Basis
    kernel: str
    total_s: float
    low_s: float
    high_s: float
    convert_s: float | None
    spmv_share: float | None
    csr: str
    csr_total_s: float | None
    pays_from: int | None
    later: tuple[int, str] | None
    measured: Solve | None = None
    rival: tuple[str, float] | None = None
    is_csr_only: bool = False

    @property
    def speedup(self) -> float | None:
        """Seconds with the best kernel of CSR over those with the kernel; None without one."""
        return self.csr_total_s / self.total_s if self.csr_total_s else None

    @property
    def speedups(self) -> tuple[float, float] | None:
        """Range of the speedup: that of the time, with the time of CSR as exact; None without a kernel of CSR."""
        return (self.csr_total_s / self.high_s, self.csr_total_s / self.low_s) if self.csr_total_s else None

    @property
    def is_close(self) -> bool:
        """Whether the range of the speedup over CSR holds 1, so that the kernel need not be the faster one."""
        return self.speedups is not None and not keeps_csr(self.kernel) and self.speedups[0] <= 1.0


def method_for(features: Mapping[str, Any]) -> Method:
    """Return CG for a symmetric matrix, else BiCGSTAB."""
    return find_method("cg" if features.get("symmetric") else "bicgstab")


def plain_group(groups: Iterable[SolveGroup], method: Method) -> SolveGroup | None:
    """Return the first group of a method without a preconditioner that is not noisy and has a Sparsight kernel."""
    plain = (group for group in groups if (group.method, group.preconditioner) == (TITLES[method.name], NONE))
    return next((group for group in plain if _is_timed(group) and not group.ranking.busy), None)


def measured_choice(group: SolveGroup, question: SolveQuestion) -> SolveChoice:
    """Return the choice from measured solves, scaled from their iterations to those of the question.

    The cost model scales them on a GPU. The range is the 95 % CI, and that of the model too if a solve is scaled.
    """
    solves = {solve.label: solve for solve in group.built_in}
    costs = [_cost_of(solve, question) for solve in group.built_in]
    kernel, csr = _least(costs, question.run)
    if csr and compare(solves[csr.kernel].measurement, solves[kernel.kernel].measurement).kind != "faster":
        kernel = csr
    solve = solves[kernel.kernel]
    details = solve.measurement.details
    choice = _choice(question, "solves", costs, (kernel, csr), details.spmv_s, details.convert_s)
    error = (
        1.0
        if question.after(details.iterations).run == question.run or question.copy_rate is None
        else ON_H200.measured
    )
    convert_s = details.convert_s or 0.0
    low, high = _ci(solve.measurement)
    low_s, high_s = (convert_s + end * (choice.total_s - convert_s) for end in (low / error, high * error))
    return replace(choice, low_s=low_s, high_s=high_s, measured=solve, is_csr_only=group.is_base_only)


def measured_spmvs_choice(group: Sequence[Measurement], question: SolveQuestion, error: float) -> SolveChoice | None:
    """Return the choice by the cost model from the SpMVs of Sparsight kernels, measured with a warm cache.

    error  factor of the range; None without a time of such a kernel
    """
    ours = [m for m in group if m.kernel in kernel_names(m.backend)]
    decision = decide(ours, question.parts.spmvs)
    if decision is None:
        return None
    costs = [_predicted_cost(cost, question.parts) for cost in decision.costs]
    by_kernel = {cost.kernel: cost for cost in costs}
    pair = by_kernel[decision.kernel.kernel], by_kernel[decision.csr.kernel] if decision.csr else None
    spmv_s, convert_s = decision.kernel.spmv_s, decision.kernel.convert_s
    choice = _choice(question, "spmvs", costs, pair, spmv_s, convert_s)
    return _within(choice if decision.has_conversions else _without_conversions(choice), error)


def predicted_choice(
    times: Mapping[str, float], costs: Sequence[KernelCost], question: SolveQuestion, error: float
) -> SolveChoice:
    """Return the choice by the cost model from predicted SpMVs.

    times  kernel → seconds of one SpMV, the shortest first; not empty
    costs  with forecasts of the conversions; without that of CSR no conversion is known
    """
    known = any(keeps_csr(cost.kernel) for cost in costs)
    spmvs = costs if known else [KernelCost(kernel, spmv_s, convert_s=0.0) for kernel, spmv_s in times.items()]
    converting = {cost.kernel: cost.convert_s for cost in spmvs}
    each = [_predicted_cost(cost, question.parts) for cost in spmvs]
    kernel, csr = _least(each, question.run)
    if csr and not known and times[csr.kernel] <= EQUAL * times[kernel.kernel]:
        kernel = csr
    choice = _choice(question, "structure", each, (kernel, csr), times[kernel.kernel], converting[kernel.kernel])
    return _within(choice if known else _without_conversions(choice), error)


def with_rival(choice: SolveChoice, other: SolveChoice | None) -> SolveChoice:
    """Return a measured choice with a predicted one of other kernels, if that is faster beyond its error.

    If a single kernel of CSR has a measured solve, another one of CSR needs not be faster beyond its error.
    """
    is_csr = other is not None and choice.is_csr_only and keeps_csr(other.kernel) and other.total_s < choice.total_s
    is_faster = other is not None and other.convert_s is not None and (is_csr or other.high_s < choice.low_s)
    return replace(choice, rival=(other.kernel, other.total_s)) if other is not None and is_faster else choice


def _is_timed(group: SolveGroup) -> bool:
    """Return whether a Sparsight kernel has a converged solve and a conversion time."""
    return any(solve.measurement.details.convert_s is not None for solve in group.built_in)


Pair = tuple[KernelCost, KernelCost | None]
"""The kernel of a choice, and the best one of CSR; None without one."""


def _choice(
    question: SolveQuestion,
    basis: Basis,
    costs: Sequence[KernelCost],
    pair: Pair,
    spmv_s: float | None,
    convert_s: float | None,
) -> SolveChoice:
    """Return the choice of a kernel, without a range; spmv_s, convert_s: its SpMV and its conversion."""
    (kernel, csr), run = pair, question.run
    total = total_s(kernel, run)
    solve_s = total - (convert_s or 0.0)
    share = run * question.method.spmvs * spmv_s / solve_s if spmv_s else None
    pays = break_even(kernel, csr) if csr and not keeps_csr(kernel.kernel) else None
    later = next((step for step in crossovers(costs) if step[0] > run and step[1] != kernel.kernel), None)
    return SolveChoice(
        question=question,
        basis=basis,
        kernel=kernel.kernel,
        total_s=total,
        low_s=total,
        high_s=total,
        convert_s=convert_s,
        spmv_share=share if share is not None and share <= SHARE_MAX else None,
        csr=csr.kernel if csr else "",
        csr_total_s=total_s(csr, run) if csr else None,
        pays_from=question.first(pays) if pays else None,
        later=(question.first(later[0]), later[1]) if later else None,
    )


def _cost_of(solve: Solve, question: SolveQuestion) -> KernelCost:
    """Return the cost of an iteration of a measured solve: on a GPU that of the cost model, scaled to its time."""
    m, details = solve.measurement, solve.measurement.details
    seconds, iterations = m.median_s or 0.0, max(1, details.iterations)
    if details.convert_s is None:
        return KernelCost(solve.label, seconds / iterations)
    if question.copy_rate is None or details.spmv_s is None:
        return KernelCost(solve.label, seconds / question.after(iterations).run, convert_s=details.convert_s)
    parts = question.after(iterations).parts
    scale = seconds / parts.seconds(details.spmv_s)
    once_s = details.convert_s + scale * parts.fixed_s()
    return KernelCost(solve.label, scale * parts.iteration_s(details.spmv_s), convert_s=once_s)


def _predicted_cost(cost: KernelCost, parts: SolveParts) -> KernelCost:
    """Return the cost of an iteration by the cost model with a kernel whose SpMV has this cost."""
    once_s = None if cost.convert_s is None else cost.convert_s + parts.fixed_s()
    return KernelCost(cost.kernel, parts.iteration_s(cost.spmv_s), convert_s=once_s)


def _least(costs: Sequence[KernelCost], run: int) -> Pair:
    """Return the kernel with the least total, and the one of CSR; raises ValueError without any conversion time."""
    kernel = best(costs, run)
    if kernel is None:
        raise ValueError("No kernel has a conversion time.")
    return kernel, best([cost for cost in costs if keeps_csr(cost.kernel)], run)


def _without_conversions(choice: SolveChoice) -> SolveChoice:
    """Return the choice if conversion times, which counted as 0, are unknown."""
    return replace(choice, convert_s=None, pays_from=None, later=None)


def _within(choice: SolveChoice, error: float) -> SolveChoice:
    """Return the choice with the range of a prediction."""
    return replace(choice, low_s=choice.total_s / error, high_s=choice.total_s * error)


def _ci(m: Measurement) -> tuple[float, float]:
    """Return the ends of the 95 % CI, or of all rounds if they are too few, over the median."""
    low, high = m.shown_ci_s if m.shown_ci_s[0] else (m.min_s, m.max_s)
    return (low or m.median_s or 1.0) / (m.median_s or 1.0), (high or m.median_s or 1.0) / (m.median_s or 1.0)
