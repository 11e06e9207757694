"""CsrMatrix: the interchange matrix that every format converts from and back to."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from gpu_engine.errors import InputError, TooLargeError

INDEX_LIMIT = 2**31 - 1
"""Largest number of rows or columns (indices have 32 bits); above as many nonzeros, row pointers have 64 bits."""


@dataclass(frozen=True, slots=True)
class CsrMatrix:
    """A sparse fp64 matrix by rows: columns ascend within a row; explicit zeros stay; there are no duplicates.

    All three arrays lie on the host (NumPy, possibly memory-mapped) or on one GPU (CuPy).

    indptr   int32 [n_rows + 1], int64 from 2³¹ nonzeros on
    indices  int32 [nnz], columns
    values   float64 [nnz]
    """

    n_rows: int
    n_cols: int
    indptr: Any
    indices: Any
    values: Any

    @property
    def nnz(self) -> int:
        """Number of stored entries."""
        return int(self.indices.size)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_cols)."""
        return self.n_rows, self.n_cols

    @property
    def stored_bytes(self) -> int:
        """Bytes of the three arrays."""
        return int(self.indptr.nbytes + self.indices.nbytes + self.values.nbytes)

    @property
    def compulsory_bytes(self) -> int:
        """Compulsory bytes: data that every SpMV must move (the numerator of `roofline_s`)."""
        return compulsory_bytes(self.n_rows, self.n_cols, self.nnz)

    def on(self, xp: Any) -> "CsrMatrix":
        """Return the matrix on the device of the module `xp`, NumPy or CuPy; do not copy if it already lies there."""
        arrays = (xp.asarray(array) for array in (self.indptr, self.indices, self.values))
        return CsrMatrix(self.n_rows, self.n_cols, *arrays)

    def on_host(self) -> "CsrMatrix":
        """Return the matrix in host memory; do not copy if it already lies there."""
        if isinstance(self.values, np.ndarray):
            return self
        arrays = (array.get() for array in (self.indptr, self.indices, self.values))
        return CsrMatrix(self.n_rows, self.n_cols, *arrays)

    def to_scipy(self) -> scipy.sparse.csr_array:
        """Return the matrix as a SciPy array that shares the host arrays."""
        return scipy.sparse.csr_array((self.values, self.indices, self.indptr), shape=self.shape, copy=False)

    @staticmethod
    def from_scipy(matrix: Any) -> "CsrMatrix":
        """Return the canonical form of a SciPy sparse matrix or array; sum duplicates, keep explicit zeros."""
        csr = scipy.sparse.csr_array(matrix, dtype=np.float64, copy=True)
        csr.sum_duplicates()
        n_rows, n_cols = csr.shape
        return canonical(n_rows, n_cols, csr.indptr, csr.indices, csr.data)


def compulsory_bytes(n_rows: int, n_cols: int, nnz: int) -> int:
    """Return the bytes of one pass over CSR, x, and y."""
    return 12 * nnz + 4 * (n_rows + 1) + 8 * n_cols + 8 * n_rows


def canonical(n_rows: int, n_cols: int, indptr: Any, indices: Any, values: Any) -> CsrMatrix:
    """Return host arrays as a checked CsrMatrix of the canonical dtypes; raises InputError or TooLargeError."""
    if max(n_rows, n_cols) > INDEX_LIMIT:
        raise TooLargeError(f"The matrix is {n_rows} × {n_cols}; at most {INDEX_LIMIT} rows and columns are supported.")
    indptr, indices = np.asarray(indptr), np.asarray(indices)
    for name, array in (("indptr", indptr), ("indices", indices)):
        if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
            raise InputError(f"{name} must be a one-dimensional array of integers, not {array.dtype} {array.shape}.")
    check_csr(n_rows, n_cols, indptr, indices, values)
    pointer = np.int32 if indices.size <= INDEX_LIMIT else np.int64
    return CsrMatrix(
        n_rows,
        n_cols,
        np.ascontiguousarray(indptr, dtype=pointer),
        np.ascontiguousarray(indices, dtype=np.int32),
        np.ascontiguousarray(values, dtype=np.float64),
    )


def check_csr(n_rows: int, n_cols: int, indptr: Any, indices: Any, values: Any) -> None:
    """Raise InputError unless the three host arrays are a CSR matrix of that shape that is safe to compute with."""
    if indptr.shape != (n_rows + 1,):
        raise InputError(f"indptr has {indptr.size} entries; a matrix of {n_rows} rows needs {n_rows + 1}.")
    if int(indptr[0]) != 0 or int(indptr[-1]) != indices.size:
        raise InputError(f"indptr must run from 0 to {indices.size}, not from {indptr[0]} to {indptr[-1]}.")
    if values.shape != indices.shape:
        raise InputError(f"There are {indices.size} column indices but {values.size} values.")
    if np.any(indptr[1:] < indptr[:-1]):
        raise InputError("indptr decreases; the row pointers must ascend.")
    if indices.size and (int(indices.min()) < 0 or int(indices.max()) >= n_cols):
        raise InputError(f"A column index lies outside 0 … {n_cols - 1}.")


def fingerprint(matrix: CsrMatrix) -> str:
    """Return the SHA-256 (hex) of the canonical CSR of a host matrix; equal for equal matrices from different files."""
    return fingerprint_of(matrix.shape, matrix.indptr, (matrix.indices,), (matrix.values,))


def fingerprint_of(shape: tuple[int, int], indptr: Any, indices: Iterable[Any], values: Iterable[Any]) -> str:
    """Return the fingerprint of a matrix whose indices and values come in consecutive pieces."""
    digest = hashlib.sha256(f"csr {shape[0]} {shape[1]} {int(indptr[-1])}\n".encode())
    digest.update(np.ascontiguousarray(indptr, dtype="<i8").data)
    for piece in indices:
        digest.update(np.ascontiguousarray(piece, dtype="<i4").data)
    for piece in values:
        # −0.0 and 0.0 are one value of a matrix; NaN is refused by every reader.
        digest.update(np.ascontiguousarray(piece + 0.0, dtype="<f8").data)
    return digest.hexdigest()


def pattern_fingerprint(matrix: CsrMatrix) -> str:
    """Return the SHA-256 (hex) of a host matrix without its values; equal for all matrices of one pattern."""
    return fingerprint_of(matrix.shape, matrix.indptr, (matrix.indices,), ())
