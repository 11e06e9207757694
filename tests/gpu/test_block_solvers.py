"""Several right-hand sides on a GPU against the same solvers on a CPU, whose tests compare them with SciPy's."""

from typing import Any

import cupy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from cupyx.scipy import sparse as gpu_sparse
from cupyx.scipy.sparse.linalg import LinearOperator

from gpu_engine.errors import ParameterError
from gpu_engine.operators import operator
from gpu_engine.solvers.base import Status
from gpu_engine.solvers.columns import COLUMNS_MAX
from tests.gpu_engine.solvers.systems import SYSTEMS, convection, graph, scaled, spectrum, stencil
from tests.gpu_engine.solvers.test_columns import rights
from tests.gpu_engine.solvers.test_methods import RTOL, residual

pytestmark = pytest.mark.usefixtures("gpu")

PLANE = stencil(40, 40)
B = np.random.default_rng(0).standard_normal((1600, 5))


def on_gpu(matrix: Any, **options: Any) -> Any:
    return operator(gpu_sparse.csr_matrix(sp.csr_matrix(matrix)), **{"kernel": "csr/scalar"} | options)


def check(matrix: Any, x: Any, b: Any, info: Any, rtol: float) -> None:
    """Check the residuals of all columns, and those that the solve reports."""
    assert (info == 0).all()
    solution = info.solution
    for j in range(b.shape[1]):
        exact = residual(matrix, x[:, j].get(), b[:, j])
        assert exact <= rtol * np.linalg.norm(b[:, j]) * (1 + 1e-12)
        assert solution.residual[j] == pytest.approx(exact, rel=1e-6, abs=1e-6 * solution.bound[j])


@pytest.mark.parametrize("k", [2, 7])
@pytest.mark.parametrize(
    ("method", "name"),
    [(method, name) for method in ("cg", "gmres") for name in SYSTEMS if method in SYSTEMS[name].methods],
)
def test_iterations_of_each_column_are_those_of_the_cpu(method: str, name: str, k: int) -> None:
    case = SYSTEMS[name]
    matrix = case.matrix()
    b = rights(name, matrix, k)
    x, info = getattr(on_gpu(matrix), method)(cp.asarray(b), rtol=RTOL, M=case.M)
    expected = getattr(operator(matrix), method)(b, rtol=RTOL, M=case.M)[1].solution.iterations
    check(matrix, x, b, info, RTOL)
    allowed = np.maximum(2, np.round(0.1 * expected) * (expected > 100))
    assert (abs(info.solution.iterations - expected) <= allowed).all()


