"""A @ X: one SpMM for several columns, for X and out of any order."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
import scipy.sparse.linalg

from gpu_engine.errors import ParameterError
from gpu_engine.operators import columns, operator
from tests.battery import BATTERY

SMALL = BATTERY["empty_rows_and_columns"]().to_scipy()
N_ROWS, N_COLS = SMALL.shape
RNG = np.random.default_rng(5)


def dense(rows: int, k: int) -> Any:
    return RNG.uniform(-1.0, 1.0, (rows, k))


class Counted:
    """SpMVs of an operator."""

    def __init__(self, op: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.spmvs, launch = 0, op._product._launch

        def counted(x: Any, y: Any) -> None:
            self.spmvs += 1
            launch(x, y)

        monkeypatch.setattr(op._product, "_launch", counted)


@pytest.mark.parametrize("matrix", [SMALL, SMALL.tocsc()], ids=["by rows", "by columns"])
def test_several_columns_take_one_spmm(matrix: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    op: Any = operator(matrix)
    for each, factor in ((op, dense(N_COLS, 4)), (op.T, dense(N_ROWS, 4))):
        counted = Counted(each, monkeypatch)
        np.testing.assert_allclose(each @ factor, (SMALL if each is op else SMALL.T) @ factor, atol=1e-12)
        assert (counted.spmvs, each.column_kernel(4)) == (0, "csr/rows")
        each @ factor[:, :1]
        assert counted.spmvs == 1


def test_without_a_transposed_copy_each_column_takes_an_spmv(monkeypatch: pytest.MonkeyPatch) -> None:
    op: Any = operator(SMALL, transposed_copy=False).T
    counted = Counted(op, monkeypatch)
    factor = dense(N_ROWS, 3)
    np.testing.assert_allclose(op @ factor, SMALL.T @ factor, atol=1e-12)
    assert (counted.spmvs, op.column_kernel(3)) == (3, None)


ORDERS: dict[str, Callable[[int, int], Any]] = {
    "rows": lambda rows, k: dense(rows, k),
    "columns": lambda rows, k: np.asfortranarray(dense(rows, k)),
    "slice": lambda rows, k: dense(rows, k + 3)[:, 1 : k + 1],
    "backwards": lambda rows, k: dense(rows, k)[::-1],
    "single": lambda rows, k: dense(rows, k).astype(np.float32),
    "integers": lambda rows, k: RNG.integers(-9, 9, (rows, k)),
    "one repeated": lambda rows, k: np.broadcast_to(dense(rows, 1), (rows, k)),
}


@pytest.mark.parametrize("out", ["rows", "columns"])
@pytest.mark.parametrize("order", ORDERS)
def test_orders_and_scales(order: str, out: str) -> None:
    op = operator(SMALL, kernel="split/tile")
    for k in (2, 5):
        x, start = ORDERS[order](N_COLS, k), ORDERS[out](N_ROWS, k)
        for alpha, beta in ((1.0, 0.0), (-2.5, 0.5), (0.0, 3.0), (0.0, 0.0), (2, 1)):
            y = start.copy(order="K") if beta else np.full_like(start, np.nan)
            assert op.matmat(x, out=y, alpha=alpha, beta=beta) is y
            np.testing.assert_allclose(y, alpha * (SMALL @ x) + (beta * start if beta else 0.0), atol=1e-12)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (-0.5, 2.0), (1j, 0.0), (1.0, 2j), (0.0, 1.0)])
def test_complex_columns(alpha: complex, beta: complex) -> None:
    op, x = operator(SMALL), dense(N_COLS, 3) + 1j * dense(N_COLS, 3)
    for order in ("C", "F"):
        start = np.array(dense(N_ROWS, 3) - 1j, order=order)
        y = start.copy(order="K")
        op.matmat(np.array(x, order=order), out=y, alpha=alpha, beta=beta)
        np.testing.assert_allclose(y, alpha * (SMALL @ x) + beta * start, atol=1e-12)


def test_alpha_zero_does_not_read_x() -> None:
    y = operator(SMALL).matmat(np.full((N_COLS, 3), np.nan), alpha=0.0)
    np.testing.assert_array_equal(y, np.zeros((N_ROWS, 3)))


@pytest.mark.parametrize(
    "out", [np.zeros((N_ROWS, 4)), np.zeros((N_ROWS, 6))[:, ::2], np.zeros((N_ROWS, 3), np.float32)]
)
def test_another_out_is_refused(out: Any) -> None:
    with pytest.raises(ParameterError):
        operator(SMALL).matmat(dense(N_COLS, 3), out=out)


def test_few_numbers_of_columns_keep_their_buffers() -> None:
    op: Any = operator(SMALL)
    for k in range(2, 12):
        op @ dense(N_COLS, k)
    assert list(op._columns._bound) == list(range(12 - columns.BOUND_MAX, 12))


def test_lobpcg_takes_the_operator_unchanged() -> None:
    n, lobpcg = 200, cast(Any, scipy.sparse.linalg.lobpcg)
    grid = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=(-1, 0, 1), shape=(n, n)).tocsr()
    op, start = cast(Any, operator(grid)), np.random.default_rng(0).standard_normal((n, 4))
    found, _ = lobpcg(op, start.copy(), largest=True, tol=1e-9, maxiter=500)
    expected, _ = lobpcg(grid, start.copy(), largest=True, tol=1e-9, maxiter=500)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert 4 in op._columns._bound
