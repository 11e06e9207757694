"""Preconditioners by value against dense matrices, and what they save."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.operators import operator
from gpu_engine.solvers.base import System
from gpu_engine.solvers.preconditioners import PRECONDITIONERS, make
from gpu_engine.solvers.preconditioners.incomplete import Incomplete
from tests.gpu_engine.solvers.systems import anisotropic, convection, jumps, scaled, stencil

NAMES = ("jacobi", "block-jacobi:3", "chebyshev:3", "ic", "ilu")


def system(matrix: Any) -> System:
    csr = sp.csr_array(matrix)

    def multiply(v: Any, out: Any) -> None:
        out[...] = csr @ v

    return System(csr.shape[0], multiply, CsrMatrix.from_scipy(csr))


def dense(matrix: Any, name: str) -> Any:
    """Return M as a dense matrix, column by column."""
    M, n = make(name, system(matrix)), matrix.shape[0]
    columns = np.empty((n, n))
    for column, unit in enumerate(np.eye(n)):
        M(unit, columns[:, column])
    return columns


def test_jacobi_is_the_inverse_of_the_diagonal() -> None:
    matrix = convection(5, 1.0)
    np.testing.assert_array_equal(dense(matrix, "jacobi"), np.diag(1.0 / matrix.diagonal()))


@pytest.mark.parametrize("size", [2, 3, 5, 32])
def test_block_jacobi_is_the_inverse_of_the_blocks(size: int) -> None:
    matrix = convection(5, 1.0).toarray()
    blocks = [matrix[first : first + size, first : first + size] for first in range(0, 25, size)]
    expected = scipy.linalg.block_diag(*(np.linalg.inv(block) for block in blocks))
    np.testing.assert_allclose(dense(convection(5, 1.0), f"block-jacobi:{size}"), expected, rtol=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 5])
def test_chebyshev_is_a_polynomial_in_the_matrix(degree: int) -> None:
    """M has the eigenvectors of A, and M·A has eigenvalues near 1 within the bounds."""
    matrix = stencil(5, 5)
    M, (eigenvalues, vectors) = dense(matrix, f"chebyshev:{degree}"), np.linalg.eigh(matrix.toarray())
    images = vectors.T @ M @ vectors
    np.testing.assert_allclose(images, np.diag(np.diag(images)), atol=1e-12)
    assert (np.diag(images) > 0.0).all()
    if degree == 5:
        assert (np.abs(1.0 - np.diag(images) * eigenvalues)[eigenvalues > 1.0] < 0.35).all()


@pytest.mark.parametrize("name", ["ic:32", "ilu:32"])
def test_incomplete_factors_of_a_line_are_complete(name: str) -> None:
    # A pivot is exact two sweeps after the one before it.
    matrix = jumps(4, 3.0)
    np.testing.assert_allclose(dense(matrix, name) @ matrix.toarray(), np.eye(4), atol=1e-12)


def test_ilu_has_no_fill_and_the_values_of_the_matrix_on_its_pattern() -> None:
    """L·U equals A where A has nonzeros (Saad, proposition 10.4)."""
    matrix = convection(6, 1.0)
    made = make("ilu", system(matrix))
    assert isinstance(made, Incomplete)
    factors = made.factors
    csr = CsrMatrix.from_scipy(matrix).to_scipy()
    both = sp.csr_array((factors, csr.indices, csr.indptr), shape=csr.shape).toarray()
    product = (np.tril(both, -1) + np.eye(36)) @ np.triu(both)
    np.testing.assert_allclose(product[csr.toarray() != 0], csr.toarray()[csr.toarray() != 0], atol=2e-3)


@pytest.mark.parametrize("name", ["jacobi", "block-jacobi:3", "chebyshev:4", "ic:1", "ic:4"])
def test_preconditioners_for_cg_are_symmetric_and_positive_definite(name: str) -> None:
    M = dense(scaled(stencil(6, 6), 1.0), name)
    np.testing.assert_allclose(M, M.T, rtol=1e-11, atol=1e-13)
    assert np.linalg.eigvalsh(M).min() > 0.0


@pytest.mark.parametrize("name", NAMES)
def test_each_solves_and_saves_iterations(name: str) -> None:
    # Chebyshev is for matrices whose rows are scaled alike.
    matrix = anisotropic(20, 0.05) if name.startswith("chebyshev") else scaled(anisotropic(20, 0.05), 2.0)
    b = np.random.default_rng(0).standard_normal(400)
    plain = operator(matrix).bicgstab(b, rtol=1e-8)[1].solution.iterations
    for method in ("bicgstab", "gmres", *(("cg", "minres") if name != "ilu" else ())):
        x, info = getattr(operator(matrix), method)(b, rtol=1e-8, M=name)
        assert info == 0
        assert np.linalg.norm(b - matrix @ x) <= 1.01e-8 * np.linalg.norm(b)
    saved = operator(matrix).bicgstab(b, rtol=1e-8, M=name)[1].solution.iterations
    assert saved < 0.7 * plain


def test_what_cannot_be_factored_is_refused() -> None:
    zero = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    indefinite = sp.csr_array([[1.0, 2.0], [2.0, 1.0]])
    for name, matrix in (("ilu", zero), ("ic", zero), ("ic", indefinite), ("block-jacobi:2", sp.csr_array((2, 2)))):
        with pytest.raises(ParameterError):
            make(name, system(matrix))
    for name in ("ilu:0", "ilu:99", "ilu:x", "jacobi:2", "chebyshev:0", "block-jacobi:1", "amg"):
        with pytest.raises(ParameterError):
            make(name, system(stencil(3, 3)))


def test_every_name_is_tested() -> None:
    assert {name.partition(":")[0] for name in NAMES} == set(PRECONDITIONERS)
