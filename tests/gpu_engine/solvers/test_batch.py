"""Batches of systems: each is solved as it is alone, and ends by itself."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.operators import operator
from gpu_engine.operators.batch_solves import solve_batch
from gpu_engine.solvers.base import Status
from gpu_engine.solvers.batch import METHODS, Systems, solve
from tests.gpu_engine.solvers.systems import convection, dominant, neumann, scaled, spectrum, stencil
from tests.gpu_engine.solvers.test_methods import residual

DEFINITE = [stencil(7, 6), stencil(1), scaled(stencil(9, 9), 1.0), spectrum(np.geomspace(1.0, 50.0, 33))]
GENERAL = [convection(7, 1.0), sp.csr_array([[3.0]]), dominant(90, 0.1, 1), stencil(12, 3)]
MATRICES = {"cg": DEFINITE, "bicgstab": GENERAL, "gmres": GENERAL}


def systems(matrices: list[Any]) -> Systems:
    return Systems.of([CsrMatrix.from_scipy(matrix) for matrix in matrices])


def right_hand_side(matrices: list[Any]) -> Any:
    return np.random.default_rng(0).standard_normal(sum(matrix.shape[0] for matrix in matrices))


@pytest.mark.parametrize("M", [None, "jacobi"])
@pytest.mark.parametrize("method", METHODS)
def test_each_system_is_solved_as_alone(method: str, M: str | None) -> None:
    matrices = MATRICES[method]
    b = right_hand_side(matrices)
    solution = solve(method, systems(matrices), b, rtol=1e-9, M=M)
    assert solution.converged.all()
    begin = 0
    for number, matrix in enumerate(matrices):
        right = b[begin : begin + matrix.shape[0]]
        begin += matrix.shape[0]
        x, info = getattr(operator(matrix), method)(right, rtol=1e-9, M=M)
        np.testing.assert_allclose(solution.of(number), x, rtol=1e-6, atol=1e-9)
        # The order of a sum depends on where its vectors lie.
        iterations = info.solution.iterations
        assert abs(solution.iterations[number] - iterations) <= max(1, round(0.1 * iterations))
        assert residual(matrix, solution.of(number), right) <= 1e-9 * np.linalg.norm(right)


def test_systems_with_one_pattern_are_the_same_as_a_list() -> None:
    pattern = CsrMatrix.from_scipy(stencil(6, 6))
    values = np.stack([pattern.values * factor for factor in (1.0, 2.0, 5.0)])
    uniform = Systems.uniform(pattern, values)
    listed = Systems.of([CsrMatrix(36, 36, pattern.indptr, pattern.indices, row) for row in values])
    for name in ("begins", "indptr", "indices", "values"):
        np.testing.assert_array_equal(getattr(uniform, name), getattr(listed, name))
    b = np.tile(np.ones(36), 3)
    x = solve("cg", uniform, b, rtol=1e-10).x.reshape(3, 36)
    np.testing.assert_allclose(x[0], 5.0 * x[2], rtol=1e-8)


def test_one_system_that_fails_does_not_disturb_the_others() -> None:
    matrices = [stencil(5, 5), -stencil(5, 5), neumann(25), stencil(25)]
    solution = solve("cg", systems(matrices), np.ones(100), rtol=1e-9, maxiter=200)
    assert [Status.of(int(number)) for number in solution.status[:2]] == [Status.CONVERGED, Status.INDEFINITE]
    assert solution.converged.tolist() == [True, False, False, True]
    assert np.isfinite(solution.x).all()


def test_start_vectors_and_limits_are_those_of_each_system() -> None:
    matrices = MATRICES["cg"]
    b = right_hand_side(matrices)
    exact = solve("cg", systems(matrices), b, rtol=1e-12).x
    again = solve("cg", systems(matrices), b, exact, rtol=1e-6)
    assert again.iterations.tolist() == [0, 0, 0, 0]
    np.testing.assert_array_equal(again.x, exact)
    stopped = solve("cg", systems(matrices), b, rtol=1e-12, maxiter=2)
    assert stopped.iterations.max() == 2


def test_matrices_of_a_caller_are_solved_by_rows() -> None:
    columns = sp.csc_array(convection(5, 1.0))
    b = np.random.default_rng(1).standard_normal(34)
    solution = solve_batch([columns, stencil(9)], b, method="bicgstab", rtol=1e-10)
    np.testing.assert_allclose(columns @ solution.of(0), b[:25], atol=1e-8)
    np.testing.assert_allclose(stencil(9) @ solution.of(1), b[25:], atol=1e-8)


def test_bad_input_is_refused() -> None:
    good, b = systems([stencil(3, 3)]), np.ones(9)
    bad: list[Any] = [
        lambda: solve_batch(stencil(3, 3), b),
        lambda: solve_batch([stencil(3, 3)], b, values=np.ones((1, 33))),
        lambda: solve_batch(stencil(3, 3), b, values=np.ones(33)),
        lambda: Systems.of([]),
        lambda: Systems.of([CsrMatrix.from_scipy(sp.csr_array((2, 3)))]),
        lambda: Systems.uniform(CsrMatrix.from_scipy(stencil(3)), np.ones((2, 5))),
        lambda: solve("minres", good, b),
        lambda: solve("cg", good, b, M="ilu"),
        lambda: solve("cg", good, b[:4]),
        lambda: solve("cg", good, b * np.nan),
        lambda: solve("cg", systems([sp.csr_array([[0.0]])]), np.ones(1), M="jacobi"),
    ]
    for call in bad:
        with pytest.raises(ParameterError):
            call()
