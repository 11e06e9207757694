"""ELL (ELLPACK): every row padded to the longest, stored column by column. Best where all rows have one length.

Source: PELLR paper, §2. A padded slot has column −1, so explicit zeros stay entries.
"""

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import Format, Kernel, array_module, max_row_length, row_of_entries

SOURCE = CudaSource(__package__, "ell.cu", ("ell_thread",))
BLOCK = 128
PADDING = -1


@dataclass(frozen=True, slots=True)
class EllLayout:
    """Slot s of row r lies at [s, r]: consecutive threads read consecutive addresses.

    columns  int32 [width, n_rows], −1 where padded
    values   float64 [width, n_rows], 0 where padded
    """

    n_cols: int
    nnz: int
    indptr_dtype: Any
    columns: Any
    values: Any

    @staticmethod
    def from_csr(matrix: CsrMatrix) -> "EllLayout":
        """Scatters each entry to its slot."""
        xp = array_module(matrix.indices)
        shape = max_row_length(matrix), matrix.n_rows
        columns = xp.full(shape, PADDING, dtype=xp.int32)
        values = xp.zeros(shape, dtype=xp.float64)
        row = row_of_entries(matrix)
        slot = xp.arange(matrix.nnz, dtype=matrix.indptr.dtype) - matrix.indptr[row]
        columns[slot, row] = matrix.indices
        values[slot, row] = matrix.values
        return EllLayout(matrix.n_cols, matrix.nnz, matrix.indptr.dtype, columns, values)

    def to_csr(self) -> CsrMatrix:
        """Gathers the slots that are not padded, row by row."""
        xp = array_module(self.columns)
        used = self.columns.T != PADDING
        n_rows = self.columns.shape[1]
        indptr = xp.zeros(n_rows + 1, dtype=self.indptr_dtype)
        indptr[1:] = xp.cumsum(used.sum(axis=1))
        return CsrMatrix(n_rows, self.n_cols, indptr, self.columns.T[used], self.values.T[used])

    @property
    def stored_bytes(self) -> int:
        """12 bytes a slot, padded or not."""
        return int(self.columns.nbytes + self.values.nbytes)


def _cuda(layout: EllLayout, x: Any, y: Any) -> None:
    width, n_rows = layout.columns.shape
    if n_rows:
        arguments = (np.int32(n_rows), np.int32(width), layout.columns, layout.values, x, y)
        SOURCE.function("ell_thread")((-(-n_rows // BLOCK),), (BLOCK,), arguments)


@numba.njit(parallel=True, cache=True)
def _strips(columns: Any, values: Any, x: Any, y: Any, strip: int) -> None:
    """Slot by slot over a strip of rows whose y stays in the first-level cache: reads run along the storage."""
    width, n_rows = columns.shape
    for part in numba.prange(-(-n_rows // strip)):
        begin, end = part * strip, min((part + 1) * strip, n_rows)
        for row in range(begin, end):
            y[row] = 0.0
        for slot in range(width):
            for row in range(begin, end):
                column = columns[slot, row]
                if column >= 0:
                    y[row] += values[slot, row] * x[column]


def _cpu(layout: EllLayout, x: Any, y: Any) -> None:
    _strips(layout.columns, layout.values, x, y, 1024)


FORMAT = Format(
    name="ell",
    title="ELLPACK",
    summary="Every row padded to the longest one, stored column by column.",
    bytes_needed=lambda matrix: 12 * max_row_length(matrix) * matrix.n_rows,
    from_csr=EllLayout.from_csr,
    kernels=(
        Kernel(
            "thread",
            "One thread a row, all slots walked; on a CPU slot by slot over strips of rows.",
            cpu=_cpu,
            cuda=_cuda,
            source=SOURCE,
            # Values of padded slots are not loaded.
            moved_bytes=lambda layout: int(layout.columns.nbytes) + 8 * layout.nnz,
        ),
    ),
)
