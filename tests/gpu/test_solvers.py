"""Solvers on a GPU against the same solvers on a CPU, whose tests compare them with SciPy's."""

from typing import Any

import cupy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from cupyx.scipy import sparse as gpu_sparse

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.operators import operator
from gpu_engine.solvers.base import Status
from gpu_engine.solvers.batch import Systems
from gpu_engine.solvers.batch import solve as solve_batch
from tests.gpu_engine.solvers.systems import SYSTEMS, convection, neumann, scaled, spectrum, stencil
from tests.gpu_engine.solvers.test_batch import MATRICES
from tests.gpu_engine.solvers.test_batch import right_hand_side as batch_side
from tests.gpu_engine.solvers.test_batch import systems as batch_of
from tests.gpu_engine.solvers.test_methods import PAIRS, RTOL, residual, right_hand_side

pytestmark = pytest.mark.usefixtures("gpu")

METHODS = ("cg", "minres", "bicgstab", "gmres", "chebyshev")
PLANE = stencil(40, 40)
B = np.random.default_rng(0).standard_normal(1600)


def on_gpu(matrix: Any, kernel: str = "csr/scalar") -> Any:
    return operator(gpu_sparse.csr_matrix(sp.csr_matrix(matrix)), kernel=kernel)


@pytest.mark.parametrize(("name", "method"), PAIRS)
def test_iterations_are_those_of_the_cpu(name: str, method: str) -> None:
    case = SYSTEMS[name]
    matrix = case.matrix()
    b = right_hand_side(case, matrix)
    x, info = getattr(on_gpu(matrix), method)(cp.asarray(b), rtol=RTOL, M=case.M)
    expected = getattr(operator(matrix), method)(b, rtol=RTOL, M=case.M)[1].solution
    assert info == 0
    assert residual(matrix, x.get(), b) <= RTOL * np.linalg.norm(b) * (1 + 1e-12)
    assert info.solution.residual == pytest.approx(
        residual(matrix, x.get(), b), rel=1e-6, abs=1e-6 * info.solution.bound
    )
    share = 0.25 if method == "bicgstab" else 0.1 * (expected.iterations > 100)
    assert abs(info.solution.iterations - expected.iterations) <= max(1, round(share * expected.iterations))


@pytest.mark.parametrize("M", [None, "jacobi", "apart"])
@pytest.mark.parametrize("method", METHODS)
def test_x_has_the_same_bits_in_every_run_and_for_every_distance_of_checks(method: str, M: str | None) -> None:
    matrix = scaled(PLANE, 0.5)
    A, b = on_gpu(matrix), cp.asarray(B)
    options: dict[str, Any] = {"rtol": 1e-9}
    options["M"] = gpu_sparse.diags(cp.asarray(1.0 / matrix.diagonal()), format="csr") if M == "apart" else M
    first, info = getattr(A, method)(b, **options)
    assert info == 0
    distances = (10,) * 20 if method == "gmres" else (10,) * 17 + (1, 4, 20)
    for distance in distances:
        more = {} if method == "gmres" else {"check_every": distance}
        again, other = getattr(A, method)(b, **options, **more)
        assert other.solution.iterations == info.solution.iterations
        cp.testing.assert_array_equal(first, again)


@pytest.mark.parametrize("method", METHODS)
def test_a_callback_changes_nothing(method: str) -> None:
    A, b, calls = on_gpu(PLANE), cp.asarray(B), list[float]()
    x, info = getattr(A, method)(b, rtol=1e-9)
    again, other = getattr(A, method)(b, rtol=1e-9, callback=lambda v: calls.append(float(cp.linalg.norm(v))))
    assert other.solution.iterations == info.solution.iterations
    assert calls
    cp.testing.assert_array_equal(x, again)


