"""The kernel for a solve: from measured solves, from measured SpMVs, and from predicted ones."""

from dataclasses import replace
from typing import Any

import pytest

from gpu_engine.advisor import EQUAL
from gpu_engine.findings.formats.for_n import KernelCost
from gpu_engine.findings.solvers.choice import (
    SolveChoice,
    SolveQuestion,
    measured_choice,
    measured_spmvs_choice,
    method_for,
    plain_group,
    predicted_choice,
    with_rival,
)
from gpu_engine.findings.solvers.groups import SolveGroup, solve_groups
from gpu_engine.findings.solvers.solve_model import ON_H200, SystemSize
from gpu_engine.records import Measurement
from gpu_engine.solvers import find_method
from tests.samples.formats import timed
from tests.samples.solvers import ITERATIONS, SPMV_S, every, shown, solved

SIZE = SystemSize(409_600, 2_045_440, 5)
CG, BICGSTAB = find_method("cg"), find_method("bicgstab")


def question(iterations: int = 200, method: str = "cg", copy_rate: float | None = 4e12) -> SolveQuestion:
    return SolveQuestion(find_method(method), iterations, SIZE, copy_rate)


def group(method: str = "cg", **fields: Any) -> SolveGroup:
    solves = every(solves=((method, "none"),), **fields)
    plain = plain_group(solve_groups(shown(*solves)), find_method(method))
    assert plain
    return plain


def test_a_symmetric_matrix_is_solved_by_cg() -> None:
    assert method_for({"symmetric": True}).name == "cg"
    assert method_for({"symmetric": False}).name == "bicgstab"
    assert method_for({}).name == "bicgstab"


def test_only_solves_of_the_method_without_a_preconditioner_count() -> None:
    groups = solve_groups(shown(*every()))
    plain = plain_group(groups, CG)
    assert plain
    assert (plain.method, plain.preconditioner) == ("CG", "none")
    assert plain_group(solve_groups(shown(*every(solves=(("cg", "jacobi"),)))), CG) is None
    assert plain_group(solve_groups(shown(*every(solves=(("cg", "none"),), aa_gap=0.5))), CG) is None, "too noisy"
    assert plain_group(solve_groups(shown(solved("cupy/solver"))), CG) is None, "a library"
    assert plain_group(solve_groups(shown(solved("sellp/t1", convert_s=None))), CG) is None


@pytest.mark.parametrize("copy_rate", [4e12, None])
def test_a_measured_solve_of_the_same_iterations_is_the_answer(copy_rate: float | None) -> None:
    iterations = ITERATIONS["cg", "none"]
    choice = measured_choice(group(rounds=15), question(iterations, copy_rate=copy_rate))
    assert (choice.basis, choice.kernel, choice.csr) == ("solves", "sellp/t1", "csr/vector")
    solve_s = 420 * 24e-6
    assert choice.total_s == pytest.approx(1.2e-3 + solve_s)
    assert choice.csr_total_s == pytest.approx(1e-6 + 420 * 30e-6)
    assert choice.speedup == pytest.approx((1e-6 + 420 * 30e-6) / (1.2e-3 + solve_s))
    assert (choice.low_s, choice.high_s) == pytest.approx((1.2e-3 + 0.998 * solve_s, 1.2e-3 + 1.002 * solve_s))
    assert choice.spmv_share == pytest.approx(12 / 24)
    assert choice.measured
    assert choice.measured.label == "sellp/t1"


def test_a_few_iterations_keep_csr_and_say_when_a_conversion_pays() -> None:
    few = measured_choice(group(), question(100, copy_rate=None))
    assert (few.kernel, few.csr, few.pays_from) == ("csr/vector", "csr/vector", None)
    assert few.later == (200, "sellp/t1"), "6 µs per iteration pay 1.199 ms"
    many = measured_choice(group(), question(200, copy_rate=None))
    assert (many.kernel, many.pays_from) == ("sellp/t1", 200)


def test_on_a_gpu_a_conversion_pays_from_the_first_iteration_of_a_check() -> None:
    choice = measured_choice(group(), question(420))
    assert choice.pays_from is not None
    assert choice.pays_from % 10 == 1
    before, after = (measured_choice(group(), question(choice.pays_from + more)) for more in (-1, 0))
    assert (before.kernel, after.kernel) == ("csr/vector", "sellp/t1")
    assert before.later == (choice.pays_from, "sellp/t1")


def test_a_solve_is_scaled_by_the_cost_model_and_its_range_has_the_error_of_it() -> None:
    own, scaled = (measured_choice(group(rounds=15), question(n)) for n in (420, 4200))
    parts = question(420).parts, question(4200).parts
    ratio = parts[1].seconds(SPMV_S["sellp/t1"]) / parts[0].seconds(SPMV_S["sellp/t1"])
    assert scaled.total_s - 1.2e-3 == pytest.approx(420 * 24e-6 * ratio)
    assert own.high_s / own.total_s < 1.01
    assert (scaled.high_s - 1.2e-3) / (scaled.total_s - 1.2e-3) == pytest.approx(1.002 * ON_H200.measured)


