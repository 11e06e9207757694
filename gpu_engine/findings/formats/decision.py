"""Decision for n SpMVs with one matrix: keep CSR, or convert to another format."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpu_engine.competitors import BEST
from gpu_engine.findings.formats.csr_kernels import keeps_csr
from gpu_engine.findings.formats.for_n import KernelCost, best, break_even, cost_of, crossovers, total_s
from gpu_engine.records import Measurement
from gpu_engine.verdicts.verdict import compare


@dataclass(frozen=True, slots=True)
class Decision:
    """The kernel to use for n SpMVs on one device, conversion included.

    costs            all kernels with a time, those of one library algorithm once
    kernel           kernel to use; csr: the best one that keeps CSR, None if none was timed
    rival            kernel with the least total, if its advantage over CSR is not significant; else None
    has_conversions  whether conversion times are known; else all of them count as 0
    """

    n: int
    costs: tuple[KernelCost, ...]
    kernel: KernelCost
    csr: KernelCost | None
    rival: KernelCost | None = None
    has_conversions: bool = True

    @property
    def keeps_csr(self) -> bool:
        """Whether the kernel reads the arrays of CSR."""
        return self.kernel == self.csr

    @property
    def speedup(self) -> float | None:
        """Time for n SpMVs of the best CSR kernel over that of the kernel; None without a CSR kernel."""
        return total_s(self.csr, self.n) / total_s(self.kernel, self.n) if self.csr else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % CI of the speedup; None without intervals of both times."""
        return interval_of_totals(self.csr, self.kernel, self.n) if self.csr else None

    @property
    def pays_after(self) -> int | None:
        """Number of SpMVs from which the kernel beats the best CSR kernel; None: never, or it keeps CSR."""
        pays = self.csr and self.has_conversions and not self.keeps_csr
        return break_even(self.kernel, self.csr) if self.csr and pays else None

    @property
    def next(self) -> tuple[int, KernelCost] | None:
        """Number of SpMVs from which another kernel is the best, and that kernel; None if there is none."""
        by_kernel = {cost.kernel: cost for cost in self.costs}
        later = (step for step in crossovers(self.costs) if step[0] > self.n)
        return next(((n, by_kernel[kernel]) for n, kernel in later if by_kernel[kernel] != self.kernel), None)


def decide(group: Sequence[Measurement], n: int) -> Decision | None:
    """Return the decision from the measurements of one matrix, device, and cache state; None without a time.

    A kernel replaces CSR only if it is significantly faster and its total for n SpMVs is too.
    """
    timed = {m.kernel: m for m in without_best(group) if m.state == "ok" and m.median_s}
    costs = tuple(cost for m in timed.values() if (cost := cost_of(m)))
    known = any(cost.convert_s is not None for cost in costs)
    costs = costs if known else tuple(replace(cost, convert_s=0.0) for cost in costs)
    least = best(costs, n)
    if least is None:
        return None
    csr = best([cost for cost in costs if keeps_csr(cost.kernel)], n)
    if csr is None or csr == least or _is_significant(timed[csr.kernel], timed[least.kernel], csr, least, n):
        return Decision(n, costs, least, csr, None, known)
    return Decision(n, costs, csr, csr, least, known)


def without_best(group: Sequence[Measurement]) -> list[Measurement]:
    """Return the measurements without the best library kernel, which is one of the others."""
    library = BEST.partition("/")[0]
    others = [m for m in group if m.kernel != BEST]
    return others if any(m.format == library for m in others) else list(group)


def interval_of_totals(csr: KernelCost, cost: KernelCost, n: int) -> tuple[float, float] | None:
    """Return the 95 % CI of the ratio of two totals, from those of the SpMVs; None without both.

    The distances of the ends are added in squares, as logarithms; conversion times count as exact.
    """
    if not (csr.low_s and csr.high_s and cost.low_s and cost.high_s):
        return None
    totals = [total_s(csr, n), total_s(cost, n)]
    lows = [total - n * (each.spmv_s - each.low_s) for total, each in zip(totals, (csr, cost), strict=True)]  # type: ignore[operator]
    highs = [total + n * (each.high_s - each.spmv_s) for total, each in zip(totals, (csr, cost), strict=True)]  # type: ignore[operator]
    below = math.hypot(math.log(totals[0] / lows[0]), math.log(highs[1] / totals[1]))
    above = math.hypot(math.log(highs[0] / totals[0]), math.log(totals[1] / lows[1]))
    ratio = totals[0] / totals[1]
    return ratio * math.exp(-below), ratio * math.exp(above)


def _is_significant(csr_m: Measurement, m: Measurement, csr: KernelCost, cost: KernelCost, n: int) -> bool:
    interval = interval_of_totals(csr, cost, n)
    return compare(csr_m, m).kind == "faster" and (interval is None or interval[0] > 1)
