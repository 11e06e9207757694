"""CSC, compressed sparse columns: each column's entries together. Reads x once and in order; scatters into y instead.

Best if many columns are empty or gathering x is expensive; on a GPU every nonzero costs an atomic addition.
Source: Saad, Iterative Methods for Sparse Linear Systems, §3.4; MSREP paper, §2.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import (
    CLEAR,
    POINTERS,
    Format,
    Kernel,
    Launch,
    array_module,
    lanes_for,
    launch,
    pointers,
    row_of_entries,
)
from gpu_engine.host.jit import numba

LANES = (1, 2, 4, 8, 16, 32)
SOURCE = CudaSource(
    __package__, "csc.cu", (*(f"csc_atomic<{pointer}, {lanes}>" for pointer in POINTERS for lanes in LANES), CLEAR)
)
BLOCK = 128


@dataclass(frozen=True, slots=True)
class CscLayout:
    """CSR of the transpose.

    indptr  int32 or int64 as the row pointers [n_cols + 1]
    rows    int32 [nnz], ascending within a column
    values  float64 [nnz]
    """

    n_rows: int
    n_cols: int
    indptr: Any
    rows: Any
    values: Any

    @staticmethod
    def from_csr(matrix: CsrMatrix) -> "CscLayout":
        """Sort the nonzeros by column, stably; O(nnz) with a radix sort of integers."""
        rows = row_of_entries(matrix)
        arrays = _sorted_by(matrix.indices, matrix.n_cols, rows, matrix.values, matrix.indptr.dtype)
        return CscLayout(matrix.n_rows, matrix.n_cols, *arrays)

    def to_csr(self) -> CsrMatrix:
        """Sort the entries by row, stably."""
        columns = row_of_entries(CsrMatrix(self.n_cols, self.n_rows, self.indptr, self.rows, self.values))
        arrays = _sorted_by(self.rows, self.n_rows, columns, self.values, self.indptr.dtype)
        return CsrMatrix(self.n_rows, self.n_cols, *arrays)

    @property
    def stored_bytes(self) -> int:
        """12 bytes per nonzero, and a pointer per column."""
        return int(self.indptr.nbytes + self.rows.nbytes + self.values.nbytes)


def _sorted_by(keys: Any, n_keys: int, others: Any, values: Any, dtype: Any) -> tuple[Any, Any, Any]:
    """Return (pointers, others, values) of the entries in the order of their keys, entries of one key in theirs."""
    xp = array_module(keys)
    order = xp.argsort(keys, kind="stable")
    return pointers(xp.bincount(keys, minlength=n_keys), dtype), others[order], values[order]


def _cuda(layout: CscLayout) -> Launch:
    lanes = lanes_for(layout.rows.size, layout.n_cols)
    name = f"csc_atomic<{POINTERS[layout.indptr.dtype.itemsize == 8]}, {lanes}>"
    arguments = np.int32(layout.n_cols), layout.indptr, layout.rows, layout.values
    return launch(SOURCE, name, -(-layout.n_cols // (BLOCK // lanes)), BLOCK, arguments, clears=layout.n_rows)


@numba.njit(parallel=True, cache=True)
def _columns(indptr: Any, rows: Any, values: Any, x: Any, y: Any, parts: int) -> None:
    """Return columns of equal nonzeros per part, each with a y of its own; then the sum of them, row by row."""
    nnz = values.size
    partial = np.empty((parts, y.size))
    for part in numba.prange(parts):
        partial[part] = 0.0
        first = np.searchsorted(indptr, nnz * part // parts)
        last = np.searchsorted(indptr, nnz * (part + 1) // parts)
        for column in range(first, last):
            for entry in range(indptr[column], indptr[column + 1]):
                partial[part, rows[entry]] += values[entry] * x[column]
    for row in numba.prange(y.size):
        total = 0.0
        for part in range(parts):
            total += partial[part, row]
        y[row] = total


def _cpu(layout: CscLayout, x: Any, y: Any) -> None:
    # No more parts than entries in a mean row: adding them up never costs more than the products.
    most = layout.rows.size // max(layout.n_rows, 1)
    parts = max(1, min(numba.get_num_threads(), most))
    _columns(layout.indptr, layout.rows, layout.values, x, y, parts)


FORMAT = Format(
    name="csc",
    title="Compressed sparse columns",
    summary="Column pointers, row indices and values.",
    bytes_needed=lambda matrix: 12 * matrix.nnz + matrix.indptr.dtype.itemsize * (matrix.n_cols + 1),
    from_csr=CscLayout.from_csr,
    kernels=(
        Kernel(
            "atomic",
            "1, 2, 4, … or 32 lanes per column, by its mean length; atomic additions. On a CPU a private y per thread.",
            cpu=_cpu,
            cuda=_cuda,
            source=SOURCE,
        ),
    ),
)
