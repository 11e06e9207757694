"""Custom kernels that are wrong, most of them a little, in few rows or seldom."""

from typing import Any

import numpy as np

from gpu_engine.custom_kernels import CustomKernel


def csr(matrix: Any) -> Any:
    return matrix.to_scipy()


def after(spoil: Any) -> CustomKernel:
    """A product that something is done to."""

    def multiply(state: Any, x: Any, y: Any) -> None:
        y[:] = state @ x
        spoil(y)

    return CustomKernel(csr, multiply)


def scaled(row: int, by: float) -> Any:
    def spoil(y: Any) -> None:
        y[row] *= by

    return spoil


def moved(rows: Any, onto: Any) -> Any:
    def spoil(y: Any) -> None:
        y[rows] = y[onto]

    return spoil


def seldom(period: int) -> Any:
    calls = [0]

    def spoil(y: Any) -> None:
        calls[0] += 1
        if calls[0] % period == 0:
            y[3] += 1e-6

    return spoil


def with_values(change: Any) -> CustomKernel:
    """A product with other values than those of the matrix."""

    def prepare(matrix: Any) -> Any:
        found = matrix.to_scipy().copy()
        found.data = change(found.data)
        return found

    return CustomKernel(prepare, lambda state, x, y: np.copyto(y, state @ x))


def dropped(values: Any) -> Any:
    found = values.copy()
    found[np.abs(found).argmin()] = 0.0
    return found


def returned(state: Any, x: Any, y: Any) -> Any:
    return state @ x


def added(state: Any, x: Any, y: Any) -> None:
    y += state @ x


def without_last_rows(state: Any, x: Any, y: Any) -> None:
    y[:-2] = (state @ x)[:-2]


def only_rows_with_entries(state: Any, x: Any, y: Any) -> None:
    found = state @ x
    rows = np.flatnonzero(np.diff(state.indptr))
    y[rows] = found[rows]


def single(state: Any, x: Any, y: Any) -> None:
    y[:] = state @ x.astype(np.float32)


def rounded_result(y: Any) -> None:
    y[:] = y.astype(np.float32)


ONE_ROW = after(scaled(2024, 1 + 1e-9))
FIRST_ROW = after(scaled(0, 1 + 1e-9))
LAST_ROW = after(scaled(-1, 1 + 1e-9))
A_FEW_ULPS = after(scaled(77, 1 + 1e-12))
A_SIGN = after(scaled(99, -1.0))
TWO_ROWS_SWAPPED = after(moved([10, 11], [11, 10]))
ONE_ROW_TWICE = after(moved([500], [501]))
SELDOM = after(seldom(3))
SELDOMER = after(seldom(11))
ROUNDED = after(rounded_result)
SINGLE_VALUES = with_values(lambda values: values.astype(np.float32).astype(np.float64))
ONE_ENTRY_DROPPED = with_values(dropped)
ABSOLUTE = with_values(np.abs)
SINGLE_X = CustomKernel(csr, single)
RETURNED = CustomKernel(csr, returned)
ADDED = CustomKernel(csr, added)
LAST_ROWS_MISSING = CustomKernel(csr, without_last_rows)
EMPTY_ROWS_MISSING = CustomKernel(csr, only_rows_with_entries)
ZEROS = CustomKernel(csr, lambda state, x, y: y.fill(0.0))
