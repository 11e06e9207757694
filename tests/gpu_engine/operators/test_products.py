"""Operators × BATTERY × (A, Aᵀ) × kinds of matrix × α, β and out, by value against SciPy."""

import itertools
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator, cg, gmres, lsqr

import sparsight
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import ParameterError
from gpu_engine.formats import find_kernel, kernel_names
from gpu_engine.operators import Operator, operator, scaling
from gpu_engine.verify import POISON, Reference, check, reference
from tests.battery import BATTERY
from tests.gpu_engine.formats.contract import suited
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
        matrix = suited(find_kernel(kernel)[0], make())
        op = operator(matrix, kernel=kernel)
        try:
            check_products(op, reference(matrix))
            check_products(op.T, reference(transposed(matrix)))
        except Exception as error:
            error.add_note(name)
            raise
        assert (op.kernel, op.T.kernel, op.T.T) == (kernel, kernel, op)


@pytest.mark.parametrize("name", BATTERY)
@pytest.mark.parametrize("transposed_copy", [True, False])
@pytest.mark.parametrize("stored", STORED)
def test_every_kind_of_matrix_multiplies(name: str, transposed_copy: bool, stored: Any) -> None:
    matrix = BATTERY[name]()
    op = operator(matrix.to_scipy().asformat(stored), transposed_copy=transposed_copy)
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
        (np.ones(84), {}, r"x has the shape \(84,\); expected \[85\] or \[85, 1\]"),
        (np.ones((85, 2)), {}, r"expected \[85\] or \[85, 1\]; .*matmat"),
        (np.ones((1, 85)), {}, r"x has the shape \(1, 85\)"),
        (np.float64(1.0), {}, r"x has the shape \(\)"),
        (np.ones(85, np.longdouble), {}, "at most 64 bits"),
        (np.full(85, "1"), {}, "real or complex numbers"),
        (np.full(85, None), {}, "x is object"),
        (np.full(85, 2**53 + 1), {}, r"above 2\^53"),
        (np.ones(85), {"beta": 1.0}, "beta requires out="),
        (np.ones(85), {"out": np.ones(85)}, r"out has the shape \(85,\); the result needs \(97,\)"),
        (np.ones((85, 1)), {"out": np.ones(97)}, r"\(97, 1\)"),
        (np.ones(85), {"out": np.ones(97, np.float32)}, "out is float32"),
        (np.ones(85), {"out": np.ones(194)[::2]}, "out must be contiguous"),
        (np.ones(85), {"alpha": "2"}, "alpha is '2'"),
        (np.ones(85), {"alpha": None}, "alpha is 'None'"),
        (np.ones(85), {"alpha": np.ones(2)}, "alpha is"),
        (np.ones(85), {"alpha": 10**400}, "within the range"),
        (np.ones(85), {"beta": "x", "out": np.ones(97)}, "beta is 'x'"),
        (scipy.sparse.eye_array(85), {}, "is a dia_array; an operator multiplies dense vectors"),
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


SMALL = BATTERY["empty_rows_and_columns"]().to_scipy()
RNG = np.random.default_rng(2)
X, COLUMNS = RNG.uniform(-1.0, 1.0, 85), RNG.uniform(-1.0, 1.0, (85, 3))
Z = X + 1j * np.arange(85)
START = RNG.uniform(-1.0, 1.0, 97)

FACTORS: dict[str, Any] = {
    "vector": X,
    "column": X[:, None],
    "columns": COLUMNS,
    "columns by columns": np.asfortranarray(COLUMNS),
    "no columns": np.empty((85, 0)),
    "one column of several": COLUMNS[:, 1:2],
    "strided": np.repeat(X, 2)[::2],
    "reversed": X[::-1],
    "broadcast": np.broadcast_to(2.0, 85),
    "fp32": X.astype(np.float32),
    "fp16": X.astype(np.float16),
    "big-endian": X.astype(">f8"),
    "integers": np.arange(85),
    "unsigned": np.arange(85, dtype=np.uint64),
    "booleans": X > 0,
    "complex": Z,
    "complex64": Z.astype(np.complex64),
    "complex, strided": np.repeat(Z, 2)[::2],
    "complex columns": COLUMNS + 1j * COLUMNS[::-1],
    "imaginary": 1j * X,
    "list": X.tolist(),
    "list of rows": COLUMNS.tolist(),
    "matrix": X[:, None].view(np.matrix),
}


@pytest.mark.parametrize("transposed_copy", [True, False])
@pytest.mark.parametrize("name", FACTORS)
def test_numbers_of_every_kind_shape_and_stride_are_multiplied(name: str, transposed_copy: bool) -> None:
    """Everywhere alike: by `@`, dot, matvec, matmat and those of the transpose."""
    op: Any = operator(SMALL, transposed_copy=transposed_copy)
    factor = FACTORS[name]
    array = np.asarray(factor)
    expected = SMALL @ array
    back = RNG.uniform(size=(97, *array.shape[1:])).astype(array.dtype)
    answers = [op @ factor, op.dot(factor), op * factor, op(factor), op.aslinearoperator() @ factor]
    answers.append(op.matvec(factor) if array.shape[1:] in ((), (1,)) else op.matmat(factor))
    answers.append((array.T @ op.T).T)
    for answer in answers:
        assert (answer.shape, answer.dtype.kind) == (expected.shape, "c" if array.dtype.kind == "c" else "f")
        assert answer.dtype.itemsize == (16 if array.dtype.kind == "c" else 8)
        np.testing.assert_allclose(answer, expected, atol=1e-12)
    assert isinstance(answers[0], type(factor) if isinstance(factor, np.ndarray) else np.ndarray)
    for answer in (op.T @ back, op.H @ back, op.rmatvec(back) if back.ndim == 1 else op.rmatmat(back), (back.T @ op).T):
        np.testing.assert_allclose(answer, SMALL.T @ back, atol=1e-12)


