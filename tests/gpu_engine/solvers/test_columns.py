"""Several right-hand sides at once: each column is solved as it is alone, and ends by itself."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.operators import operator
from gpu_engine.solvers.base import Status, System
from gpu_engine.solvers.columns import COLUMNS_MAX, ColumnTolerance, host
from gpu_engine.solvers.columns.cg import CG
from tests.gpu_engine.solvers.systems import SYSTEMS, convection, image, neumann, scaled, spectrum, stencil
from tests.gpu_engine.solvers.test_methods import RTOL, residual, scipy_iterations

PLANE = stencil(12, 12)
B = np.random.default_rng(0).standard_normal((144, 5))
NAMES = [name for name, case in SYSTEMS.items() if "cg" in case.methods]
HALVES = sp.csr_array(sp.diags_array(np.where(np.arange(144) % 2, 0.3, 0.2)))


def rights(name: str, matrix: Any, k: int) -> Any:
    """Return right-hand sides of very different norms; of a singular system they lie in the range of the matrix."""
    block = np.random.default_rng(1).standard_normal((matrix.shape[0], k)) * 10.0 ** np.arange(k)
    return matrix @ block if SYSTEMS[name].b else block


@pytest.mark.parametrize("k", [2, 7])
@pytest.mark.parametrize("name", NAMES)
def test_each_column_has_the_iterations_of_scipy_and_a_residual_that_meets_the_tolerance(name: str, k: int) -> None:
    case = SYSTEMS[name]
    matrix = case.matrix()
    b = rights(name, matrix, k)
    x, info = operator(matrix).cg(b, rtol=RTOL, M=case.M)
    solution = info.solution
    assert (info == 0).all()
    for j in range(k):
        norm = np.linalg.norm(b[:, j])
        assert residual(matrix, x[:, j], b[:, j]) <= RTOL * norm * (1 + 1e-12)
        assert solution.bound[j] == pytest.approx(RTOL * norm, rel=1e-12)
        exact = residual(matrix, x[:, j], b[:, j])
        assert solution.residual[j] == pytest.approx(exact, rel=1e-6, abs=1e-6 * solution.bound[j])
        # Where the norm hardly falls, rounding decides when it meets the tolerance, in a solve of one column too.
        single = operator(matrix).cg(b[:, j], rtol=RTOL, M=case.M)[1].solution.iterations
        expected = scipy_iterations("cg", matrix, b[:, j], case.M is not None)
        apart = min(abs(solution.iterations[j] - iterations) for iterations in (single, expected))
        assert apart <= max(1, round(0.1 * expected) * (expected > 100))
    assert solution.residuals.shape == (solution.iterations.max() + 1, k) or solution.replacements.any()


@pytest.mark.parametrize("M", [None, "jacobi", "ic", HALVES])
@pytest.mark.parametrize("k", [2, 3, 16, 64, COLUMNS_MAX])
def test_columns_are_those_of_single_solves(k: int, M: Any) -> None:
    matrix = scaled(PLANE, 0.5)
    b = np.random.default_rng(2).standard_normal((144, k))
    A = operator(matrix)
    x, info = A.cg(b, rtol=1e-10, M=M)
    assert (info == 0).all()
    for j in {0, k // 2, k - 1}:
        single, other = A.cg(b[:, j], rtol=1e-10, M=M)
        np.testing.assert_allclose(x[:, j], single, rtol=1e-8, atol=1e-9)
        assert abs(info.solution.iterations[j] - other.solution.iterations) <= 1
        assert info.solution.of(j).status is other.solution.status


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("name", [name for name, case in SYSTEMS.items() if "gmres" in case.methods])
def test_each_column_of_gmres_has_the_iterations_of_a_single_solve(name: str, k: int) -> None:
    case = SYSTEMS[name]
    matrix = case.matrix()
    b = rights(name, matrix, k)
    A = operator(matrix)
    x, info = A.gmres(b, rtol=RTOL, M=case.M)
    assert (info == 0).all()
    for j in range(k):
        assert residual(matrix, x[:, j], b[:, j]) <= RTOL * np.linalg.norm(b[:, j]) * (1 + 1e-12)
        single, other = A.gmres(b[:, j], rtol=RTOL, M=case.M)
        np.testing.assert_allclose(x[:, j], single, rtol=1e-4, atol=1e-5 * abs(single).max())
        # Where the norm hardly falls, rounding decides when it meets the tolerance.
        expected = other.solution.iterations
        assert abs(info.solution.iterations[j] - expected) <= max(2, round(0.1 * expected) * (expected > 100))


@pytest.mark.parametrize("M", [None, "jacobi", "ilu", HALVES])
@pytest.mark.parametrize("restart", [1, 4, 30, 200])
def test_cycles_of_gmres_are_those_of_single_solves(restart: int, M: Any) -> None:
    matrix = convection(12, 1.0)
    A = operator(matrix)
    x, info = A.gmres(B, rtol=1e-8, restart=restart, M=M)
    assert (info == 0).all()
    for j in range(5):
        single, other = A.gmres(B[:, j], rtol=1e-8, restart=restart, M=M)
        np.testing.assert_allclose(x[:, j], single, rtol=1e-5, atol=1e-6)
        assert abs(info.solution.iterations[j] - other.solution.iterations) <= max(
            1, 0.02 * info.solution.iterations[j]
        )
        assert info.solution.replacements[j] <= -(-info.solution.iterations[j] // restart)


def test_columns_of_gmres_end_by_themselves() -> None:
    """A matrix that turns vectors needs a whole basis; one column needs a step, and one breaks down."""
    turn = sp.csr_array(np.roll(np.eye(20), 1, axis=0))
    matrix = sp.csr_array(sp.block_diag([turn, sp.csr_array((1, 1))]))
    b = np.zeros((21, 5))
    b[0, 0], b[:20, 1], b[20, 2], b[:20, 4] = 1.0, 1.0, 1.0, 1e200
    for restart, status in ((5, Status.STAGNATED), (20, Status.CONVERGED)):
        x, info = operator(matrix).gmres(b, restart=restart)
        expected = status, Status.CONVERGED, Status.BREAKDOWN, Status.CONVERGED, Status.NOT_FINITE
        assert info.solution.status == expected
        assert info.solution.iterations[[1, 3]].tolist() == [1, 0]
        assert np.isfinite(x).all()
    _, info = operator(PLANE).gmres(B, rtol=1e-12, restart=4, maxiter=2)
    assert info.tolist() == [8] * 5


def test_one_column_is_the_vector_solve_within_rounding() -> None:
    A = operator(PLANE)
    expected, info = A.cg(B[:, :1], rtol=1e-10)
    assert (int(info), expected.shape) == (0, (144, 1))
    x = np.zeros((144, 1))
    system = System(144, A.bind_columns(1), CsrMatrix.from_scipy(PLANE))
    tolerance = ColumnTolerance(np.array([info.solution.bound]), 1000)
    solution = host.solve(CG, system, np.ascontiguousarray(B[:, :1]), x, tolerance)
    assert solution.iterations.tolist() == [info.solution.iterations]
    np.testing.assert_allclose(x, expected, rtol=1e-10, atol=1e-13)


def test_columns_end_by_themselves_and_do_not_disturb_each_other() -> None:
    """Zeros, an eigenvector, equal columns, and one that breaks down, beside a column that goes on."""
    signs = np.ones(40)
    signs[0] = -1.0
    matrix = spectrum(np.geomspace(1.0, 50.0, 40) * signs)
    values, vectors = np.linalg.eigh(matrix.toarray())
    definite = vectors[:, 1:] @ np.ones(39)
    b = np.stack([np.zeros(40), vectors[:, 5], definite, vectors[:, 0], definite], axis=1)
    x, info = operator(matrix).cg(b, rtol=1e-8, maxiter=200)
    statuses = info.solution.status
    assert statuses[3] is Status.INDEFINITE
    assert [statuses[j] for j in (0, 1, 2, 4)] == [Status.CONVERGED] * 4
    assert info.tolist() == [0, 0, 0, -3, 0]
    assert info.solution.converged.tolist() == [True, True, True, False, True]
    assert info.solution.iterations[0] == 0
    assert info.solution.iterations[1] <= 2
    assert info.solution.iterations[2] == info.solution.iterations[4] > 5
    assert not x[:, 0].any()
    np.testing.assert_array_equal(x[:, 2], x[:, 4])
    np.testing.assert_allclose(x[:, 1], vectors[:, 5] / values[5], rtol=1e-6, atol=1e-8)
    assert np.isfinite(x).all()
    assert "column 3" in str(info.solution)


def test_breakdowns_have_the_names_of_single_solves() -> None:
    M = sp.diags_array(np.where(np.arange(144) % 2, 1.0, -1.0))
    _, info = operator(PLANE).cg(B, M=M)
    assert set(info.solution.status) == {Status.INDEFINITE_PRECONDITIONER}
    _, info = operator(sp.csr_array(-PLANE)).cg(B)
    assert set(info.solution.status) == {Status.INDEFINITE}
    _, info = operator(neumann(144)).cg(np.stack([image(neumann(144)), np.ones(144)], axis=1), rtol=1e-9)
    assert info.solution.status[0] is Status.CONVERGED
    assert info.solution.status[1] is not Status.CONVERGED
    _, info = operator(PLANE).cg(B, rtol=1e-12, maxiter=3)
    assert info.tolist() == [3] * 5
    assert set(info.solution.status) == {Status.ITERATIONS_MAX}


def test_no_column_within_a_tolerance_below_rounding_is_called_converged() -> None:
    matrix = scaled(PLANE, 8.0)
    x, info = operator(matrix).cg(B, rtol=1e-15, maxiter=2000)
    for j in range(5):
        exact = residual(matrix, x[:, j], B[:, j])
        assert info.solution.converged[j] == (exact <= info.solution.bound[j])
        assert info.solution.residual[j] == pytest.approx(exact, rel=1e-3)


def test_a_recurrence_that_drifts_continues_from_the_true_residual() -> None:
    matrix = spectrum(np.geomspace(1.0, 1e6, 60))
    b = np.stack([np.ones(60), np.zeros(60), matrix @ np.ones(60)], axis=1)
    _, info = operator(matrix).cg(b, rtol=1e-13, maxiter=5000)
    assert info.solution.replacements[0] > 0
    assert info.solution.replacements[1] == 0
    assert info[1] == 0


def test_a_column_whose_numbers_overflow_ends_alone() -> None:
    b = np.stack([B[:, 0], np.full(144, 1e200), B[:, 1]], axis=1)
    x, info = operator(PLANE).cg(b, rtol=1e-8)
    assert [info[0], info[2]] == [0, 0]
    assert info.solution.status[1] is Status.NOT_FINITE
    assert np.isfinite(x).all()


@pytest.mark.parametrize("method", ["cg", "minres", "bicgstab", "gmres"])
def test_a_vector_whose_squares_overflow_is_not_solved(method: str) -> None:
    info = getattr(operator(PLANE), method)(np.full(144, 1e200), rtol=1e-8)[1]
    assert info.solution.status is not Status.CONVERGED
    assert info != 0


def test_start_blocks_are_those_of_each_column() -> None:
    exact = np.random.default_rng(3).standard_normal((144, 3))
    start = exact.copy()
    start[:, 1] = 0.0
    given = start.copy()
    x, info = operator(PLANE).cg(PLANE @ exact, start, rtol=1e-10)
    assert (info == 0).all()
    assert info.solution.iterations[[0, 2]].tolist() == [0, 0]
    assert info.solution.iterations[1] > 10
    np.testing.assert_array_equal(x[:, 0], exact[:, 0])
    np.testing.assert_allclose(x, exact, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(start, given)


def test_x_has_the_order_of_b() -> None:
    A = operator(PLANE)
    rows, _ = A.cg(B, rtol=1e-10)
    columns, _ = A.cg(np.asfortranarray(B), rtol=1e-10)
    assert rows.flags.c_contiguous
    assert columns.flags.f_contiguous
    assert not columns.flags.c_contiguous
    np.testing.assert_array_equal(rows, columns)
    wide = np.zeros((144, 20))
    wide[:, 3:8] = B
    strided, _ = A.cg(wide[:, 3:8], rtol=1e-10)
    np.testing.assert_array_equal(rows, strided)
    whole, _ = A.cg(np.ones((144, 2), np.int32), rtol=1e-10)
    assert whole.dtype == np.float64


def test_columns_are_solved_without_a_transposed_copy_and_for_the_transpose() -> None:
    stored_by_columns = operator(sp.csc_array(PLANE), transposed_copy=False)
    assert stored_by_columns.column_kernel(5) is None
    for A in (stored_by_columns, operator(PLANE).T):
        x, info = A.cg(B, rtol=1e-10)
        assert (info == 0).all()
        assert residual(PLANE, x[:, 4], B[:, 4]) <= 1e-10 * np.linalg.norm(B[:, 4])


def test_preconditioners_of_a_caller_take_blocks_or_vectors() -> None:
    shapes = set[tuple[int, ...]]()

    class Vectors:
        shape = (144, 144)

        def matvec(self, v: Any) -> Any:
            shapes.add(v.shape)
            return 0.25 * v

    def blocks(v: Any) -> Any:
        shapes.add(v.shape)
        return 0.25 * v

    A = operator(PLANE)
    expected, _ = A.cg(B, rtol=1e-10)
    both = LinearOperator((144, 144), matvec=blocks, matmat=blocks, dtype=np.float64)
    for M in (Vectors(), both, 0.25 * np.eye(144), A):
        x, info = A.cg(B, rtol=1e-10, M=M)
        assert (info == 0).all()
        np.testing.assert_allclose(x, expected, rtol=1e-7, atol=1e-8)
    assert shapes == {(144,), (144, 5)}


def test_a_callback_gets_the_norms_of_all_columns() -> None:
    calls = list[Any]()
    _, info = operator(PLANE).cg(B * [1, 1, 0, 1, 1], rtol=1e-8, callback=calls.append)
    assert len(calls) == info.solution.iterations.max()
    np.testing.assert_array_equal(calls, info.solution.residuals[1:])
    assert not calls[-1][2]
    assert (calls[-1] <= info.solution.bound).all()


def test_tensors_are_solved() -> None:
    torch = pytest.importorskip("torch")
    b = torch.as_tensor(B)
    x, info = operator(PLANE).cg(b, rtol=1e-10)
    assert (info == 0).all()
    np.testing.assert_array_equal(x.numpy(), operator(PLANE).cg(B, rtol=1e-10)[0])
    columns, _ = operator(PLANE).cg(torch.as_tensor(np.asfortranarray(B)), rtol=1e-10)
    assert columns.stride() == (1, 144)


def test_hostile_arguments_are_refused_before_work_begins() -> None:
    A = operator(PLANE)
    nan = np.where(np.arange(720).reshape(144, 5) == 7, np.nan, B)
    bad: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((nan,), {}),
        ((B, nan), {}),
        ((np.where(np.isnan(nan), np.inf, B),), {}),
        ((B * 1j,), {}),
        ((B[:10],), {}),
        ((B[:, :, None],), {}),
        ((B, B[:, :3]), {}),
        ((B, B[:, 0]), {}),
        ((B,), {"rtol": -1.0}),
        ((B,), {"atol": float("inf")}),
        ((B,), {"maxiter": -1}),
        ((B,), {"M": "amg"}),
        ((B,), {"M": sp.eye_array(3, format="csr")}),
        ((B,), {"M": aslinearoperator(np.eye(3))}),
        ((np.ones((144, COLUMNS_MAX + 1)),), {}),
        ((np.full((144, 2), "a"),), {}),
    ]
    for arguments, options in bad:
        with pytest.raises(ParameterError):
            A.cg(*arguments, **options)
    for method in ("minres", "bicgstab", "chebyshev"):
        with pytest.raises(ParameterError):
            getattr(A, method)(B)


def test_blocks_without_columns_or_rows_are_solved() -> None:
    x, info = operator(PLANE).cg(np.zeros((144, 0)))
    assert (x.shape, info.shape) == ((144, 0), (0,))
    assert not info.solution.converged.size
    assert str(info.solution)
    x, info = operator(sp.csr_array((0, 0))).cg(np.zeros((0, 3)))
    assert (x.shape, info.tolist()) == ((0, 3), [0, 0, 0])
