"""How solves end: breakdowns by name, stagnation, and refused input; never a wrong answer that is called converged."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from gpu_engine.errors import ParameterError
from gpu_engine.operators import operator
from gpu_engine.solvers.base import Status
from gpu_engine.solvers.chebyshev import chebyshev
from tests.gpu_engine.solvers.systems import convection, image, neumann, scaled, spectrum, stencil, with_zero_rows
from tests.gpu_engine.solvers.test_methods import residual

PLANE = stencil(12, 12)
B = np.random.default_rng(0).standard_normal(144)
METHODS = ("cg", "minres", "bicgstab", "gmres", "chebyshev")
SIGNS = np.array([-1.0, 1.0] * 10)


def status(method: str, matrix: Any, b: Any, **options: Any) -> Status:
    x, info = getattr(operator(matrix), method)(b, **options)
    assert (info == 0) == (info.solution.status is Status.CONVERGED)
    assert np.isfinite(x).all()
    ending: Status = info.solution.status
    return ending


def test_an_indefinite_matrix_ends_cg_by_name() -> None:
    matrix = spectrum(np.linspace(1.0, 4.0, 20) * SIGNS)
    assert status("cg", matrix, np.ones(20)) is Status.INDEFINITE
    assert status("cg", -PLANE, B) is Status.INDEFINITE


def test_an_indefinite_preconditioner_ends_cg_and_minres_by_name() -> None:
    M = sp.diags_array(np.where(np.arange(144) % 2, 1.0, -1.0))
    for method in ("cg", "minres"):
        assert status(method, PLANE, B, M=M) is Status.INDEFINITE_PRECONDITIONER


def test_a_singular_matrix_without_a_solution_does_not_converge() -> None:
    matrix, b = neumann(40), np.ones(40)
    for method in ("cg", "minres", "bicgstab", "gmres"):
        assert status(method, matrix, b, maxiter=300) is not Status.CONVERGED
    zeros = with_zero_rows(convection(12, 1.0))
    for method in ("bicgstab", "gmres"):
        assert status(method, zeros, np.ones(144), maxiter=300) is not Status.CONVERGED


def test_the_maximum_of_iterations_is_info() -> None:
    for method in ("cg", "minres", "bicgstab"):
        _, info = getattr(operator(PLANE), method)(B, rtol=1e-12, maxiter=3)
        assert (info, info.solution.status) == (3, Status.ITERATIONS_MAX)
    _, info = operator(PLANE).gmres(B, rtol=1e-12, restart=4, maxiter=2)
    assert (info, info.solution.iterations) == (8, 8)


def test_gmres_that_makes_no_progress_stagnates() -> None:
    cycle = sp.csr_array(np.roll(np.eye(20), 1, axis=0))
    first = np.eye(20)[0]
    assert status("gmres", cycle, first, restart=5) is Status.STAGNATED
    assert status("gmres", cycle, first, restart=20) is Status.CONVERGED


@pytest.mark.parametrize("method", METHODS)
def test_a_right_hand_side_of_zeros_and_an_exact_start_need_no_iteration(method: str) -> None:
    _, info = getattr(operator(PLANE), method)(0.0 * B)
    assert (info, info.solution.iterations) == (0, 0)
    x, info = getattr(operator(PLANE), method)(PLANE @ B, B)
    assert (info, info.solution.iterations) == (0, 0)
    np.testing.assert_array_equal(x, B)


@pytest.mark.parametrize("method", METHODS)
def test_no_answer_within_a_tolerance_below_rounding_is_called_converged(method: str) -> None:
    """An ill-conditioned matrix whose recurrences converge although the true residual cannot."""
    matrix = scaled(PLANE, 8.0)
    options = {"bounds": (1e-4, 1e9)} if method == "chebyshev" else {}
    x, info = getattr(operator(matrix), method)(B, rtol=1e-15, maxiter=2000, **options)
    assert info.solution.converged == (residual(matrix, x, B) <= info.solution.bound)
    assert info.solution.residual == pytest.approx(residual(matrix, x, B), rel=1e-3)


def test_a_recurrence_that_drifts_continues_from_the_true_residual() -> None:
    """CG reaches a residual of 10⁻¹⁴ although its recurrence converges too early."""
    matrix = spectrum(np.geomspace(1.0, 1e6, 60))
    _, info = operator(matrix).cg(np.ones(60), rtol=1e-13, maxiter=5000)
    assert info.solution.replacements > 0


@pytest.mark.parametrize("method", METHODS)
def test_hostile_arguments_are_refused_before_work_begins(method: str) -> None:
    solve = getattr(operator(PLANE), method)
    nan = np.where(np.arange(144) == 5, np.nan, B)
    bad: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((nan,), {}),
        ((B, nan), {}),
        ((B * 1j,), {}),
        ((B[:10],), {}),
        ((np.stack([B[:10], B[:10]], axis=1),), {}),
        ((B,), {"rtol": -1.0}),
        ((B,), {"atol": float("inf")}),
        ((B,), {"maxiter": -1}),
        ((B,), {"M": "amg"}),
        ((B,), {"M": sp.eye_array(3, format="csr")}),
        ((B,), {"M": aslinearoperator(np.eye(3))}),
    ]
    for arguments, options in bad:
        with pytest.raises(ParameterError):
            solve(*arguments, **options)


def test_a_matrix_that_is_not_square_or_not_symmetric_is_refused() -> None:
    with pytest.raises(ParameterError):
        operator(PLANE[:30]).gmres(B[:30])
    for method in ("cg", "minres", "chebyshev"):
        with pytest.raises(ParameterError, match=r"a\(0, 1\)"):
            getattr(operator(convection(12, 1.0)), method)(B)


def test_jacobi_needs_a_diagonal_without_zeros() -> None:
    with pytest.raises(ParameterError, match="row 0"):
        operator(sp.csr_array([[0.0, 1.0], [1.0, 0.0]])).minres(np.ones(2), M="jacobi")


def test_a_matrix_without_rows_is_solved() -> None:
    x, info = operator(sp.csr_array((0, 0))).cg(np.zeros(0))
    assert (x.size, info) == (0, 0)


def test_the_transpose_and_columns_of_vectors_are_solved() -> None:
    matrix = convection(12, 1.0)
    x, info = operator(matrix).T.gmres(B[:, None], rtol=1e-10)
    assert (info, x.shape) == (0, (144, 1))
    assert residual(sp.csr_array(matrix.T), x[:, 0], B) <= 1e-10 * np.linalg.norm(B)
    x, info = operator(sp.csc_array(matrix)).bicgstab(B, rtol=1e-10)
    assert residual(matrix, x, B) <= 1e-10 * np.linalg.norm(B)


def test_a_callback_sees_every_iterate() -> None:
    norms = list[float]()
    _, info = operator(PLANE).cg(B, rtol=1e-8, callback=lambda x: norms.append(float(np.linalg.norm(B - PLANE @ x))))
    np.testing.assert_allclose(norms, info.solution.residuals[1:], rtol=1e-4)


def test_consistent_singular_systems_converge() -> None:
    matrix = neumann(40)
    b = image(matrix)
    for method in ("cg", "minres"):
        assert status(method, matrix, b, rtol=1e-9) is Status.CONVERGED


def test_an_operator_can_be_its_own_preconditioner() -> None:
    """A solve holds the lock of the operator that it then multiplies by."""
    A = operator(PLANE)
    x, info = A.cg(B, rtol=1e-8, M=A)
    assert info == 0
    assert residual(PLANE, x, B) <= 1e-8 * np.linalg.norm(B)


def test_close_bounds_are_those_of_different_methods() -> None:
    """The title of a method is the key of its CUDA graph, which has the bounds as constants."""
    assert chebyshev((0.1, 8.0)).title != chebyshev((0.1, 8.0 + 1e-12)).title
