"""SciPy's solvers, decompositions and estimates take an operator as it is: each against SciPy's own matrix."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg.interpolative
import scipy.sparse
from scipy.sparse import linalg

from gpu_engine.operators import operator

N = 60
LINE = scipy.sparse.csr_array(scipy.sparse.diags_array([-1.0, 2.5, -1.2], offsets=(-1, 0, 1), shape=(N, N)))
SYMMETRIC = scipy.sparse.csr_array(scipy.sparse.diags_array([-1.0, 2.5, -1.0], offsets=(-1, 0, 1), shape=(N, N)))
RNG = np.random.default_rng(0)
TALL: Any = scipy.sparse.random_array((N, 40), density=0.2, format="csr", rng=RNG)
B = RNG.uniform(-1.0, 1.0, N)
COLUMNS = RNG.uniform(-1.0, 1.0, (N, 4))

KRYLOV = ("bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "minres", "qmr", "tfqmr")
SYMMETRIC_ONLY = ("cg", "minres")


def solution(solver: str, matrix: Any, b: Any) -> Any:
    x, info = getattr(linalg, solver)(matrix, b, rtol=1e-12)
    assert info == 0
    return x


@pytest.mark.parametrize("wrap", [lambda op: op, lambda op: op.aslinearoperator(), linalg.aslinearoperator])
@pytest.mark.parametrize("b", [B, B[:, None], B.astype(np.float32), np.arange(N)], ids=["", "column", "fp32", "int"])
@pytest.mark.parametrize("solver", KRYLOV)
def test_krylov_solvers_take_it(solver: str, b: Any, wrap: Callable[[Any], Any]) -> None:
    matrix = SYMMETRIC if solver in SYMMETRIC_ONLY else LINE
    np.testing.assert_allclose(
        solution(solver, wrap(operator(matrix, kernel="split/tile")), b), solution(solver, matrix, b), rtol=1e-8
    )


# SciPy's MINRES and its LSQR family are for reals.
@pytest.mark.parametrize("solver", [solver for solver in KRYLOV if solver != "minres"])
def test_krylov_solvers_of_complex_systems_take_it(solver: str) -> None:
    matrix = SYMMETRIC if solver in SYMMETRIC_ONLY else LINE
    z = B + 1j * np.arange(N)
    x = solution(solver, operator(matrix), z)
    assert x.dtype == np.complex128
    np.testing.assert_allclose(matrix @ x, z, atol=1e-8)


@pytest.mark.parametrize("solver", ["lsqr", "lsmr"])
@pytest.mark.parametrize("matrix", [TALL, TALL.T.tocsr()], ids=["tall", "wide"])
def test_least_squares_take_it(solver: str, matrix: Any) -> None:
    solve, b = getattr(linalg, solver), B[: matrix.shape[0]]
    options = {"atol": 1e-14, "btol": 1e-14, "damp": 0.5}
    np.testing.assert_allclose(solve(operator(matrix), b, **options)[0], solve(matrix, b, **options)[0], atol=1e-8)


CALLS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "eigsh": (SYMMETRIC, lambda A: linalg.eigsh(A, 4, v0=B)[0]),
    "eigsh, sigma": (SYMMETRIC, lambda A: linalg.eigsh(A, 3, sigma=0.0, v0=B)[0]),
    "eigs": (LINE, lambda A: np.sort(linalg.eigs(A, 4, v0=B)[0].real)),
    "svds, arpack": (TALL, lambda A: linalg.svds(A, k=3, v0=B[:40])[1]),
    "svds, propack": (TALL, lambda A: linalg.svds(A, k=3, solver="propack", v0=B, rng=0)[1]),
    "svds, lobpcg": (TALL, lambda A: linalg.svds(A, k=3, solver="lobpcg", rng=0, maxiter=500)[1]),
    "svds, vectors": (TALL, lambda A: abs(linalg.svds(A, k=2, v0=B[:40])[0])),
    "svds of the transpose": (TALL, lambda A: linalg.svds(A.T, k=3, v0=B[:40])[1]),
    "lobpcg": (SYMMETRIC, lambda A: linalg.lobpcg(A, COLUMNS, maxiter=300, tol=1e-9)[0]),
    "lobpcg, smallest": (SYMMETRIC, lambda A: linalg.lobpcg(A, COLUMNS, largest=False, maxiter=300, tol=1e-9)[0]),
    "onenormest": (LINE, linalg.onenormest),
    "onenormest of a square": (LINE, lambda A: linalg.onenormest(A @ A)),
    "expm_multiply": (LINE, lambda A: linalg.expm_multiply(A, B, traceA=2.5 * N)),
    "expm_multiply, columns": (LINE, lambda A: linalg.expm_multiply(A, COLUMNS, traceA=2.5 * N)),
    "expm_multiply, steps": (LINE, lambda A: linalg.expm_multiply(A, B, 0, 1, num=3, traceA=2.5 * N)),
    "expm_multiply, complex": (LINE, lambda A: linalg.expm_multiply(1j * A, B, traceA=2.5j * N)),
    "spectral norm": (TALL, lambda A: linalg.svds(A, k=1, return_singular_vectors=False, v0=B[:40])),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_else_scipy_computes_takes_it(name: str) -> None:
    matrix, call = CALLS[name]
    np.testing.assert_allclose(call(operator(matrix)), call(matrix), rtol=1e-7, atol=1e-10)


def test_funm_multiply_and_an_estimate_of_the_norm_take_it() -> None:
    line: Any = operator(LINE)
    expm: Any = scipy.linalg.expm
    exponential = linalg.funm_multiply_krylov(expm, line, B)
    np.testing.assert_allclose(exponential, linalg.expm_multiply(LINE, B), rtol=1e-6)
    tall: Any = operator(TALL)
    estimate = scipy.linalg.interpolative.estimate_spectral_norm(tall, its=50, rng=0)
    np.testing.assert_allclose(estimate, np.linalg.norm(TALL.toarray(), 2), rtol=1e-3)


def test_a_preconditioner_is_one_too() -> None:
    inverse: Any = operator(scipy.sparse.diags_array(1 / SYMMETRIC.diagonal(), format="csr"))
    op: Any = operator(SYMMETRIC)
    x, info = linalg.cg(op, B, M=inverse, rtol=1e-12)
    assert info == 0
    np.testing.assert_allclose(SYMMETRIC @ x, B, atol=1e-9)


ALGEBRA: dict[str, Callable[[Any], Any]] = {
    "product": lambda A: A @ A,
    "dot": lambda A: A.dot(A),
    "sum": lambda A: A + A.T,
    "difference": lambda A: A - 0.5 * A.H,
    "scaled": lambda A: A * 2.0,
    "numpy scalar": lambda A: np.float64(3.0) * A,
    "complex": lambda A: 1j * A,
    "negative": lambda A: -A,
    "power": lambda A: A**3,
    "quotient": lambda A: A / 2,
    "gram": lambda A: A.adjoint() @ A,
    "transpose": lambda A: A.transpose(),
}


@pytest.mark.parametrize("name", ALGEBRA)
def test_operators_are_added_scaled_and_multiplied(name: str) -> None:
    composed, matrix = ALGEBRA[name](operator(LINE)), ALGEBRA[name](linalg.aslinearoperator(LINE))
    z = B + 1j * np.arange(N)
    for x in (B, z, COLUMNS):
        np.testing.assert_allclose(composed @ x, matrix @ x, atol=1e-9)
    np.testing.assert_allclose(composed.rmatvec(z), matrix.rmatvec(z), atol=1e-9)
