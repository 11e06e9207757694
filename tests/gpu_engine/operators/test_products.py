"""Operators × BATTERY × (A, Aᵀ) × kinds of matrix × α, β and out, by value against SciPy."""

import itertools
import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator, cg, gmres, lsqr

import sparsight
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import ParameterError
from gpu_engine.formats import kernel_names
from gpu_engine.operators import Operator, operator, scaling
from gpu_engine.verify import POISON, Reference, check, reference
from tests.battery import BATTERY
from tests.gpu_engine.operators.expected import combined, transposed

STORED = ("csr", "csc", "coo")


def check_products(op: Operator, expected: Reference) -> None:
    """α·A·x + β·y for each α and β, into a new vector and into `out`."""
    start = np.random.default_rng(7).uniform(-1.0, 1.0, expected.y.size)
    check(expected, op @ expected.x)
    for alpha, beta in itertools.product((1.0, -2.5), (0.0, 0.75)):
        out = start.copy() if beta else np.full(start.size, POISON)
        assert op.matvec(expected.x, out=out, alpha=alpha, beta=beta) is out
        check(combined(expected, alpha, beta, start), out)
    check(combined(expected, 3.0, 0.0, start), op.matvec(expected.x, alpha=3.0))


@pytest.mark.parametrize("kernel", kernel_names("cpu"))
def test_every_kernel_multiplies_by_every_matrix_and_its_transpose(kernel: str) -> None:
    for name, make in BATTERY.items():
        matrix = make()
        op = operator(matrix, kernel=kernel)
        try:
            check_products(op, reference(matrix))
            check_products(op.T, reference(transposed(matrix)))
        except Exception as error:
            error.add_note(name)
            raise
        assert (op.kernel, op.T.kernel, op.T.T) == (kernel, kernel, op)


@pytest.mark.parametrize("name", BATTERY)
@pytest.mark.parametrize("second_layout", [True, False])
@pytest.mark.parametrize("stored", STORED)
def test_every_kind_of_matrix_multiplies(name: str, second_layout: bool, stored: Any) -> None:
    matrix = BATTERY[name]()
    op = operator(matrix.to_scipy().asformat(stored), second_layout=second_layout)
    assert (op.shape, op.nnz, str(op.dtype)) == (matrix.shape, matrix.nnz, "float64")
    check_products(op, reference(matrix))
    check_products(op.T, reference(transposed(matrix)))


def test_a_vector_from_the_left_is_multiplied_by_the_transpose() -> None:
    matrix = BATTERY["tall"]()
    y = reference(transposed(matrix))
    check(y, y.x @ operator(matrix))


def test_a_product_into_a_vector_allocates_none() -> None:
    matrix = BATTERY["every_row_one_entry"]()
    op, x, y = operator(matrix), np.ones(matrix.n_cols), np.ones(matrix.n_rows)
    op.matvec(x, out=y, alpha=2.0, beta=0.5)
    tracemalloc.start()
    op.matvec(x, out=y, alpha=2.0, beta=0.5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < y.nbytes / 2


@pytest.mark.parametrize(
    ("x", "options", "said"),
    [
        (np.ones(84), {}, r"x has the shape \(84,\); one dimension of 85"),
        (np.ones((85, 1)), {}, "one dimension of 85"),
        (np.ones(85, np.float32), {}, "x is float32; float64 was expected"),
        (np.ones(170)[::2], {}, "x is strided"),
        (np.ones(85), {"beta": 1.0}, "give out="),
        (np.ones(85), {"out": np.ones(85)}, r"out has the shape \(85,\); one dimension of 97"),
        (np.ones(85), {"out": [0.0] * 97}, "out is a list"),
    ],
)
def test_what_no_product_takes_is_refused(x: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        operator(BATTERY["empty_rows_and_columns"]()).matvec(x, **options)


def test_a_product_into_its_own_x_is_refused() -> None:
    op, vectors = operator(BATTERY["band"]()), np.ones(2 * BATTERY["band"]().n_rows)
    n = op.shape[0]
    with pytest.raises(ParameterError, match="share memory"):
        op.matvec(vectors[:n], out=vectors[n // 2 : n // 2 + n])


def poisson(points: int) -> Any:
    line = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=(-1, 0, 1), shape=(points, points))
    return scipy.sparse.csr_array(scipy.sparse.kronsum(line, line))


@pytest.mark.parametrize("solve", [cg, gmres])
@pytest.mark.parametrize("wrap", [lambda op: op, Operator.aslinearoperator, aslinearoperator])
def test_solvers_of_scipy_take_it_as_it_is(solve: Any, wrap: Any) -> None:
    matrix = poisson(20)
    wanted = np.random.default_rng(0).uniform(size=matrix.shape[0])
    found, info = solve(wrap(sparsight.operator(matrix, kernel="split/tile")), matrix @ wanted, rtol=1e-12)
    assert info == 0
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_solvers_of_rectangular_systems_ask_for_the_transpose() -> None:
    matrix = BATTERY["tall"]().to_scipy()
    wanted = np.ones(matrix.shape[1])
    found = lsqr(operator(matrix).aslinearoperator(), matrix @ wanted, atol=1e-14, btol=1e-14)[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-8)


def test_a_linear_operator_takes_columns_and_several() -> None:
    matrix = BATTERY["wide"]().to_scipy()
    linear = operator(matrix).aslinearoperator()
    assert isinstance(linear, LinearOperator)
    columns = np.asfortranarray(np.random.default_rng(0).uniform(size=(matrix.shape[1], 3)))
    np.testing.assert_allclose(linear @ columns, matrix @ columns)
    np.testing.assert_allclose(linear.rmatvec(np.arange(40)), matrix.T @ np.arange(40))


def test_a_sum_on_a_gpu_is_one_launch_of_all_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[Any] = []
    monkeypatch.setattr(CudaSource, "function", lambda source, name: lambda *launch: launched.append((name, *launch)))
    scaling.bound("cuda", 1025)(2.0, "s", 0.5, "y")
    scaling.bound("cuda", 0)(2.0, "s", 0.5, "y")
    assert launched == [("scaled_sum", (5,), (256,), (1025, 2.0, "s", 0.5, "y"))]
