"""The cost model of a solve: its parts, and the solves of another GPU."""

import math

import pytest

from gpu_engine.advisor import rank
from gpu_engine.advisor.gpus import FITTED, GPUS
from gpu_engine.findings.solvers.solve_model import (
    COSTS,
    ON_H100,
    ON_H200,
    STEP_S,
    SystemSize,
    accuracy_on,
    copy_rate_of,
    residual_s,
    run_iterations,
    solve_parts,
)
from gpu_engine.generators import generate
from gpu_engine.matrices.features import features
from gpu_engine.solvers import METHODS, find_method

RATE = 4e12
SIZE = SystemSize(400_000, 2_000_000, 5)


@pytest.mark.parametrize(
    ("name", "iterations", "run"),
    [("cg", 1, 10), ("cg", 10, 10), ("cg", 11, 20), ("bicgstab", 200, 200), ("gmres", 31, 35), ("minres", 9, 10)],
)
def test_the_graph_runs_to_the_next_test_of_convergence(name: str, iterations: int, run: int) -> None:
    assert run_iterations(find_method(name), iterations) == run
    assert solve_parts(find_method(name), iterations, SIZE, RATE).run == run


@pytest.mark.parametrize(("name", "spmvs", "passes"), [("cg", 1, 10), ("minres", 1, 14), ("bicgstab", 2, 19)])
def test_a_solve_has_its_iterations_its_call_and_two_residuals(name: str, spmvs: int, passes: int) -> None:
    parts = solve_parts(find_method(name), 200, SIZE, RATE)
    iteration_s = spmvs * 8e-6 + passes * 8 * 400_000 / RATE + COSTS.iteration_s[name]
    assert parts.iteration_s(8e-6) == pytest.approx(iteration_s)
    assert parts.spmvs == 200 * spmvs
    assert parts.fixed_s() == pytest.approx(COSTS.call_s + 2 * residual_s(SIZE, RATE))
    assert parts.seconds(8e-6) == pytest.approx(parts.fixed_s() + 200 * iteration_s)


def test_gmres_has_a_residual_per_cycle_and_reads_its_basis_again() -> None:
    parts = solve_parts(find_method("gmres"), 61, SIZE, RATE)
    assert parts.residuals_s == pytest.approx(4 * residual_s(SIZE, RATE))
    assert parts.vectors_s == pytest.approx(36 * 8 * 400_000 / RATE)
    expected = 8e-6 + COSTS.cycle_reads * parts.vectors_s + COSTS.iteration_s["gmres"]
    assert parts.iteration_s(8e-6) == pytest.approx(expected)
    assert {*COSTS.iteration_s} == {method.name for method in METHODS}


@pytest.mark.parametrize(("nnz", "lanes"), [(1_000, 1), (3_900, 4), (16_000, 4), (17_000, 32), (90_000, 32)])
def test_the_longest_row_of_a_residual_is_divided_among_its_threads(nnz: int, lanes: int) -> None:
    short, long = (residual_s(SystemSize(1000, nnz, longest), RATE) for longest in (lanes, 1001))
    assert long - short == pytest.approx((math.ceil(1001 / lanes) - 1) * STEP_S)


SOLVES_ON_H100 = [
    ((5, 128, 1), "cg", 167, 1.74e-3),
    ((5, 320, 1), "cg", 175, 2.64e-3),
    ((5, 640, 1), "cg", 175, 4.75e-3),
    ((7, 72, 72), "cg", 123, 4.20e-3),
    ((5, 640, 1), "bicgstab", 113, 6.27e-3),
    ((5, 640, 1), "gmres", 190, 15.2e-3),
    ((7, 72, 72), "gmres", 129, 10.3e-3),
]
"""Grid, method, iterations, and measured seconds with sellp/t1: docs/solvers.md, What a solve costs."""


@pytest.mark.parametrize(("grid", "method", "iterations", "measured_s"), SOLVES_ON_H100)
def test_solves_of_another_gpu_are_within_the_stated_error(
    grid: tuple[int, int, int], method: str, iterations: int, measured_s: float
) -> None:
    points, side, depth = grid
    known = features(generate("stencil", {"points": points, "nx": side, "ny": side, "nz": depth}))
    (gpu,) = (gpu for gpu in GPUS if gpu.short_name == "H100")
    spmv_s = dict(rank(known, gpu))["sellp/t1"].seconds
    parts = solve_parts(find_method(method), iterations, SystemSize.of(known), copy_rate_of(gpu))
    assert 1 / ON_H100.predicted <= parts.seconds(spmv_s) / measured_s <= ON_H100.predicted


def test_only_gpus_with_recorded_solves_have_an_accuracy() -> None:
    known = {gpu.name: accuracy for gpu in GPUS if (accuracy := accuracy_on(gpu))}
    assert known == {FITTED.name: ON_H200, "H100-SXM": ON_H100}
    assert accuracy_on(None) is None
