"""The kernels of a matrix on one device as a table, and the pictures of the answer."""

from collections import Counter
from collections.abc import Mapping, Sequence

from gpu_engine.advisor import CLOSE
from gpu_engine.findings.finding import interval_head, interval_text
from gpu_engine.findings.formats.csr_kernels import keeps_csr
from gpu_engine.findings.formats.decision import Decision, without_best
from gpu_engine.findings.formats.for_n import KernelCost, break_even, total_s
from gpu_engine.findings.formats.groups import once_s
from gpu_engine.records import TIMED, Measurement
from gpu_engine.text import units
from gpu_engine.text.words import amount
from gpu_engine.verdicts.verdict import compare
from server.predictors import Predictor
from web.matrix_contexts import KernelRow, KernelTable
from web.over_n import over_n
from web.palette import mark_of
from web.plots.axis import log_axis
from web.plots.dots import DotRow, Dots, DotValue
from web.plots.lines import Lines
from web.views.matrix_answer import spmvs, time_text
from web.views.matrix_prediction import named_kernels

ROWS_SHOWN, DOTS_SHOWN, REASONS_SHOWN = 9, 5, 2

UNDECIDED = ("same", "inconclusive")
"""Verdicts on one SpMV without a break-even: no time is saved that could pay for a conversion."""

REPRODUCIBLE: Mapping[bool | None, str] = {True: "yes", False: "no", None: units.MISSING}


def kernel_table(group: Sequence[Measurement], decision: Decision, busy: str) -> KernelTable:
    """Return the measured kernels, the least time for n SpMVs first; the answer is among the first rows."""
    timed = {m.kernel: m for m in without_best(group)}
    costs = sorted(decision.costs, key=lambda cost: (total_s(cost, decision.n), cost.spmv_s))
    rows = tuple(_row(cost, timed, decision, bool(busy)) for cost in costs)
    unfolded = ROWS_SHOWN if len(rows) > ROWS_SHOWN + 2 else len(rows)
    return KernelTable(
        units.count(decision.n),
        decision.csr.kernel if decision.csr else "",
        "rounds" if busy else interval_head(m.rounds for m in timed.values() if m.median_s),
        rows[:unfolded],
        rows[unfolded:],
        _without_time(group),
    )


def lines_of(decision: Decision) -> Lines | None:
    """Return the lines over n, relative to the best CSR kernel, or to the kernel of the answer without one."""
    known = [cost for cost in decision.costs if cost.convert_s is not None]
    draws = decision.has_conversions and len(known) > 1
    return over_n(decision.costs, decision.n, decision.csr or decision.kernel) if draws else None


def predicted_dots(predictor: Predictor, times: Mapping[str, float], costs: Sequence[KernelCost], n: int) -> Dots:
    """Return the predicted times of the first kernels, and of those that the answer names, as hollow dots.

    times  seconds of one SpMV by kernel, the shortest first
    costs  with forecasts of the conversions: times are for n SpMVs; without that of CSR, for one SpMV
    """
    visible, totals = pictured_kernels(times, costs, n), _totals(times, costs, n)
    ranked = _ranked(times, totals)
    first_s = totals[ranked[0]]
    close = [kernel for kernel in ranked if totals[kernel] <= CLOSE * first_s]
    axis = log_axis([totals[kernel] / first_s for kernel in visible])
    rows = []
    for kernel in visible:
        color, form = mark_of(kernel)
        dot = axis.dot(totals[kernel] / first_s, form, color, is_hollow=True)
        rows.append(DotRow(kernel, "", (dot,), (DotValue(time_text(totals[kernel])),), color=color, form=form))
    number = "1 kernel is" if len(close) == 1 else f"{len(close)} kernels are"
    number_visible = sum(kernel in visible for kernel in close)
    part = "" if number_visible == len(close) else f", {number_visible} of them shown"
    what = f"{spmvs(n)} with conversion" if _are_of_n(costs) else "One SpMV"
    return Dots(
        heading=f"{what}, predicted",
        series=(),
        ticks=axis.ticks(),
        one=axis.at(1.0),
        heads=(predictor.gpu.short_name,),
        rows=tuple(rows),
        what="kernel",
        note=f"over the first one; {number} within {units.percent(CLOSE - 1)} of it{part}",
    )


