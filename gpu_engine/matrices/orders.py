"""ORDERS: symmetric reorderings P·A·Pᵀ that improve the locality of x in neighboring rows.

A solver with a reordered matrix keeps x and y in the new order and permutes them only at its begin and end. Therefore
the times of an SpMV, of the reordering, and of permuting the vectors are reported separately.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError

GIVEN = "none"


@dataclass(frozen=True, slots=True)
class Order:
    """A reordering of the rows and columns of a square host matrix.

    find  function that returns the old index of each new row and column: integers [n]
    """

    name: str
    summary: str
    find: Callable[[CsrMatrix], Any]


@dataclass(frozen=True, slots=True)
class Reordered:
    """A matrix in a new order.

    permutation  int32 [n], the old index of each new row; inverse: int32 [n], the new index of each old row
    seconds      host seconds of finding the order and permuting the matrix
    """

    matrix: CsrMatrix
    permutation: Any
    inverse: Any
    seconds: float


def _degree(matrix: CsrMatrix) -> Any:
    """Return the columns by descending length, so that frequently read elements of x share few cache lines."""
    return np.argsort(-np.bincount(matrix.indices, minlength=matrix.n_cols), kind="stable")


def _rcm(matrix: CsrMatrix) -> Any:
    """Return the reverse Cuthill–McKee order of the pattern of A + Aᵀ, which reduces the bandwidth."""
    if not matrix.n_rows:
        return np.empty(0, np.int32)
    pattern = scipy.sparse.csr_array((np.ones(matrix.nnz, np.int8), matrix.indices, matrix.indptr), shape=matrix.shape)
    return reverse_cuthill_mckee(scipy.sparse.csr_matrix(pattern + pattern.T), symmetric_mode=True)


ORDERS = (
    Order("degree", "Longest columns first.", _degree),
    Order("rcm", "Reverse Cuthill–McKee: neighbors get close indices.", _rcm),
)
ORDER_NAMES = (GIVEN, *(order.name for order in ORDERS))


def reorder(name: str, matrix: CsrMatrix) -> Reordered:
    """Return P·A·Pᵀ of a host matrix in one of ORDERS; raises ParameterError if it is not square."""
    if matrix.n_rows != matrix.n_cols:
        raise ParameterError("only square matrices can be reordered, because rows and columns get the same order")
    order = next(order for order in ORDERS if order.name == name)
    begin = time.perf_counter()
    permutation = np.asarray(order.find(matrix), dtype=np.int32)
    inverse = np.empty_like(permutation)
    inverse[permutation] = np.arange(permutation.size, dtype=np.int32)
    return Reordered(_permuted(matrix, permutation, inverse), permutation, inverse, time.perf_counter() - begin)


def ordered(kernel: str, order: str) -> str:
    """Return the name of a kernel with a reordering, such as `csr/vector+rcm`."""
    return kernel if order == GIVEN else f"{kernel}+{order}"


def moving(reordered: Reordered, x: Any, y: Any, xp: Any) -> Callable[[], None]:
    """Return a call that permutes x to the new order and y back, with the module `xp` of the vectors."""
    there, back = xp.asarray(reordered.permutation), xp.asarray(reordered.inverse)
    new_x, old_y = xp.empty_like(x), xp.empty_like(y)

    def call() -> None:
        xp.take(x, there, out=new_x)
        xp.take(y, back, out=old_y)

    return call


def _permuted(matrix: CsrMatrix, permutation: Any, inverse: Any) -> CsrMatrix:
    lengths = np.diff(matrix.indptr)[permutation]
    indptr = np.zeros_like(matrix.indptr)
    np.cumsum(lengths, out=indptr[1:])
    begins = np.repeat(matrix.indptr[permutation] - indptr[:-1], lengths)
    entries = begins + np.arange(matrix.nnz, dtype=indptr.dtype)
    arrays = matrix.values[entries], inverse[matrix.indices[entries]], indptr
    rows = scipy.sparse.csr_array(arrays, shape=matrix.shape)
    rows.sort_indices()
    return CsrMatrix(matrix.n_rows, matrix.n_cols, indptr, rows.indices.astype(np.int32), rows.data)
