"""Batch: many small matrices of different sizes, patterns and values, one after the other in memory."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import INDEX_LIMIT, CsrMatrix
from gpu_engine.formats.base import array_module


@dataclass(frozen=True, slots=True)
class Batch:
    """A ragged batch in CSR; item p multiplies its part of a common x into its part of a common y.

    All arrays lie on the host (NumPy) or on one GPU (CuPy).

    rows     int64 [items + 1], first row of each item, and of its part of y
    cols     int64 [items + 1], first column of each item, and of its part of x
    entries  int64 [items + 1], first nonzero of each item
    indptr   int32 [rows + items], row pointers of each item, from 0; those of item p begin at rows[p] + p
    indices  int32 [nnz], columns within the item, ascending within a row
    values   float64 [nnz]
    """

    rows: Any
    cols: Any
    entries: Any
    indptr: Any
    indices: Any
    values: Any

    @property
    def count(self) -> int:
        """Number of matrices in the batch."""
        return int(self.rows.size) - 1

    @property
    def nnz(self) -> int:
        """Nonzeros of all matrices."""
        return int(self.indices.size)

    @property
    def n_rows(self) -> int:
        """Number of elements of y."""
        return int(self.indptr.size) - self.count

    @property
    def n_cols(self) -> int:
        """Number of elements of x."""
        return int(self.cols[-1])

    @property
    def stored_bytes(self) -> int:
        """Bytes of all arrays."""
        arrays = self.rows, self.cols, self.entries, self.indptr, self.indices, self.values
        return sum(int(array.nbytes) for array in arrays)

    def compulsory_bytes(self, adds: bool) -> int:
        """Return the bytes that an SpMV must move: CSR, x and y once, and y twice if it `adds`."""
        return 12 * self.nnz + 4 * int(self.indptr.size) + 8 * self.n_cols + (16 if adds else 8) * self.n_rows

    def on(self, xp: Any) -> "Batch":
        """Return the batch on the device of the module `xp`, NumPy or CuPy; copied only if necessary."""
        arrays = self.rows, self.cols, self.entries, self.indptr, self.indices, self.values
        return Batch(*(xp.asarray(array) for array in arrays))

    def problem(self, p: int) -> CsrMatrix:
        """Return matrix p; its arrays are views of the batch."""
        (row, row_end), (col, col_end), (entry, entry_end) = (
            (int(starts[p]), int(starts[p + 1])) for starts in (self.rows, self.cols, self.entries)
        )
        pointers = self.indptr[row + p : row_end + p + 1]
        arrays = pointers, self.indices[entry:entry_end], self.values[entry:entry_end]
        return CsrMatrix(row_end - row, col_end - col, *arrays)

    def row_pointers(self) -> Any:
        """Return the first nonzero of every row in the batch: [n_rows + 1], int64 from 2³¹ nonzeros on."""
        return row_starts(self).astype(np.int32 if self.nnz <= INDEX_LIMIT else np.int64)

    def block_diagonal(self) -> CsrMatrix:
        """Return the batch as one block-diagonal matrix on the same device; it shares the values."""
        shifts = repeat(self.cols[:-1].astype(np.int32), array_module(self.indices).diff(self.entries))
        return CsrMatrix(self.n_rows, self.n_cols, self.row_pointers(), self.indices + shifts, self.values)


def repeat(values: Any, counts: Any) -> Any:
    """Return each value repeated `counts` times, on the device of the arrays; CuPy itself needs counts on the host.

    values  [parts]
    counts  int64 [parts], zero allowed
    """
    xp = array_module(values)
    if xp is np:
        return np.repeat(values, counts)
    ends = counts.cumsum(dtype=np.int64)
    total = int(ends[-1]) if ends.size else 0
    return values[xp.searchsorted(ends, xp.arange(total, dtype=np.int64), side="right")]


def problem_of_rows(rows: Any) -> Any:
    """Return the item of each row: int64 [n_rows]; rows int64 [items + 1] is the first row of each item."""
    xp = array_module(rows)
    return repeat(xp.arange(rows.size - 1), xp.diff(rows))


def row_starts(batch: Batch) -> Any:
    """Return the first nonzero of each row in the batch, and the end of the last row: int64 [n_rows + 1]."""
    xp = array_module(batch.indptr)
    problem = problem_of_rows(batch.rows)
    starts = xp.full(batch.n_rows + 1, batch.nnz, dtype=np.int64)
    starts[:-1] = batch.entries[problem] + batch.indptr[xp.arange(batch.n_rows) + problem]
    return starts


def problem_pointers(starts: Any, rows: Any) -> tuple[Any, Any]:
    """Return (entries, indptr) of the batch with these row starts: the inverse of `row_starts`."""
    xp = array_module(starts)
    indices = xp.arange(rows.size)
    problem = problem_of_rows(rows + indices)
    entries = starts[rows]
    return entries, (starts[xp.arange(problem.size) - problem] - entries[problem]).astype(np.int32)