def test_a_speedup_that_is_not_significant_keeps_csr() -> None:
    solves = [solved("csr/vector"), solved("sellp/t1", iteration_s=29.9e-6, convert_s=0.0)]
    plain = plain_group(solve_groups(shown(*solves)), CG)
    assert plain
    assert measured_choice(plain, question(10**6)).kernel == "csr/vector"


def spmvs(**changes: Any) -> list[Measurement]:
    times = {"csr/vector": 18e-6, "sellp/t1": 12e-6, "packed/tile": 15e-6, "cusparse/csr_alg1": 6e-6}
    convert = {"csr/vector": 0.0, "sellp/t1": 1.2e-3, "packed/tile": 0.1, "cusparse/csr_alg1": 0.0}
    return [
        timed(kernel, s, matrix="plane", device="cuda:0", backend="cuda", convert_s=convert[kernel], **changes)
        for kernel, s in times.items()
    ]


@pytest.mark.parametrize(
    ("method", "iterations", "kernel"),
    [("cg", 190, "csr/vector"), ("cg", 201, "sellp/t1"), ("bicgstab", 101, "sellp/t1")],
)
def test_measured_spmvs_of_sparsight_kernels_choose_by_the_model(method: str, iterations: int, kernel: str) -> None:
    asked = question(iterations, method)
    choice = measured_spmvs_choice(spmvs(), asked, 1.5)
    assert choice
    assert (choice.basis, choice.kernel, choice.csr) == ("spmvs", kernel, "csr/vector")
    convert_s = 1.2e-3 if kernel == "sellp/t1" else 0.0
    solve_s = asked.parts.seconds(SPMV_S[kernel])
    assert choice.total_s == pytest.approx(convert_s + solve_s)
    assert (choice.low_s, choice.high_s) == pytest.approx((choice.total_s / 1.5, choice.total_s * 1.5))
    assert choice.spmv_share == pytest.approx(asked.parts.spmvs * SPMV_S[kernel] / solve_s)
    pays = {"cg": 191, "bicgstab": 91}[method]
    assert (choice.pays_from, choice.later) == ((pays, None) if kernel == "sellp/t1" else (None, (pays, "sellp/t1")))


def test_without_conversion_times_nothing_is_said_of_them() -> None:
    choice = measured_spmvs_choice(spmvs(aa_gap=0.001)[:2], question(), 1.1)
    unknown = measured_spmvs_choice([m.with_(convert_s=None) for m in spmvs()[:2]], question(), 1.1)
    assert choice
    assert unknown
    assert (unknown.kernel, unknown.convert_s, unknown.pays_from, unknown.later) == ("sellp/t1", None, None, None)
    assert unknown.total_s == pytest.approx(question().parts.seconds(12e-6))
    assert measured_spmvs_choice(spmvs()[3:], question(), 1.1) is None, "cuSPARSE does not solve"
    assert measured_spmvs_choice([], question(), 1.1) is None


def predicted(iterations: int, costs: bool = True, gain: float = 1.5) -> SolveChoice:
    times = {"sellp/t1": 12e-6, "csr/vector": 12e-6 * gain}
    convert = {"sellp/t1": 1.2e-3, "csr/vector": 0.0}
    known = [KernelCost(kernel, s, convert_s=convert[kernel]) for kernel, s in times.items()] if costs else []
    return predicted_choice(times, known, question(iterations), 2.0)


def test_predicted_spmvs_choose_with_forecasts_of_the_conversions() -> None:
    few, many = predicted(190), predicted(201)
    assert (few.kernel, few.later) == ("csr/vector", (191, "sellp/t1"))
    assert (many.basis, many.kernel, many.pays_from) == ("structure", "sellp/t1", 191)
    assert many.total_s == pytest.approx(1.2e-3 + question(201).parts.seconds(12e-6))
    assert many.high_s == pytest.approx(2 * many.total_s)


def test_without_forecasts_only_a_clear_advantage_leaves_csr() -> None:
    assert (predicted(1, costs=False).kernel, predicted(1, costs=False).convert_s) == ("sellp/t1", None)
    assert predicted(1, costs=False, gain=EQUAL - 0.01).kernel == "csr/vector"


def test_a_faster_kernel_without_a_measured_solve_is_a_rival_beyond_the_error_only() -> None:
    choice = measured_choice(group(rounds=15), question(420))
    other = predicted(420)
    near, far = (replace(other, kernel="ell/thread", total_s=s, high_s=1.1 * s) for s in (10.5e-3, 8e-3))
    assert with_rival(choice, None).rival is None
    assert with_rival(choice, near).rival is None
    assert with_rival(choice, far).rival == ("ell/thread", 8e-3)
    csr = replace(near, kernel="csr/scalar")
    assert with_rival(choice, csr).rival == ("csr/scalar", 10.5e-3), "one kernel of CSR was measured"
    assert with_rival(replace(choice, is_csr_only=False), csr).rival is None
    assert with_rival(choice, replace(csr, total_s=12e-3)).rival is None, "it is slower"
    assert with_rival(choice, replace(far, convert_s=None)).rival is None


def test_the_model_is_of_gpus_only() -> None:
    with pytest.raises(ValueError, match="CPU"):
        _ = question(copy_rate=None).parts