def pictured_kernels(times: Mapping[str, float], costs: Sequence[KernelCost], n: int) -> tuple[str, ...]:
    """Return the first predicted kernels and those that the answer names, the least time first."""
    named, ranked = named_kernels(times, costs, n), _ranked(times, _totals(times, costs, n))
    return tuple(kernel for place, kernel in enumerate(ranked) if place < DOTS_SHOWN or kernel in named)


def _are_of_n(costs: Sequence[KernelCost]) -> bool:
    """Return whether CSR has a forecast too, so that times for n SpMVs can be compared."""
    return any(keeps_csr(cost.kernel) for cost in costs)


def _totals(times: Mapping[str, float], costs: Sequence[KernelCost], n: int) -> Mapping[str, float]:
    """Return the predicted seconds by kernel: for n SpMVs with conversion if they are known, else for one SpMV."""
    return {cost.kernel: total_s(cost, n) for cost in costs} if _are_of_n(costs) else times


def _ranked(times: Mapping[str, float], totals: Mapping[str, float]) -> list[str]:
    return sorted(totals, key=lambda kernel: (totals[kernel], times[kernel], kernel))


def _row(cost: KernelCost, timed: Mapping[str, Measurement], decision: Decision, is_busy: bool) -> KernelRow:
    m, csr = timed[cost.kernel], decision.csr
    verdict = compare(timed[csr.kernel], m) if csr and csr != cost and not is_busy else None
    total = None if cost.convert_s is None else total_s(cost, decision.n)
    is_equal = verdict is not None and verdict.kind in UNDECIDED
    pays = pays_text(cost, csr) if decision.has_conversions and not is_equal else units.MISSING
    return KernelRow(
        cost.kernel,
        *mark_of(cost.kernel),
        units.MISSING if total is None else time_text(total),
        units.seconds(cost.spmv_s),
        units.rounds_text(m.rounds, units.MISSING) if is_busy and m.rounds else ci_text(cost) or interval_text(m),
        units.seconds(once_s(m)),
        units.MISSING if is_busy else "baseline" if cost == csr else pays,
        units.size(cost.stored_bytes),
        verdict.kind if verdict else "",
        verdict.reason if verdict else "",
        REPRODUCIBLE[cost.reproducible],
        cost == decision.kernel and not is_busy,
    )


def ci_text(cost: KernelCost) -> str:
    """Return the 95 % CI of one SpMV in the unit of its time: `17.09–17.15`; empty without one."""
    if not (cost.low_s and cost.high_s):
        return ""
    unit = units.unit_for([cost.spmv_s], units.TIME)
    return "–".join(units.number(end / unit.factor, 4) for end in (cost.low_s, cost.high_s))


def pays_text(cost: KernelCost, csr: KernelCost | None) -> str:
    """Return for which numbers of SpMVs a kernel beats CSR: `from 142`, `up to 67`, `always`, or `never`."""
    if csr is None or cost.convert_s is None or csr.convert_s is None:
        return units.MISSING
    pays = break_even(cost, csr)
    if pays is not None:
        return "always" if pays == 1 else f"from {units.count(pays)}"
    until = break_even(csr, cost) or 1
    return f"up to {units.count(until - 1)}" if until > 1 else "never"


def _without_time(group: Sequence[Measurement]) -> tuple[str, ...]:
    """Return how many kernels have no time and the most frequent reasons: `1 kernel skipped: too large.`"""
    reasons = Counter((m.state, m.note) for m in group if m.state not in TIMED)
    if not reasons:
        return ()
    kernels = amount(reasons.total(), "kernel")
    named = [
        f"{kernels if len(reasons) == 1 else count} {state}: {note.rstrip('.')}."
        for (state, note), count in reasons.most_common(REASONS_SHOWN)
    ]
    return (" ".join(named if len(reasons) == 1 else (f"{kernels} have no time.", *named)),)
