"""Cost of n SpMVs with each kernel of one matrix: the conversion once, and n times the SpMV."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gpu_engine.findings.formats.groups import once_s
from gpu_engine.records import Measurement

SPMVS_MIN, SPMVS, SPMVS_MAX = 1, 500, 10**9
"""Least, default, and largest number of SpMVs that a page takes."""


@dataclass(frozen=True, slots=True)
class KernelCost:
    """Cost of a kernel on one matrix.

    spmv_s         seconds of one SpMV; low_s, high_s: its 95 % CI, None without one
    convert_s      seconds of the conversion from CSR and the reordering; None: unknown, so that it is never the best
    stored_bytes   size of its arrays; None: unknown
    reproducible   whether it is bitwise reproducible; None: unknown
    """

    kernel: str
    spmv_s: float
    low_s: float | None = None
    high_s: float | None = None
    convert_s: float | None = None
    stored_bytes: int | None = None
    reproducible: bool | None = None


def cost_of(m: Measurement) -> KernelCost | None:
    """Return the cost of a measured kernel; None without a time."""
    if not m.median_s:
        return None
    return KernelCost(m.kernel, m.median_s, *m.shown_ci_s, once_s(m), m.stored_bytes, m.details.is_reproducible)


def total_s(cost: KernelCost, n: float) -> float:
    """Return the seconds of the conversion and n SpMVs; infinite if the conversion time is unknown."""
    return math.inf if cost.convert_s is None else cost.convert_s + n * cost.spmv_s


def best(costs: Sequence[KernelCost], n: float) -> KernelCost | None:
    """Return the kernel with the least total for n SpMVs; None if no conversion time is known."""
    known = [cost for cost in costs if cost.convert_s is not None]
    # Of equal totals, the faster SpMV is chosen, so that the choice agrees with `crossovers`.
    return min(known, key=lambda cost: (total_s(cost, n), cost.spmv_s, cost.kernel), default=None)


def crossovers(costs: Sequence[KernelCost]) -> tuple[tuple[int, str], ...]:
    """Return (n, kernel) by ascending n: the kernel with the least total from n SpMVs on, until the next one."""
    holder = best(costs, SPMVS_MIN)
    steps = [(SPMVS_MIN, holder)] if holder else []
    while holder:
        last = steps[-1][0]
        later = [(n, cost) for cost in costs if cost.spmv_s < holder.spmv_s and (n := break_even(cost, holder))]
        # Of kernels that take over at the same n, the fastest does.
        n, holder = min(later, key=lambda step: (step[0], step[1].spmv_s), default=(0, None))
        if holder:
            steps = [step for step in steps if step[0] < max(n, last)] + [(max(n, last), holder)]
    return tuple((n, cost.kernel) for n, cost in steps)


def break_even(cost: KernelCost, baseline: KernelCost) -> int | None:
    """Return the number of SpMVs from which the total is at most that of the baseline; None: never, or unknown.

    A kernel with a slower SpMV and a faster conversion is the better one only up to a number: None.
    """
    if cost.convert_s is None or baseline.convert_s is None or cost.spmv_s > baseline.spmv_s:
        return None
    extra, saved = cost.convert_s - baseline.convert_s, baseline.spmv_s - cost.spmv_s
    if extra <= 0:
        return SPMVS_MIN
    if not saved:
        return None
    n = max(SPMVS_MIN, math.ceil(extra / saved))
    # Rounding may move the quotient across a whole number; the totals decide, as in `best`.
    ahead = (each for each in (n - 1, n) if each and total_s(cost, each) <= total_s(baseline, each))
    return next(ahead, n + 1)