def test_hostile_systems_end_by_name_and_leave_the_best_iterate() -> None:
    ends = {
        "cg": (spectrum(np.linspace(1.0, 4.0, 20) * np.array([-1.0, 1.0] * 10)), np.ones(20), Status.INDEFINITE),
        "gmres": (sp.csr_array(np.roll(np.eye(20), 1, axis=0)), np.eye(20)[0], Status.STAGNATED),
    }
    for method, (matrix, b, status) in ends.items():
        options = {"restart": 5} if method == "gmres" else {}
        x, info = getattr(on_gpu(matrix), method)(cp.asarray(b), **options)
        assert info.solution.status is status
        assert np.isfinite(x.get()).all()
    for method in METHODS:
        matrix = scaled(PLANE, 8.0)
        bounds: dict[str, Any] = {"bounds": (1e-4, 1e9)} if method == "chebyshev" else {}
        x, info = getattr(on_gpu(matrix), method)(cp.asarray(B), rtol=1e-15, maxiter=1000, **bounds)
        assert info.solution.converged == (residual(matrix, x.get(), B) <= info.solution.bound)
        _, info = getattr(on_gpu(PLANE), method)(cp.zeros(1600))
        assert (info, info.solution.iterations) == (0, 0)
    with pytest.raises(ParameterError):
        on_gpu(PLANE).cg(cp.full(1600, cp.nan))
    with pytest.raises(ParameterError):
        on_gpu(PLANE).cg(B)


@pytest.mark.parametrize("kernel", ["sellp/t1", "split/tile", "packed/tile", "csr/vector", "coo/segmented"])
@pytest.mark.parametrize("method", METHODS)
def test_every_kind_of_kernel_runs_in_the_graph(method: str, kernel: str) -> None:
    matrix = PLANE if method in ("cg", "minres", "chebyshev") else convection(40, 1.0)
    x, info = getattr(on_gpu(matrix, kernel), method)(cp.asarray(B), rtol=1e-9)
    assert info == 0
    assert residual(sp.csr_array(matrix), x.get(), B) <= 1e-9 * np.linalg.norm(B)


def test_a_solver_is_used_again_with_other_vectors_and_tolerances() -> None:
    A = on_gpu(PLANE)
    for seed, rtol in enumerate((1e-4, 1e-10, 1e-6)):
        b = np.random.default_rng(seed).standard_normal(1600)
        x, info = A.cg(cp.asarray(b), rtol=rtol)
        assert info == 0
        assert residual(PLANE, x.get(), b) <= rtol * np.linalg.norm(b)