@pytest.mark.parametrize("M", [None, "jacobi", "apart"])
@pytest.mark.parametrize("k", [2, 3, 16, 64, 100, COLUMNS_MAX])
def test_columns_are_those_of_single_solves(k: int, M: Any) -> None:
    matrix = scaled(PLANE, 0.5)
    M = gpu_sparse.diags(cp.asarray(1.0 / matrix.diagonal()), format="csr") if M == "apart" else M
    b = np.random.default_rng(2).standard_normal((1600, k))
    A = on_gpu(matrix)
    x, info = A.cg(cp.asarray(b), rtol=1e-10, M=M)
    assert (info == 0).all()
    for j in {0, k // 2, k - 1}:
        single, other = A.cg(cp.asarray(b[:, j]), rtol=1e-10, M=M)
        cp.testing.assert_allclose(x[:, j], single, rtol=1e-7, atol=1e-8)
        assert abs(info.solution.iterations[j] - other.solution.iterations) <= 2


@pytest.mark.parametrize("M", [None, "jacobi", "apart", "ilu"])
@pytest.mark.parametrize(("k", "restart"), [(2, 30), (5, 7), (64, 30), (COLUMNS_MAX, 12)])
def test_gmres_has_the_same_bits_in_every_run_and_the_iterations_of_single_solves(
    k: int, restart: int, M: str | None
) -> None:
    matrix = convection(40, 1.0)
    b = np.random.default_rng(6).standard_normal((1600, k))
    A = on_gpu(matrix)
    options: dict[str, Any] = {"rtol": 1e-9, "restart": restart}
    options["M"] = gpu_sparse.diags(cp.asarray(1.0 / matrix.diagonal()), format="csr") if M == "apart" else M
    first, info = A.gmres(cp.asarray(b), **options)
    assert (info == 0).all()
    norms = np.linalg.norm(b - matrix @ first.get(), axis=0)
    assert (norms <= 1e-9 * np.linalg.norm(b, axis=0) * (1 + 1e-5)).all()
    for _ in range(3):
        again, other = A.gmres(cp.asarray(b), **options)
        assert again.get().tobytes() == first.get().tobytes()
        np.testing.assert_array_equal(other.solution.iterations, info.solution.iterations)
    calls = list[Any]()
    again, _ = A.gmres(cp.asarray(b), **options, callback=calls.append)
    assert again.get().tobytes() == first.get().tobytes()
    assert calls
    for j in {0, k - 1}:
        single = A.gmres(cp.asarray(b[:, j]), **options)[1].solution.iterations
        assert abs(info.solution.iterations[j] - single) <= max(2, 0.05 * single)


def test_columns_of_gmres_end_by_themselves() -> None:
    turn = sp.csr_array(np.roll(np.eye(20), 1, axis=0))
    matrix = sp.csr_array(sp.block_diag([turn, sp.csr_array((1, 1))]))
    b = np.zeros((21, 5))
    b[0, 0], b[:20, 1], b[20, 2], b[:20, 4] = 1.0, 1.0, 1.0, 1e200
    for restart, status in ((5, Status.STAGNATED), (20, Status.CONVERGED)):
        x, info = on_gpu(matrix).gmres(cp.asarray(b), restart=restart)
        expected = status, Status.CONVERGED, Status.BREAKDOWN, Status.CONVERGED, Status.NOT_FINITE
        assert info.solution.status == expected
        assert np.isfinite(x.get()).all()


@pytest.mark.parametrize("M", [None, "jacobi", "apart", "ic"])
@pytest.mark.parametrize("k", [2, 5, 64])
def test_x_has_the_same_bits_in_every_run_and_for_every_distance_of_checks(k: int, M: str | None) -> None:
    matrix = scaled(PLANE, 0.5)
    A, b = on_gpu(matrix), cp.asarray(np.random.default_rng(1).standard_normal((1600, k)))
    options: dict[str, Any] = {"rtol": 1e-9}
    options["M"] = gpu_sparse.diags(cp.asarray(1.0 / matrix.diagonal()), format="csr") if M == "apart" else M
    first, info = A.cg(b, **options)
    assert (info == 0).all()
    for distance in (10, 10, 10, 1, 4, 20):
        again, other = A.cg(b, **options, check_every=distance)
        np.testing.assert_array_equal(other.solution.iterations, info.solution.iterations)
        assert again.get().tobytes() == first.get().tobytes()


def test_a_callback_gets_the_norms_of_all_columns_and_changes_nothing() -> None:
    A, b, calls = on_gpu(PLANE), cp.asarray(B), list[Any]()
    x, info = A.cg(b, rtol=1e-9)
    again, other = A.cg(b, rtol=1e-9, callback=calls.append)
    np.testing.assert_array_equal(other.solution.iterations, info.solution.iterations)
    np.testing.assert_array_equal(calls, other.solution.residuals)
    np.testing.assert_array_equal(other.solution.residuals, info.solution.residuals)
    assert calls[-1].shape == (5,)
    cp.testing.assert_array_equal(x, again)


def test_columns_end_by_themselves_and_do_not_disturb_each_other() -> None:
    signs = np.ones(40)
    signs[0] = -1.0
    matrix = spectrum(np.geomspace(1.0, 50.0, 40) * signs)
    vectors = np.linalg.eigh(matrix.toarray())[1]
    definite = vectors[:, 1:] @ np.ones(39)
    huge = np.full(40, 1e200)
    b = np.stack([np.zeros(40), vectors[:, 5], definite, vectors[:, 0], definite, huge], axis=1)
    x, info = on_gpu(matrix).cg(cp.asarray(b), rtol=1e-8, maxiter=200)
    statuses = info.solution.status
    assert [statuses[j] for j in (0, 1, 2, 4)] == [Status.CONVERGED] * 4
    assert statuses[3] is Status.INDEFINITE
    assert statuses[5] is Status.NOT_FINITE
    assert info.solution.iterations[0] == 0
    cp.testing.assert_array_equal(x[:, 2], x[:, 4])
    assert np.isfinite(x.get()).all()
    _, info = on_gpu(PLANE).cg(cp.asarray(B), rtol=1e-12, maxiter=3)
    assert info.tolist() == [3] * 5
    x, info = on_gpu(scaled(PLANE, 8.0)).cg(cp.asarray(B), rtol=1e-15, maxiter=1000)
    for j in range(5):
        exact = residual(scaled(PLANE, 8.0), x[:, j].get(), B[:, j])
        assert info.solution.converged[j] == (exact <= info.solution.bound[j])
    for hostile in (cp.full((1600, 2), cp.nan), B, cp.ones((1600, COLUMNS_MAX + 1)), cp.ones((1600, 2)) * 1j):
        with pytest.raises(ParameterError):
            on_gpu(PLANE).cg(hostile)


def test_a_recurrence_that_drifts_continues_from_the_true_residual() -> None:
    matrix = spectrum(np.geomspace(1.0, 1e6, 60))
    b = np.stack([np.ones(60), np.zeros(60), matrix @ np.ones(60)], axis=1)
    _, info = on_gpu(matrix).cg(cp.asarray(b), rtol=1e-13, maxiter=5000)
    assert info.solution.replacements[0] > 0
    assert info[1] == 0


def test_orders_start_blocks_and_other_numbers_of_columns() -> None:
    A = on_gpu(PLANE)
    rows, _ = A.cg(cp.asarray(B), rtol=1e-10)
    columns, _ = A.cg(cp.asarray(np.asfortranarray(B), order="F"), rtol=1e-10)
    assert rows.flags.c_contiguous
    assert columns.flags.f_contiguous
    cp.testing.assert_array_equal(rows, columns)
    wide = cp.zeros((1600, 20))
    wide[:, 3:8] = cp.asarray(B)
    cp.testing.assert_array_equal(rows, A.cg(wide[:, 3:8], rtol=1e-10)[0])
    again, info = A.cg(cp.asarray(B), rows, rtol=1e-9)
    assert not info.solution.iterations.any()
    cp.testing.assert_array_equal(again, rows)
    # More numbers of columns than solvers that are kept; the first is made again.
    for k in (2, 3, 4, 5, 6, 2, 5):
        x, info = A.cg(cp.asarray(B[:, :1] * np.ones(k)), rtol=1e-10)
        assert (info == 0).all()
        cp.testing.assert_allclose(x[:, k - 1], rows[:, 0], rtol=1e-8, atol=1e-9)
    empty, info = A.cg(cp.zeros((1600, 0)))
    assert (empty.shape, info.shape) == ((1600, 0), (0,))


def test_rows_that_are_cut_keep_their_buffers_while_other_solvers_come_and_go() -> None:
    """A graph has the address of the sums of cut rows; SpMMs with other numbers of columns must not free them."""
    hubs = graph(3000, 40_000, 1.0)
    A, b = on_gpu(hubs), np.random.default_rng(4).standard_normal((3000, 6))
    assert A.column_kernel(6) == "csr/segments"
    first, info = A.cg(cp.asarray(b), rtol=1e-10)
    check(hubs, first, b, info, 1e-10)
    for k in range(2, 12):
        A @ cp.ones((3000, k))
    cp.get_default_memory_pool().free_all_blocks()
    again, _ = A.cg(cp.asarray(b), rtol=1e-10)
    cp.testing.assert_array_equal(first, again)


def test_large_systems_have_many_blocks_and_long_rows() -> None:
    matrix = stencil(300, 300, shift=0.05)
    b = np.random.default_rng(5).standard_normal((90_000, 33))
    x, info = on_gpu(matrix).cg(cp.asarray(b), rtol=1e-9)
    assert (info == 0).all()
    norms = np.linalg.norm(b - matrix @ x.get(), axis=0)
    np.testing.assert_allclose(info.solution.residual, norms, rtol=1e-3)
    assert (norms <= 1e-9 * np.linalg.norm(b, axis=0) * (1 + 1e-6)).all()


def test_columns_are_solved_without_an_spmm() -> None:
    stored_by_columns = gpu_sparse.csc_matrix(sp.csc_matrix(PLANE))
    A = operator(stored_by_columns, transposed_copy=False)
    assert A.column_kernel(5) is None
    x, info = A.cg(cp.asarray(B), rtol=1e-9)
    check(PLANE, x, B, info, 1e-9)


@pytest.mark.parametrize("name", ["jacobi", "block-jacobi:3", "chebyshev:3", "ic"])
def test_preconditioners_are_those_of_the_cpu(name: str) -> None:
    matrix = scaled(PLANE, 0.5)
    x, info = on_gpu(matrix).cg(cp.asarray(B), rtol=1e-9, M=name)
    expected = operator(matrix).cg(B, rtol=1e-9, M=name)[1].solution.iterations
    check(matrix, x, B, info, 1e-9)
    assert (abs(info.solution.iterations - expected) <= np.maximum(2, 0.1 * expected)).all()


def test_an_object_that_cannot_be_captured_is_called_by_the_host_with_blocks() -> None:
    shapes = list[tuple[int, ...]]()

    def synchronizes(v: Any) -> Any:
        shapes.append(v.shape)
        return 0.25 * v * float(cp.ones(1).sum())

    M = LinearOperator((1600, 1600), matvec=synchronizes, matmat=synchronizes, dtype=np.float64)
    x, info = on_gpu(PLANE).cg(cp.asarray(B), rtol=1e-9, M=M)
    check(PLANE, x, B, info, 1e-9)
    assert set(shapes) == {(1600, 5)}
    assert len(shapes) >= info.solution.iterations.max()


def test_an_operator_can_be_its_own_preconditioner() -> None:
    A = on_gpu(PLANE)
    x, info = A.cg(cp.asarray(B), rtol=1e-8, M=A)
    check(PLANE, x, B, info, 1e-8)


def test_tensors_are_solved_on_their_stream() -> None:
    torch = pytest.importorskip("torch")
    b = torch.as_tensor(B, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        x, info = on_gpu(PLANE).cg(b, rtol=1e-9)
    assert (info == 0).all()
    assert x.is_cuda
    assert residual(PLANE, x[:, 4].cpu().numpy(), B[:, 4]) <= 1e-9 * np.linalg.norm(B[:, 4])


def test_a_stream_that_was_made_current_by_use_stays_current() -> None:
    outer, stream = cp.cuda.get_current_stream(), cp.cuda.Stream(non_blocking=True)
    stream.use()
    try:
        x, info = on_gpu(PLANE).cg(cp.asarray(B), rtol=1e-9)
        assert cp.cuda.get_current_stream() == stream
    finally:
        outer.use()
    check(PLANE, x, B, info, 1e-9)
