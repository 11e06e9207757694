"""ORDERS: symmetric reorderings P·A·Pᵀ that bring the elements of x that neighbouring rows read near each other.

A solver that reorders its matrix keeps x and y in the new order and moves them at its beginning and end, so the time of
a product, of finding the order and of moving the vectors are three figures.
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
    """A way to renumber the rows and columns of a square host matrix.

    find  the old number of each new row and column: integers [n]
    """

    name: str
    summary: str
    find: Callable[[CsrMatrix], Any]


@dataclass(frozen=True, slots=True)
class Reordered:
    """A matrix in a new order.

    permutation  int32 [n], the old number of each new row; inverse  int32 [n], the new number of each old one
    seconds      that finding the order and permuting the matrix took on the host
    """

    matrix: CsrMatrix
    permutation: Any
    inverse: Any
    seconds: float


def _degree(matrix: CsrMatrix) -> Any:
    """Most read columns first: the elements of x that most rows read share few cache lines."""
    return np.argsort(-np.bincount(matrix.indices, minlength=matrix.n_cols), kind="stable")


def _rcm(matrix: CsrMatrix) -> Any:
    """Reverse Cuthill–McKee on the pattern of A + Aᵀ: small bandwidth."""
    if not matrix.n_rows:
        return np.empty(0, np.int32)
    pattern = scipy.sparse.csr_array((np.ones(matrix.nnz, np.int8), matrix.indices, matrix.indptr), shape=matrix.shape)
    return reverse_cuthill_mckee(scipy.sparse.csr_matrix(pattern + pattern.T), symmetric_mode=True)


ORDERS = (
    Order("degree", "Most read columns first.", _degree),
    Order("rcm", "Reverse Cuthill–McKee: neighbours get near numbers.", _rcm),
)
ORDER_NAMES = (GIVEN, *(order.name for order in ORDERS))


def reorder(name: str, matrix: CsrMatrix) -> Reordered:
    """P·A·Pᵀ of a host matrix in one of ORDERS; raises ParameterError if it is not square."""
    if matrix.n_rows != matrix.n_cols:
        raise ParameterError("only a square matrix can be reordered, its rows and columns alike")
    order = next(order for order in ORDERS if order.name == name)
    begin = time.perf_counter()
    permutation = np.asarray(order.find(matrix), dtype=np.int32)
    inverse = np.empty_like(permutation)
    inverse[permutation] = np.arange(permutation.size, dtype=np.int32)
    return Reordered(_permuted(matrix, permutation, inverse), permutation, inverse, time.perf_counter() - begin)


def ordered(kernel: str, order: str) -> str:
    """What records call the kernel in that order: `csr/vector+rcm`."""
    return kernel if order == GIVEN else f"{kernel}+{order}"


def moving(reordered: Reordered, x: Any, y: Any, xp: Any) -> Callable[[], None]:
    """A call that brings x into the order and y back, with `xp` on the device of the vectors."""
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
