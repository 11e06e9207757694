"""Checks of the batched SpMV paper's statements on one batch each: the building blocks of its conclusions."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from gpu_engine.findings.batched.groups import (
    LAUNCHED,
    PAPER,
    BatchGroup,
    bandwidth_with_padding,
    batch_groups,
    is_balanced,
)
from gpu_engine.findings.batched.paper import SIMILAR, is_mixture, is_one_of
from gpu_engine.findings.conclusions import Trial
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import gain
from gpu_engine.findings.printed import Printed
from gpu_engine.findings.ranking import join, rank
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.verdicts.verdict import compare

Judge = Callable[[BatchGroup, StudyData], Trial | None]
"""Function that checks a statement on a batch; None if it does not cover the batch, or times are missing or noisy."""

Condition = Callable[[BatchGroup, StudyData], bool]
"""Function that returns whether a statement covers a batch."""

COO, SCALAR, VECTOR, SMART, CSRI, ELL = PAPER
ON_CSR = (SCALAR, VECTOR, SMART, CSRI)
WITHOUT_PREPROCESSING = (SCALAR, VECTOR, SMART)


def uniform(group: BatchGroup, data: StudyData) -> bool:  # noqa: ARG001
    """Return whether the batch has copies of one matrix."""
    return group.compose == "uniform"


def mixed(group: BatchGroup, data: StudyData) -> bool:  # noqa: ARG001
    """Return whether the batch mixes several matrices."""
    return group.compose == "mixed"


def balanced(group: BatchGroup, data: StudyData) -> bool:
    """Return whether the batch has copies of a balanced matrix."""
    return uniform(group, data) and is_balanced(data.matrix(group.matrix_id)) is True


def unbalanced(group: BatchGroup, data: StudyData) -> bool:
    """Return whether the batch has copies of a matrix that is not balanced."""
    return uniform(group, data) and is_balanced(data.matrix(group.matrix_id)) is False


def few_dense_rows(group: BatchGroup, data: StudyData) -> bool:
    """Return whether the batch has copies of a matrix with few dense rows: σ exceeds the mean row length."""
    known = data.matrix(group.matrix_id)
    return uniform(group, data) and known.ave is not None and known.sigma is not None and known.sigma > known.ave


def named(*names: str) -> Condition:
    """Return the condition that the batch has copies of one of these matrices, or of a stand-in for one."""
    return lambda group, data: uniform(group, data) and is_one_of(data.matrix(group.matrix_id).name, names)


def mixture(names: tuple[str, ...]) -> Condition:
    """Return the condition that the batch mixes exactly these matrices or stand-ins for them."""
    return lambda group, data: is_mixture(group, data, names)


def leads(group: BatchGroup, kernel: str, among: Sequence[str]) -> Trial | None:
    """Check whether a kernel is fastest or tied among some kernels, with its speedup over the best of the others."""
    candidate, rivals = group.of(kernel), group.among([name for name in among if name != kernel])
    if candidate is None or not rivals:
        return None
    ranking = rank((candidate, *rivals))
    if ranking.busy:
        return None
    return Trial(candidate in ranking.leaders, f"{units.ratio(gain(rivals[0], candidate))} {rivals[0].kernel}")


def best(kernel: str, among: Sequence[str], covers: Condition) -> Judge:
    """Return the check whether a kernel is fastest or tied among some kernels on the batches that it covers."""
    return lambda group, data: leads(group, kernel, among) if covers(group, data) else None


def not_best(kernel: str, among: Sequence[str], covers: Condition) -> Judge:
    """Return the check whether another kernel is faster on the batches that it covers."""

    def judge(group: BatchGroup, data: StudyData) -> Trial | None:
        trial = best(kernel, among, covers)(group, data)
        return trial and Trial(not trial.holds, trial.number)

    return judge


def coo_is_first_or_second(group: BatchGroup, data: StudyData) -> Trial | None:
    """Check on uniform batches whether at most one other kernel of the paper is faster than COO."""
    trial = best(COO, PAPER, uniform)(group, data)
    if trial is None:
        return None
    return Trial(trial.holds or COO in [m.kernel for m in group.among(PAPER)[:2]], trial.number)


def csri_or_smart(group: BatchGroup, data: StudyData) -> Trial | None:
    """Check on uniform batches whether one of the two is the best CSR kernel."""
    trials = [trial for kernel in (CSRI, SMART) if (trial := best(kernel, ON_CSR, uniform)(group, data))]
    return max(trials, key=lambda trial: trial.holds, default=None)


def scalar_and_coo(group: BatchGroup, data: StudyData) -> Trial | None:
    """Check whether csr/scalar and COO are the two fastest kernels of the paper on west0989."""
    timed = group.among(PAPER)
    if not named("west0989")(group, data) or {SCALAR, COO} - {m.kernel for m in timed} or rank(timed).busy:
        return None
    first, second = timed[:2]
    return Trial({first.kernel, second.kernel} == {SCALAR, COO}, f"{first.kernel} and {second.kernel} are the fastest")


def faster(kernels: Sequence[str], than: str, covers: Condition, or_tied: bool = False) -> Judge:
    """Return the check whether all of some kernels are faster than another one, or tied with it if that suffices."""

    def judge(group: BatchGroup, data: StudyData) -> Trial | None:
        other, timed = group.of(than), [m for kernel in kernels if (m := group.of(kernel))]
        if not covers(group, data) or other is None or len(timed) < len(kernels) or rank((other, *timed)).busy:
            return None
        verdicts = [compare(other, m).kind for m in timed]
        holds = all(kind != "slower" if or_tied else kind == "faster" for kind in verdicts)
        gains = join([f"{m.kernel} {units.ratio(gain(other, m))}" for m in timed])
        return Trial(holds, f"{gains} {than}")

    return judge


def standard_is_slow(most: Printed, kernels: Sequence[str] = ()) -> Judge:
    """Return the check whether no launch loop exceeds a printed rate in GFLOP/s; kernels: by default all loops."""

    def judge(group: BatchGroup, data: StudyData) -> Trial | None:
        loops = group.among([name for name in LAUNCHED if not kernels or name in kernels])
        if not uniform(group, data) or not loops or not loops[0].gflops or rank(loops).busy:
            return None
        number, accepts = f"{loops[0].kernel} {units.gflops(loops[0].gflops)}", most.kept_text(f"{units.THIN}GFLOP/s")
        return Trial(most.is_kept(loops[0].gflops), number, accepts=accepts)

    return judge


def gains_over_loops(least: Printed, kernels: Sequence[str], covers: Condition) -> Judge:
    """Return the check whether all of some kernels reach a printed speedup over the loops of their standard kernels."""

    def judge(group: BatchGroup, data: StudyData) -> Trial | None:
        pairs = [(m, loop) for m in group.among(kernels) if (loop := group.standard(m.kernel))]
        gains = [(over, m, loop) for m, loop in pairs if (over := gain(loop, m))]
        if not gains or not covers(group, data):
            return None
        low, *_, high = sorted(gains, key=lambda each: each[0]) * 2
        ends = (low, high) if len(gains) > 1 else (low,)
        numbers = ", ".join(f"{m.kernel} {units.ratio(over)} {loop.kernel}" for over, m, loop in ends)
        return Trial(least.is_reached(low[0]), numbers, factor=low[0], accepts=least.reached_text())

    return judge


def rate_ratio(
    kernel: str, over: str, printed: tuple[Printed, Printed], covers: Condition, at_most: bool = False
) -> Judge:
    """Return the check whether two rates have the ratio of two printed rates, each with its tolerance.

    at_most  the second printed rate is a lower bound, so a smaller ratio holds too
    """

    def judge(group: BatchGroup, data: StudyData) -> Trial | None:
        return _ratio(group.of(kernel), group.of(over), printed, at_most) if covers(group, data) else None

    return judge


def ratio_to_similar(kernel: str, printed: tuple[Printed, Printed], covers: Condition) -> Judge:
    """Return the check whether a rate over that in the mixture of Figure 6 has the ratio of two printed rates."""

    def judge(group: BatchGroup, data: StudyData) -> Trial | None:
        similar = _similar(group, data) if covers(group, data) else None
        return _ratio(group.of(kernel), similar.of(kernel), printed) if similar else None

    return judge


def not_slower_than_similar(kernels: Sequence[str], printed: Printed, covers: Condition) -> Judge:
    """Return the check whether the rates of kernels reach a printed share of those in the mixture of Figure 6."""

    def judge(group: BatchGroup, data: StudyData) -> Trial | None:
        similar = _similar(group, data) if covers(group, data) else None
        pairs = [(group.of(kernel), similar.of(kernel)) for kernel in kernels] if similar else []
        ratios = [(ratio, m.kernel) for m, other in pairs if m and (ratio := ratio_of(m, other))]
        if not ratios or len(ratios) < len(kernels):
            return None
        text = ", ".join(f"{name} {units.ratio(ratio)}" for ratio, name in ratios)
        return Trial(all(printed.is_reached(ratio) for ratio, _ in ratios), text)

    return judge


def ordered(kernels: Sequence[str], covers: Condition) -> Judge:
    """Return the check whether each kernel is faster than the next one; one that may be as fast does not count."""

    def judge(group: BatchGroup, data: StudyData) -> Trial | None:
        timed = [m for kernel in kernels if (m := group.of(kernel))]
        if not covers(group, data) or len(timed) < len(kernels) or rank(timed).busy:
            return None
        holds = all(compare(later, earlier).kind == "faster" for earlier, later in pairwise(timed))
        order = join([f"{m.kernel} {units.number(m.gflops)}" for m in group.among(kernels)])
        return Trial(holds, f"{order} GFLOP/s")

    return judge


def by_bandwidth(kernels: Sequence[Sequence[str]], covers: Condition) -> Judge:
    """Return the check whether every kernel of a group has a higher bandwidth than all kernels of the next one.

    Padding counts as read, as in the paper.
    """

    def judge(group: BatchGroup, data: StudyData) -> Trial | None:
        timed = [(m, bandwidth_with_padding(m)) for m in group.among([kernel for names in kernels for kernel in names])]
        rates = {m.kernel: rate for m, rate in timed if rate}
        if not covers(group, data) or len(rates) < sum(map(len, kernels)) or rank([m for m, _ in timed]).busy:
            return None
        ranges = [[rates[kernel] for kernel in names] for names in kernels]
        holds = all(min(before) > max(after) for before, after in pairwise(ranges))
        order = sorted(rates, key=lambda kernel: -rates[kernel])
        return Trial(holds, join([f"{kernel} {units.rate(rates[kernel])}" for kernel in order]))

    return judge


def alike(group: BatchGroup, data: StudyData) -> list[BatchGroup]:
    """Return the batches in the setting and with the size of a batch."""
    setting = group.device, group.cache, group.operation, group.batch_size
    return [
        other
        for other in batch_groups(data)
        if (other.device, other.cache, other.operation, other.batch_size) == setting
    ]


def _similar(group: BatchGroup, data: StudyData) -> BatchGroup | None:
    """Return the batch with the mixture of Figure 6, in the setting and with the size of another batch."""
    return next((other for other in alike(group, data) if is_mixture(other, data, SIMILAR)), None)


def _ratio(
    m: Measurement | None, other: Measurement | None, printed: tuple[Printed, Printed], at_most: bool = False
) -> Trial | None:
    """Check a ratio of rates against that of two printed ones; the ratio of any two that round to them holds."""
    ratio = ratio_of(m, other)
    if m is None or other is None or ratio is None or rank((m, other)).busy:
        return None
    numerator, denominator = printed
    least = 0.0 if at_most else numerator.least / denominator.most
    holds = least <= ratio < numerator.most / denominator.least
    rates = f"{units.number(m.gflops)} of {units.number(other.gflops)} GFLOP/s"
    most = f"{numerator.most / denominator.least:.3f}"
    accepts = f"less than {most}" if at_most else f"{least:.3f} to {most}"
    return Trial(holds, f"{units.ratio(ratio)}, {rates}", factor=ratio, accepts=accepts)


def ratio_of(m: Measurement | None, other: Measurement | None) -> float | None:
    """Return the ratio of two throughputs; None if either is unknown."""
    return m.gflops / other.gflops if m and other and m.gflops and other.gflops else None
