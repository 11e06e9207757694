"""The kernel with the least total for n SpMVs, from which n on it is that, and the decision for or against CSR."""

import math
from itertools import pairwise

import pytest

from gpu_engine.competitors import BEST
from gpu_engine.findings.formats.csr_kernels import keeps_csr
from gpu_engine.findings.formats.decision import decide, interval_of_totals
from gpu_engine.findings.formats.for_n import KernelCost, best, break_even, cost_of, crossovers, total_s
from gpu_engine.records import Measurement
from tests.samples.formats import timed, untimed

CSR = KernelCost("csr/vector", 10e-6, convert_s=0.0)
OPTIMIZED = KernelCost("cusparse/op_alg2", 8e-6, convert_s=21e-6)
COO = KernelCost("coo/segmented", 7e-6, convert_s=301.5e-6)
TILES = KernelCost("split/tile", 5e-6, convert_s=4.002e-3)
NEVER = KernelCost("ell/thread", 9e-6, convert_s=1.0000005)
UNKNOWN = KernelCost("jad/thread", 1e-6)
COSTS = (TILES, CSR, UNKNOWN, NEVER, COO, OPTIMIZED)


def test_the_total_is_the_conversion_once_and_each_spmv() -> None:
    assert total_s(COO, 100) == pytest.approx(1.0015e-3)
    assert total_s(UNKNOWN, 1) == math.inf


def test_the_envelope_names_the_first_n_of_each_kernel() -> None:
    assert crossovers(COSTS) == (
        (1, "csr/vector"),
        (11, "cusparse/op_alg2"),
        (281, "coo/segmented"),
        (1851, "split/tile"),
    )
    for (_, before), (n, after) in pairwise(crossovers(COSTS)):
        costs = {cost.kernel: cost for cost in COSTS}
        extra = (costs[after].convert_s or 0.0) - (costs[before].convert_s or 0.0)
        assert n == math.ceil(extra / (costs[before].spmv_s - costs[after].spmv_s))


@pytest.mark.parametrize("n", [1, 10, 11, 280, 281, 1850, 1851, 10**9])
def test_the_best_kernel_is_that_of_the_envelope(n: int) -> None:
    least = best(COSTS, n)
    assert least is not None
    assert least.kernel == [kernel for first, kernel in crossovers(COSTS) if first <= n][-1]
    assert total_s(least, n) == min(total_s(cost, n) for cost in COSTS)


def test_a_kernel_that_another_one_overtakes_first_has_no_part_in_the_envelope() -> None:
    between = KernelCost("hyb/segmented", 6.9e-6, convert_s=3.9e-3)
    assert crossovers((*COSTS, between)) == crossovers(COSTS)


@pytest.mark.parametrize(
    ("cost", "baseline", "n"),
    [(COO, CSR, 101), (CSR, COO, None), (CSR, CSR, 1), (NEVER, CSR, 1_000_001), (UNKNOWN, CSR, None)],
)
def test_the_break_even(cost: KernelCost, baseline: KernelCost, n: int | None) -> None:
    assert break_even(cost, baseline) == n


def test_an_exact_tie_is_decided_as_by_the_totals() -> None:
    """The quotient of 280e-6 and 1e-6 lies above 280, though the totals for 280 SpMVs are equal."""
    slow, fast = KernelCost("csr/vector", 8e-6, convert_s=20e-6), KernelCost("coo/segmented", 7e-6, convert_s=300e-6)
    n = break_even(fast, slow)
    assert n
    assert total_s(fast, n) <= total_s(slow, n)
    assert total_s(fast, n - 1) > total_s(slow, n - 1)


def test_nothing_is_best_without_a_conversion_time() -> None:
    assert best([UNKNOWN], 1) is None
    assert crossovers([UNKNOWN]) == ()
    assert crossovers([]) == ()


def test_the_cost_of_a_measurement() -> None:
    m = timed("coo/segmented", 1e-3, convert_s=0.5, reorder_s=0.25, bitwise_reproducible=False, rounds=15)
    cost = KernelCost("coo/segmented", 1e-3, m.ci_low_s, m.ci_high_s, 0.75, 12_000_000, False)
    assert cost_of(m) == cost
    assert cost_of(untimed("ell/thread", "failed", "x")) is None
    few = cost_of(timed("coo/segmented", 1e-3, rounds=6))
    assert few
    assert (few.low_s, few.high_s) == (None, None)


def test_which_kernels_keep_csr() -> None:
    keeping = ("csr/vector", "csr/smart+rcm", "cusparse/csr_alg1", "cusparse/op_alg2", "ginkgo/csr")
    others = ("csri/warp", "csc/atomic", "cusparse/coo_alg1", "cusparse/bsr_alg1", "packed/tile")
    assert [kernel for kernel in (*keeping, *others) if keeps_csr(kernel)] == list(keeping)


def group(coo_s: float = 0.5e-3, convert_s: float = 0.01) -> list[Measurement]:
    return [
        timed("csr/vector", 1e-3, rounds=15),
        timed("csr/scalar", 2e-3, rounds=15),
        timed("coo/segmented", coo_s, rounds=15, convert_s=convert_s),
        timed(BEST, 1e-3, rounds=15),
        untimed("ell/thread", "skipped", "needs 41 GB"),
    ]


def test_few_spmvs_keep_csr_and_many_do_not() -> None:
    few, many = decide(group(), 19), decide(group(), 100)
    assert few
    assert many
    assert (few.kernel.kernel, few.keeps_csr, few.pays_after) == ("csr/vector", True, None)
    assert few.next
    assert (few.next[0], few.next[1].kernel) == (20, "coo/segmented")
    assert (many.kernel.kernel, many.keeps_csr, many.pays_after, many.next) == ("coo/segmented", False, 20, None)
    assert many.speedup == pytest.approx(0.1 / 0.06)
    assert many.interval is not None
    assert many.interval[0] < 0.1 / 0.06 < many.interval[1]


def test_a_gain_within_the_noise_does_not_replace_csr() -> None:
    decision = decide(group(coo_s=0.995e-3, convert_s=0.0), 10**6)
    assert decision
    assert decision.rival
    assert (decision.kernel.kernel, decision.rival.kernel) == ("csr/vector", "coo/segmented")


def test_without_conversion_times_they_count_as_nothing_and_nothing_is_claimed_of_them() -> None:
    decision = decide([m.with_(convert_s=None) for m in group()], 1)
    assert decision
    assert (decision.kernel.kernel, decision.has_conversions, decision.pays_after) == ("coo/segmented", False, None)


def test_nothing_is_decided_without_a_time() -> None:
    assert decide([untimed("csr/vector", "failed", "x")], 1) is None


def test_the_interval_of_totals_is_that_of_the_spmvs_for_many_of_them() -> None:
    csr = KernelCost("csr/vector", 10e-6, 9.9e-6, 10.1e-6, 0.0)
    coo = KernelCost("coo/segmented", 5e-6, 4.95e-6, 5.05e-6, 1e-3)
    low, high = interval_of_totals(csr, coo, 10**9) or (0.0, 0.0)
    spread = math.hypot(math.log(10 / 9.9), math.log(5.05 / 5))
    assert (low, high) == pytest.approx((2 * math.exp(-spread), 2 * math.exp(spread)), rel=1e-3)
    assert interval_of_totals(csr, COO, 5) is None