SCALES = (0.0, 1.0, -2.5, 2, np.float32(0.5), True, 1j, 2 - 3j, np.complex64(1j), np.array(3.0))


@pytest.mark.parametrize("alpha", SCALES)
@pytest.mark.parametrize("beta", [0, 1.0, 0.75, 1 + 2j])
@pytest.mark.parametrize("x", [X, Z], ids=["real", "complex"])
def test_alpha_and_beta_may_be_any_numbers(x: Any, alpha: Any, beta: Any) -> None:
    start = (START + 1j * START[::-1]) if beta else np.full(97, np.nan + 1j * np.nan)
    out = start.copy()
    op = operator(SMALL, kernel="split/tile")
    assert op.matvec(x, out=out, alpha=alpha, beta=beta) is out
    np.testing.assert_allclose(out, alpha * (SMALL @ x) + (beta * start if beta else 0.0), atol=1e-12)
    if not beta:
        answer = op.matvec(x, alpha=alpha)
        is_complex = np.iscomplexobj(x) or np.iscomplexobj(alpha)
        assert answer.dtype == (np.complex128 if is_complex else np.float64)
        np.testing.assert_allclose(answer, alpha * (SMALL @ x), atol=1e-12)


@pytest.mark.parametrize("x", [np.full(85, np.nan), np.full(85, np.inf), np.full(85, np.nan + 1j)])
def test_alpha_zero_does_not_read_x(x: Any) -> None:
    op, out = operator(SMALL), START.astype(x.dtype)
    np.testing.assert_array_equal(op.matvec(x, alpha=0.0), np.zeros(97))
    np.testing.assert_array_equal(op.matvec(x, out=out, alpha=0), np.zeros(97))
    out.fill(np.nan)
    np.testing.assert_array_equal(op.matvec(x, out=out, alpha=0), np.zeros(97))
    out = START.astype(x.dtype)
    np.testing.assert_array_equal(op.matvec(x, out=out, alpha=0.0, beta=2.0), 2.0 * START)
    np.testing.assert_array_equal(op.matvec(x, out=out, alpha=0.0, beta=1.0), 2.0 * START)
    np.testing.assert_array_equal(op.matvec(x[:, None], alpha=0.0), np.zeros((97, 1)))


def test_infinite_entries_do_not_become_nan_in_complex_products() -> None:
    x = np.zeros(85, complex)
    x[:] = complex(np.inf, 1.0)
    answer = operator(abs(SMALL)).matvec(x, alpha=2.0)
    assert not np.isnan(answer.imag).any()
    np.testing.assert_allclose(answer.imag, 2.0 * abs(SMALL).sum(axis=1))


@pytest.mark.parametrize(
    ("x", "options"),
    [(Z, {}), (X, {"alpha": 1j}), (X, {"alpha": 1 + 0j}), (X, {"beta": 1j}), (X, {"alpha": "1"}), (X[:84], {})],
)
def test_what_out_does_not_hold_is_refused_before_it_is_written(x: Any, options: dict[str, Any]) -> None:
    out = START.copy()
    with pytest.raises(ParameterError):
        operator(SMALL).matvec(x, out=out, **options)
    np.testing.assert_array_equal(out, START)


def test_a_column_is_written_in_place() -> None:
    out = np.full((97, 1), POISON)
    assert operator(SMALL).matvec(X[:, None], out=out) is out
    np.testing.assert_allclose(out[:, 0], SMALL @ X)


def test_x_that_is_copied_may_share_memory_with_nothing_but_itself() -> None:
    square = BATTERY["band"]().to_scipy()
    x = np.ones(square.shape[0])
    with pytest.raises(ParameterError, match="share memory"):
        operator(square).matvec(x, out=x)
    with pytest.raises(ParameterError, match="share memory"):
        operator(square).matvec(x[::-1], out=x)
    np.testing.assert_array_equal(x, 1.0)


@pytest.mark.parametrize("other", [SMALL, SMALL.tocsc(), scipy.sparse.dok_array(SMALL), SMALL.T.tocoo()])
def test_sparse_factors_are_refused_by_name(other: Any) -> None:
    op: Any = operator(SMALL)
    products: tuple[Callable[[], Any], ...]
    products = (lambda: op @ other, lambda: other @ op, lambda: op.dot(other), lambda: op.matmat(other))
    for product in products:
        with pytest.raises(ParameterError, match=f"a {type(other).__name__}; an operator multiplies dense"):
            product()


@pytest.mark.parametrize("other", [3, 2.5, np.float64(1.0), 1j])
def test_numbers_do_not_multiply_by_at(other: Any) -> None:
    op: Any = operator(SMALL)
    products: tuple[Callable[[], Any], ...] = (lambda: op @ other, lambda: other @ op)
    for product in products:
        with pytest.raises(ParameterError, match=r"scale the operator with `\*`"):
            product()


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