def test_tensors_are_solved_on_their_stream() -> None:
    torch = pytest.importorskip("torch")
    b = torch.as_tensor(B, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        x, info = on_gpu(PLANE).cg(b, rtol=1e-9)
    assert info == 0
    assert x.is_cuda
    assert residual(PLANE, x.cpu().numpy(), B) <= 1e-9 * np.linalg.norm(B)
    with pytest.raises(ParameterError):
        on_gpu(PLANE).cg(b.requires_grad_())


@pytest.mark.parametrize("name", ["jacobi", "block-jacobi:3", "chebyshev:3", "ic", "ilu"])
@pytest.mark.parametrize("method", ["cg", "bicgstab", "gmres"])
def test_preconditioners_are_those_of_the_cpu(method: str, name: str) -> None:
    matrix, M = scaled(PLANE, 0.5), "jacobi" if (method, name) == ("cg", "ilu") else name
    x, info = getattr(on_gpu(matrix), method)(cp.asarray(B), rtol=1e-9, M=M)
    expected = getattr(operator(matrix), method)(B, rtol=1e-9, M=M)[1].solution.iterations
    assert info == 0
    assert residual(matrix, x.get(), B) <= 1e-9 * np.linalg.norm(B)
    assert abs(info.solution.iterations - expected) <= max(1, round(0.25 * expected))


def test_an_object_that_cannot_be_captured_is_called_by_the_host() -> None:
    calls = list[int]()

    class Synchronizes:
        shape = (1600, 1600)

        def matvec(self, v: Any) -> Any:
            calls.append(int(v.size))
            return 0.25 * v * float(cp.ones(1).sum())

    x, info = on_gpu(PLANE).cg(cp.asarray(B), rtol=1e-9, M=Synchronizes())
    assert info == 0
    assert len(calls) >= info.solution.iterations
    assert residual(PLANE, x.get(), B) <= 1e-9 * np.linalg.norm(B)


@pytest.mark.parametrize("M", [None, "jacobi", "ic"])
@pytest.mark.parametrize("method", ["cg", "minres", "bicgstab", "gmres"])
def test_a_launched_solve_has_the_bits_of_one_that_waits(method: str, M: str | None) -> None:
    a, b = on_gpu(PLANE), cp.asarray(B)
    expected, info = getattr(a, method)(b, rtol=1e-9, M=M)
    x = cp.zeros_like(b)
    report = a.launch_solve(b, x, method=method, rtol=1e-9, M=M).info()
    assert (int(report), report.solution.iterations) == (0, info.solution.iterations)
    assert report.solution.bound == pytest.approx(info.solution.bound, rel=1e-14)
    assert x.get().tobytes() == expected.get().tobytes()


@pytest.mark.parametrize("method", ["cg", "gmres"])
def test_a_solve_is_captured_in_the_graph_of_the_caller(method: str) -> None:
    a, b = on_gpu(PLANE), cp.asarray(B)
    x, twice, right = cp.zeros_like(b), cp.empty_like(b), cp.empty_like(b)
    a.launch_solve(b, x, method=method, rtol=1e-9).info()
    stream = cp.cuda.Stream(non_blocking=True)
    stream.use()
    try:
        stream.begin_capture()
        cp.multiply(b, 2.0, out=right)
        x.fill(0.0)
        launched = a.launch_solve(right, x, method=method, rtol=1e-9)
        cp.multiply(x, 0.5, out=twice)
        graph = stream.end_capture()
        for factor in (1.0, -3.0):
            b[...] = factor * cp.asarray(B)
            graph.launch(stream)
            info = launched.info()
            assert info == 0
            assert residual(PLANE, twice.get(), factor * B) <= 1e-9 * np.linalg.norm(factor * B)
    finally:
        cp.cuda.Stream.null.use()


def test_what_cannot_be_captured_is_refused() -> None:
    class OfTheHost:
        shape = (1600, 1600)

        def matvec(self, v: Any) -> Any:
            return 0.25 * v

    a, b = on_gpu(PLANE), cp.asarray(B)
    with pytest.raises(ParameterError, match="CUDA graph"):
        a.launch_solve(b, cp.zeros_like(b), M=OfTheHost())
    with pytest.raises(ParameterError, match="float64"):
        a.launch_solve(b, cp.zeros(3))


@pytest.mark.parametrize("M", [None, "jacobi"])
@pytest.mark.parametrize("method", ["cg", "bicgstab", "gmres"])
def test_batches_are_solved_as_on_the_cpu(method: str, M: str | None) -> None:
    large = stencil(80, 80) if method == "cg" else convection(80, 1.0)
    for matrices in (MATRICES[method] * 50, [*MATRICES[method], large]):
        b = batch_side(matrices)
        host = solve_batch(method, batch_of(matrices), b, rtol=1e-9, M=M)
        on_device = Systems.of([CsrMatrix.from_scipy(matrix).on(cp) for matrix in matrices])
        first = solve_batch(method, on_device, cp.asarray(b), rtol=1e-9, M=M)
        assert first.converged.all()
        share = 0.1 if method == "cg" else 0.25
        assert (np.abs(first.iterations.get() - host.iterations) <= np.maximum(1, share * host.iterations)).all()
        np.testing.assert_allclose(first.x.get(), host.x, rtol=1e-4, atol=1e-7)
        begins = on_device.begins.get()
        for number, matrix in enumerate(matrices[:4]):
            rows = slice(begins[number], begins[number + 1])
            assert residual(sp.csr_array(matrix), first.x.get()[rows], b[rows]) <= 1e-9 * np.linalg.norm(b[rows])
        for _ in range(5):
            cp.testing.assert_array_equal(first.x, solve_batch(method, on_device, cp.asarray(b), rtol=1e-9, M=M).x)


def test_one_system_of_a_batch_that_fails_does_not_disturb_the_others() -> None:
    matrices = [stencil(5, 5), -stencil(5, 5), neumann(25), stencil(25)]
    on_device = Systems.of([CsrMatrix.from_scipy(matrix).on(cp) for matrix in matrices])
    solution = solve_batch("cg", on_device, cp.ones(100), rtol=1e-9, maxiter=200)
    assert solution.converged.get().tolist() == [True, False, False, True]
    assert Status.of(int(solution.status[1])) is Status.INDEFINITE


def test_a_stream_that_was_made_current_by_use_stays_current() -> None:
    outer, stream = cp.cuda.get_current_stream(), cp.cuda.Stream(non_blocking=True)
    stream.use()
    try:
        x, info = on_gpu(PLANE).cg(cp.asarray(B), rtol=1e-9)
        assert cp.cuda.get_current_stream() == stream
    finally:
        outer.use()
    assert info == 0
    assert residual(PLANE, x.get(), B) <= 1e-9 * np.linalg.norm(B)
