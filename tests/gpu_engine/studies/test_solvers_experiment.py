"""Complete solves on this CPU: each is verified, counted, and timed; each that fails has its status."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.measure import Bench
from gpu_engine.parameters import parse_params
from gpu_engine.records import MatrixInfo, Measurement, Trace
from gpu_engine.solvers import METHODS
from gpu_engine.studies.solvers import SolversParams, SolversStudy, solve_candidate
from gpu_engine.studies.solvers.system_solves import SystemSolves
from tests.gpu_engine.solvers.systems import convection, spectrum, stencil

QUICK: dict[str, Any] = {"kernels": ["csr/scalar", "sellp/t1"], "sampling": "adaptive", "time_limit_s": 1e-3}


def run(bench: Bench, matrix: Any, **params: Any) -> tuple[list[Measurement], dict[str, Trace]]:
    host, study = CsrMatrix.from_scipy(matrix), SolversStudy()
    info = MatrixInfo("m", "m", *host.shape, host.nnz)
    chosen = parse_params(SolversParams, QUICK | params)
    cases = tuple(study.cases(chosen, [info], bench.device))
    records = list(study.run(chosen, cases, {"m": host}, bench))
    traces = {trace.case: trace for trace in records if isinstance(trace, Trace)}
    return [m for m in records if isinstance(m, Measurement)], traces


def by_method(measurements: Sequence[Measurement]) -> dict[str, list[Measurement]]:
    return {method.name: [m for m in measurements if m.axes["method"] == method.name] for method in METHODS}


@pytest.fixture(scope="module")
def plane(bench: Bench) -> tuple[list[Measurement], dict[str, Trace]]:
    return run(bench, stencil(14, 14), kernels=["csr/scalar", "sellp/t1", "scipy/solver"])


def test_every_method_solves_with_every_kernel(plane: tuple[list[Measurement], dict[str, Trace]]) -> None:
    measurements, _ = plane
    assert len(measurements) == 4 * 3
    assert {(m.state, m.note) for m in measurements} <= {("ok", ""), ("ok", "the library reports no convergence")}
    assert all(m.details.residual <= 1e-8 * (1 + 1e-6) for m in measurements)
    assert all(m.median_s and m.gflops and m.roofline_s and m.details.iterations for m in measurements)


def test_kernels_need_the_iterations_that_scipy_needs(plane: tuple[list[Measurement], dict[str, Trace]]) -> None:
    for method, solves in by_method(plane[0]).items():
        own = [m for m in solves if m.format != "scipy"]
        (library,) = [m for m in solves if m.format == "scipy"]
        assert len({m.details.iterations for m in own}) == 1
        assert own[0].details.spmvs == own[0].details.iterations * (2 if method == "bicgstab" else 1)
        # MINRES of SciPy tests another norm, and needs a tighter tolerance.
        if method != "minres":
            assert library.details.tolerance == 1e-8
            assert abs(library.details.iterations - own[0].details.iterations) <= 1 + own[0].details.iterations // 10
        assert library.details.tolerance <= 1e-8
        assert library.environment["SciPy"]
        assert library.details.spmvs >= library.details.iterations


def test_details_of_a_solve(plane: tuple[list[Measurement], dict[str, Trace]]) -> None:
    for m in plane[0]:
        own = m.format != "scipy"
        assert (m.details.spmv_s is not None) == (m.details.convert_s is not None) == own
        assert (m.details.tolerance is None) == own
        assert m.details.setup_s == 0.0
        assert m.roofline_s == pytest.approx(m.details.iterations * m.details.iteration_roofline_s)
    assert len({m.environment["source"] for m in plane[0]}) == 4 * 2 + 1


def test_the_trace_has_the_residual_of_each_check(plane: tuple[list[Measurement], dict[str, Trace]]) -> None:
    measurements, traces = plane
    assert traces.keys() == {m.case for m in measurements if m.format != "scipy"}
    for m in measurements:
        if m.case in traces:
            arrays = traces[m.case].arrays
            assert arrays["iteration"] == tuple(map(float, range(m.details.iterations + 1)))
            assert arrays["residual"][0] == 1.0
            assert arrays["residual"][-1] <= 1e-8


def test_a_long_trace_has_few_points_and_the_last(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve_candidate, "POINTS_MAX", 8)
    (m,), traces = run(bench, stencil(12, 12), methods=["cg"], kernels=["csr/scalar"])
    arrays = traces[m.case].arrays
    assert 5 <= len(arrays["iteration"]) <= 9
    assert arrays["iteration"][-1] == m.details.iterations


def test_preconditioners_are_timed_apart_and_save_iterations(bench: Bench) -> None:
    names = ["none", "jacobi", "block-jacobi:2", "chebyshev", "ic"]
    measurements, _ = run(bench, stencil(20, 20), methods=["cg"], preconditioners=names, kernels=["csr/scalar"])
    iterations = {m.axes["preconditioner"]: m.details.iterations for m in measurements}
    setup = {m.axes["preconditioner"]: m.details.setup_s for m in measurements}
    assert {m.state for m in measurements} == {"ok"}
    assert iterations["ic"] < iterations["none"]
    assert iterations["chebyshev"] < iterations["none"]
    assert iterations["jacobi"] == pytest.approx(iterations["none"], abs=1)
    assert setup["none"] == 0.0
    assert all(setup[name] > 0 for name in names[1:])
    per_iteration = {m.axes["preconditioner"]: m.details.spmvs / m.details.iterations for m in measurements}
    # A polynomial of degree 4 has three SpMVs more.
    assert per_iteration == {"none": 1, "jacobi": 1, "block-jacobi:2": 1, "chebyshev": 4, "ic": 1}


def test_a_tighter_tolerance_needs_more_iterations(bench: Bench) -> None:
    measurements, _ = run(bench, stencil(14, 14), methods=["cg"], rtol=[1e-4, 1e-10], kernels=["csr/scalar"])
    loose, tight = measurements
    assert loose.details.iterations < tight.details.iterations
    assert loose.details.residual <= 1e-4
    assert tight.details.residual <= 1e-10


def test_methods_that_need_symmetry_skip_a_matrix_without(bench: Bench) -> None:
    measurements, _ = run(bench, convection(12, 1.0))
    states = {method: {m.state for m in measured} for method, measured in by_method(measurements).items()}
    assert states == {"cg": {"skipped"}, "minres": {"skipped"}, "bicgstab": {"ok"}, "gmres": {"ok"}}
    assert all("not symmetric" in m.note for m in measurements if m.state == "skipped")


def test_a_matrix_is_made_solvable(bench: Bench) -> None:
    matrix = sp.random_array((200, 200), density=0.03, rng=np.random.default_rng(1), format="csr")
    measurements, _ = run(bench, matrix, methods=["cg"], system="definite", kernels=["csr/scalar"])
    assert [(m.state, m.axes["system"]) for m in measurements] == [("ok", "definite")]
    measurements, _ = run(bench, matrix, methods=["bicgstab"], system="dominant", b="point", kernels=["csr/scalar"])
    assert [(m.state, m.axes["b"]) for m in measurements] == [("ok", "point")]


@pytest.mark.parametrize(
    ("matrix", "params", "status"),
    [
        (lambda: -stencil(8, 8), {"methods": ["cg"]}, "indefinite"),
        (lambda: stencil(14, 14), {"methods": ["cg"], "iterations_max": 3}, "iterations_max"),
        (lambda: spectrum(np.geomspace(1e-9, 1.0, 30)), {"methods": ["cg"], "rtol": [1e-15]}, ""),
    ],
    ids=["indefinite", "few iterations", "ill conditioned"],
)
def test_a_solve_without_a_solution_fails_with_its_status(
    bench: Bench, matrix: Callable[[], Any], params: dict[str, Any], status: str
) -> None:
    measurements, traces = run(bench, matrix(), **params)
    assert {(m.state, m.median_s) for m in measurements} == {("failed", None)}
    assert all(m.note.startswith(f"status {status}") for m in measurements)
    assert traces == {}


def test_a_wrong_solution_fails(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SystemSolves, "norm_of", lambda *_: 1.0)
    measurements, _ = run(bench, stencil(10, 10), methods=["cg"], kernels=["csr/scalar", "scipy/solver"])
    assert {m.state for m in measurements} == {"failed"}
    assert "wrong solution" in measurements[0].note


def test_a_zero_on_the_diagonal_skips_jacobi(bench: Bench) -> None:
    matrix = sp.csr_array(np.array([[0.0, 1.0], [-1.0, 2.0]]))
    params = {"methods": ["gmres"], "preconditioners": ["jacobi"], "kernels": ["csr/scalar", "scipy/solver"]}
    measurements, _ = run(bench, matrix, **params)
    assert {m.state for m in measurements} == {"skipped"}
    assert all("Jacobi" in m.note for m in measurements)


def test_the_identity_takes_one_iteration(bench: Bench) -> None:
    measurements, _ = run(bench, sp.eye_array(3, format="csr"), methods=["cg"], b="point")
    assert {(m.state, m.details.iterations) for m in measurements} == {("ok", 1)}
