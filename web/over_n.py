"""Lines over n: the time for n SpMVs, conversion included, over that of a baseline."""

import math
from collections.abc import Sequence

from gpu_engine.findings.formats.for_n import KernelCost, best, crossovers, total_s
from gpu_engine.text.units import count
from web.palette import mark_of
from web.plots.lines import Curve, Frame, Lines, line_plot, ratio_range

LINES_MAX = 5
RATIO_MAX = 2.0
"""Largest ratio on the axis; a kernel may be further from the baseline."""

N_MAX = 100_000
"""Least upper end of the axis of n."""


def over_n(costs: Sequence[KernelCost], n: int, baseline: KernelCost) -> Lines:
    """Return the lines of the baseline, of every kernel that is the best for some n, and of the next ones for n.

    costs  kernels on one matrix; those without a conversion time are not drawn
    """
    steps = crossovers(costs)
    chosen = _chosen(costs, n, baseline, steps)
    largest = 10 ** math.ceil(math.log10(max(N_MAX, n, 2 * steps[-1][0] if steps else 0)))
    curves = tuple(_curve(cost, baseline, chosen[:number]) for number, cost in enumerate(chosen))
    by_kernel = {curve.name: curve for curve in curves}
    ends = [curve.ratio(x) for curve in curves[:1] for x in (n, largest)] + [curve.ratio(largest) for curve in curves]
    at_steps = [(step, by_kernel[kernel].ratio(step)) for step, kernel in steps[1:] if kernel in by_kernel]
    frame = Frame((1.0, float(largest)), ratio_range([*ends, *(ratio for _, ratio in at_steps)], RATIO_MAX))
    return line_plot(
        frame,
        curves,
        heading=f"Time for n SpMVs over {baseline.kernel}",
        note="conversion from CSR included",
        x_label="SpMVs n",
        cursor=(n, f"n = {count(n)}"),
        crossings=((step, ratio, count(step)) for step, ratio in at_steps),
        summary=summary(steps),
    )


def summary(steps: Sequence[tuple[int, str]]) -> str:
    """Return which kernel takes the least time from how many SpMVs on."""
    if not steps:
        return "No conversion time is known."
    names = "; ".join(f"{kernel} from {count(n)}" for n, kernel in steps)
    return f"Kernel with the least time for n SpMVs: {names}."


def _chosen(
    costs: Sequence[KernelCost], n: int, baseline: KernelCost, steps: Sequence[tuple[int, str]]
) -> list[KernelCost]:
    """Return at most LINES_MAX kernels: the baseline, the best ones, and the next ones for n and for any number."""
    by_kernel = {cost.kernel: cost for cost in costs if cost.convert_s is not None}
    nearest = sorted(by_kernel.values(), key=lambda cost: total_s(cost, n))
    fastest = sorted(by_kernel.values(), key=lambda cost: cost.spmv_s)
    holders = [by_kernel[kernel] for _, kernel in sorted(steps, key=lambda step: -step[0])]
    least = best(costs, n)
    first = [cost for cost in (least, baseline) if cost is not None and cost.convert_s is not None]
    near = [cost for cost in (*nearest[:2], *fastest[:2], *nearest[2:]) if cost.spmv_s < RATIO_MAX * baseline.spmv_s]
    return list(dict.fromkeys((*first, *holders, *near)))[:LINES_MAX]


def _curve(cost: KernelCost, baseline: KernelCost, before: Sequence[KernelCost]) -> Curve:
    color, form = mark_of(cost.kernel)
    dashed = any(mark_of(other.kernel)[0] == color for other in before)
    return Curve(cost.kernel, color, form, lambda n: total_s(cost, n) / total_s(baseline, n), dashed)
