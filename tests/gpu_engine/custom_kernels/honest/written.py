"""Honest custom kernels: ways to store a matrix and to multiply, most of them slow, none of them wrong."""

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from gpu_engine.custom_kernels import CustomKernel


def of(structure: Callable[[Any], Any]) -> CustomKernel:
    """SciPy's product in one of its structures."""
    return CustomKernel(lambda matrix: structure(matrix.to_scipy()), into_y)


def into_y(state: Any, x: Any, y: Any) -> None:
    y[:] = state @ x


def in_chunks(chunks: int) -> CustomKernel:
    """Row by row blocks, one after the other."""

    def prepare(matrix: Any) -> Any:
        csr = matrix.to_scipy()
        bounds = [csr.shape[0] * part // chunks for part in range(chunks + 1)]
        return [(slice(a, b), csr[a:b]) for a, b in itertools.pairwise(bounds) if b > a]

    def multiply(state: Any, x: Any, y: Any) -> None:
        for rows, part in state:
            y[rows] = part @ x

    return CustomKernel(prepare, multiply)


def in_threads(threads: int) -> CustomKernel:
    """The same, each chunk in a thread; waits for all."""
    chunked, pool = in_chunks(threads), ThreadPoolExecutor(threads)

    def multiply(state: Any, x: Any, y: Any) -> None:
        for done in [pool.submit(y.__setitem__, rows, part @ x) for rows, part in state]:
            done.result()

    return CustomKernel(chunked.prepare, multiply)


def by_columns(state: Any, x: Any, y: Any) -> None:
    y.fill(0.0)
    y += state @ x


def summed(state: Any, x: Any, y: Any) -> None:
    values, indices, rows = state
    y[:] = np.bincount(rows, values * x[indices], y.size)


def summed_in_place(state: Any, x: Any, y: Any) -> None:
    values, indices, rows = state
    y[:] = 0.0
    np.add.at(y, rows, values * x[indices])


def reduced(state: Any, x: Any, y: Any) -> None:
    begins, rows, values, indices, products = state
    np.take(x, indices, out=products)
    products *= values
    y[:] = 0.0
    y[rows] = np.add.reduceat(products, begins)


def reduced_state(matrix: Any) -> Any:
    rows = np.flatnonzero(np.diff(matrix.indptr))
    return matrix.indptr[rows], rows, matrix.values, matrix.indices, np.empty(matrix.nnz)


def coordinates(matrix: Any) -> Any:
    return matrix.values, matrix.indices, np.repeat(np.arange(matrix.n_rows), np.diff(matrix.indptr))


@dataclass
class Padded:
    """ELL with as many slots as the longest row."""

    columns: Any
    values: Any
    gathered: Any


def padded(matrix: Any) -> Padded:
    lengths = np.diff(matrix.indptr)
    columns = np.zeros((matrix.n_rows, int(lengths.max())), np.int32)
    values = np.zeros(columns.shape)
    slots = np.arange(columns.shape[1]) < lengths[:, None]
    columns[slots], values[slots] = matrix.indices, matrix.values
    return Padded(columns, values, np.empty(columns.shape))


def multiply_padded(state: Padded, x: Any, y: Any) -> None:
    np.take(x, state.columns, out=state.gathered)
    np.einsum("ij,ij->i", state.gathered, state.values, out=y)


def with_calls() -> CustomKernel:
    """Counts its calls and keeps the last sum: a state that changes is no cheat."""
    kept = {"calls": 0, "sum": 0.0}

    def multiply(state: Any, x: Any, y: Any) -> None:
        y[:] = state @ x
        kept["calls"] += 1
        kept["sum"] = float(y.sum())

    return CustomKernel(lambda matrix: matrix.to_scipy(), multiply)


def lazily_prepared() -> CustomKernel:
    """Converts in its first call."""

    def multiply(state: Any, x: Any, y: Any) -> None:
        if "csc" not in state:
            state["csc"] = state["matrix"].to_scipy().tocsc()
        y[:] = state["csc"] @ x

    return CustomKernel(lambda matrix: {"matrix": matrix}, multiply)


def quiet(state: Any, x: Any, y: Any) -> None:
    with np.errstate(all="ignore"):
        y[:] = state @ x


CSR = of(scipy.sparse.csr_array)
CSC = of(scipy.sparse.csc_array)
COO = of(scipy.sparse.coo_array)
LIL_THEN_CSR = of(lambda csr: csr.tolil().tocsr())
INT64 = of(
    lambda csr: scipy.sparse.csr_array(
        (csr.data, csr.indices.astype(np.int64), csr.indptr.astype(np.int64)), shape=csr.shape
    )
)
TRANSPOSED_TWICE = of(lambda csr: csr.T.tocsr().T.tocsr())
COPY = of(lambda csr: csr.copy())
CHUNKS_2 = in_chunks(2)
CHUNKS_7 = in_chunks(7)
CHUNKS_64 = in_chunks(64)
THREADS_2 = in_threads(2)
COLUMNS = CustomKernel(lambda matrix: matrix.to_scipy().tocsc(), by_columns)
BINCOUNT = CustomKernel(coordinates, summed)
ADD_AT = CustomKernel(coordinates, summed_in_place)
REDUCEAT = CustomKernel(reduced_state, reduced)
ELL = CustomKernel(padded, multiply_padded)
COUNTS = with_calls()
LAZY = lazily_prepared()
QUIET = CustomKernel(lambda matrix: matrix.to_scipy(), quiet)
