"""Converts pointers, indices, and values of untrusted files to one canonical CsrMatrix."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.errors import MatrixFileError, TooLargeError
from gpu_engine.matrices.whole_numbers import EXACT_MAX, are_exact
from gpu_engine.matrix_io.assemble import Chunk, assemble
from gpu_engine.matrix_io.base import ReadLimits, ReadResult, check_shape
from gpu_engine.text import units

ONE = np.ones(1)


@dataclass(frozen=True, slots=True)
class Compressed:
    """A matrix from a file, before any check.

    pointers  integers [n_major + 1]: begin of each row (or column, if `by_column`)
    indices   integers [nnz], 0-based; values: numbers [nnz], or None if all are 1
    mirror    factor of the mirrored entry of each off-diagonal entry; 0.0: no mirrored entries
    """

    n_rows: int
    n_cols: int
    pointers: Any
    indices: Any
    values: Any
    by_column: bool
    mirror: float = 0.0


def build(parts: Compressed, limits: ReadLimits, *notes: str) -> ReadResult:
    """Return the matrix of the arrays; raises MatrixFileError or TooLargeError."""
    nnz = int(parts.indices.size)
    check_shape(parts.n_rows, parts.n_cols, nnz, limits)
    n_major, n_minor = (parts.n_cols, parts.n_rows) if parts.by_column else (parts.n_rows, parts.n_cols)
    check_pointers(parts.pointers, n_major, nnz)
    major = np.repeat(np.arange(n_major, dtype=np.int32), np.diff(parts.pointers.astype(np.int64)))
    minor = checked_indices(parts.indices, n_minor, "row" if parts.by_column else "column")
    rows, cols = (minor, major) if parts.by_column else (major, minor)
    return build_entries(
        parts.n_rows, parts.n_cols, Chunk(rows, cols, parts.values), limits, *notes, mirror=parts.mirror
    )


def build_entries(
    n_rows: int, n_cols: int, entries: Chunk, limits: ReadLimits, *notes: str, mirror: float = 0.0
) -> ReadResult:
    """Return the matrix of checked rows and columns and unchecked values; raises MatrixFileError or TooLargeError."""
    rows, cols = entries.rows, entries.cols
    check_shape(n_rows, n_cols, rows.size, limits)
    values = ONE if entries.values is None else _checked_values(entries.values, rows.size)
    if mirror:
        _check_triangle(n_rows, n_cols, rows, cols, values, mirror)
    if rows.size + (int(np.count_nonzero(rows != cols)) if mirror else 0) > limits.nnz_max:
        raise TooLargeError(
            f"The matrix has more than {units.count(limits.nnz_max)} nonzeros, symmetric halves expanded."
        )
    matrix, duplicates = assemble(n_rows, n_cols, [Chunk(rows, cols, values)], mirror)
    if mirror:
        notes = (*notes, "The file has one triangle; the other was mirrored from it.")
    if duplicates:
        notes = (*notes, f"{duplicates} entries repeat a row and column; they were added up.")
    return ReadResult(matrix, notes, duplicates)


def checked_indices(indices: Any, limit: int, name: str) -> Any:
    """Return a copy of integers as int32; raises MatrixFileError for an index outside 0 … limit − 1."""
    if indices.size and (int(indices.min()) < 0 or int(indices.max()) >= limit):
        worst = int(indices.min()) if int(indices.min()) < 0 else int(indices.max())
        raise MatrixFileError(f"The {name} index {worst} lies outside the {limit} {name}s, counted from 0.")
    return indices.astype(np.int32)


def check_pointers(pointers: Any, n_major: int, nnz: int) -> None:
    """Raise MatrixFileError unless the pointers ascend from 0 to the number of entries."""
    if pointers.shape != (n_major + 1,):
        raise MatrixFileError(f"There are {pointers.size} pointers; {n_major} rows or columns need {n_major + 1}.")
    if int(pointers[0]) != 0 or int(pointers[-1]) != nnz:
        raise MatrixFileError(
            f"The pointers run from {pointers[0]} to {pointers[-1]}; expected 0 to {nnz}, the entries."
        )
    if np.any(pointers[1:] < pointers[:-1]):
        raise MatrixFileError("The pointers decrease; those of rows or columns must ascend.")


def _checked_values(given: Any, nnz: int) -> Any:
    """Return a copy of the values as float64; raises MatrixFileError for values that fp64 cannot represent."""
    if given.shape != (nnz,):
        raise MatrixFileError(f"There are {given.size} values for {nnz} entries; the file is damaged.")
    values = given.astype(np.float64)
    if not np.isfinite(values).all():
        raise MatrixFileError("A value is not finite; a matrix to be measured needs finite values.")
    if not are_exact(given):
        raise MatrixFileError("A whole number is beyond 2^53 and not exact in fp64; save the values as float64.")
    return values


def whole(numbers: Any, what: str) -> Any:
    """Return the numbers as integers; raises MatrixFileError if one is not an integer."""
    if numbers.dtype.kind in "iu":
        return numbers
    if numbers.dtype.kind != "f" or not np.all((np.abs(numbers) < EXACT_MAX) & (np.trunc(numbers) == numbers)):
        raise MatrixFileError(f"The {what} are {numbers.dtype}, not integers; save the matrix again.")
    return numbers.astype(np.int64)


def _check_triangle(n_rows: int, n_cols: int, rows: Any, cols: Any, values: Any, mirror: float) -> None:
    """Raise MatrixFileError unless the entries are one triangle of a square matrix."""
    if n_rows != n_cols:
        raise MatrixFileError(f"A symmetric matrix must be square, not {n_rows} × {n_cols}.")
    if np.any(rows < cols) and np.any(rows > cols):
        raise MatrixFileError("The entries lie in both triangles; a symmetric file holds one.")
    if mirror < 0 and np.any((rows == cols) & (values != 0)):
        raise MatrixFileError("A nonzero on the diagonal of a skew-symmetric matrix, where all are zero.")
