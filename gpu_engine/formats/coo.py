"""COO, coordinates sorted by row: every thread gets equally many nonzeros, independent of row lengths.

Source: batched SpMV paper, §3 (partial sums, segmented scan over the warp, atomics at row ends).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import CLEAR, Format, Kernel, Launch, array_module, launch, row_of_entries
from gpu_engine.host.jit import numba

SOURCE = CudaSource(__package__, "coo.cu", ("coo_segmented", CLEAR))
BLOCK = 128
STEPS, STEPS_WHILE_SMALL = 4, 2
"""Entries of a warp: 32 lanes × steps, two steps in flight; fewer atomics per nonzero with more steps, fewer warps."""

SMALL = 2**20
"""Nonzeros below which warps are too few to hide what a further step waits for."""


@dataclass(frozen=True, slots=True)
class CooLayout:
    """Entries in row order.

    rows     int32 [nnz]
    columns  int32 [nnz]
    values   float64 [nnz]
    """

    n_rows: int
    n_cols: int
    indptr_dtype: Any
    rows: Any
    columns: Any
    values: Any

    @staticmethod
    def from_csr(matrix: CsrMatrix) -> "CooLayout":
        """Write the row of each nonzero; share columns and values with the matrix."""
        return CooLayout(
            matrix.n_rows, matrix.n_cols, matrix.indptr.dtype, row_of_entries(matrix), matrix.indices, matrix.values
        )

    def to_csr(self) -> CsrMatrix:
        """Count the entries up to each row."""
        xp = array_module(self.rows)
        bounds = xp.arange(self.n_rows + 1, dtype=xp.int32)
        indptr = xp.searchsorted(self.rows, bounds, side="left").astype(self.indptr_dtype)
        return CsrMatrix(self.n_rows, self.n_cols, indptr, self.columns, self.values)

    @property
    def stored_bytes(self) -> int:
        """16 bytes per nonzero."""
        return int(self.rows.nbytes + self.columns.nbytes + self.values.nbytes)


def steps(nnz: int) -> int:
    """Return the number of steps per warp, of 32 consecutive nonzeros each."""
    return STEPS if nnz >= SMALL else STEPS_WHILE_SMALL


def cuda_product(layout: CooLayout, adds: bool = False) -> Launch:
    """Return y := A·x, or y := A·x + y if it `adds`, on the current GPU; the previous kernel may write only y."""
    nnz = int(layout.values.size)
    per_warp = steps(nnz)
    warps = -(-nnz // (32 * per_warp))
    arguments = np.int64(nnz), np.int32(per_warp), layout.rows, layout.columns, layout.values
    # What is large hides its start itself, and would take room from the kernel before it.
    order: dict[str, Any] = {"follows": nnz < SMALL} if adds else {"clears": layout.n_rows}
    return launch(SOURCE, "coo_segmented", -(-warps // (BLOCK // 32)), BLOCK, arguments, **order)


@numba.njit(parallel=True, cache=True)
def _segments(rows: Any, columns: Any, values: Any, x: Any, y: Any, parts: int, first_sums: Any) -> None:
    """Add equal nonzeros per part to y; the part before may share its first row, so that sum waits in `first_sums`."""
    nnz = values.size
    for part in numba.prange(parts):
        begin, end = nnz * part // parts, nnz * (part + 1) // parts
        first_sums[part] = 0.0
        if begin < end:
            first = rows[begin]
            row, total = first, 0.0
            for entry in range(begin, end):
                if rows[entry] != row:
                    if row == first:
                        first_sums[part] = total
                    else:
                        y[row] += total
                    row, total = rows[entry], 0.0
                total += values[entry] * x[columns[entry]]
            if row == first:
                first_sums[part] = total
            else:
                y[row] += total
    for part in range(parts):
        begin, end = nnz * part // parts, nnz * (part + 1) // parts
        if begin < end:
            y[rows[begin]] += first_sums[part]


@numba.njit(parallel=True, cache=True)
def _clear(y: Any) -> None:
    for row in numba.prange(y.size):
        y[row] = 0.0


def cpu_add(layout: CooLayout, x: Any, y: Any) -> None:
    """Compute y += A·x on the host."""
    parts = numba.get_num_threads()
    _segments(layout.rows, layout.columns, layout.values, x, y, parts, np.empty(parts))


def _cpu(layout: CooLayout, x: Any, y: Any) -> None:
    _clear(y)
    cpu_add(layout, x, y)


KERNEL = Kernel(
    "segmented",
    "Equal nonzeros per thread; segmented scan over the warp, atomics at row ends.",
    cpu=_cpu,
    cuda=cuda_product,
    source=SOURCE,
)

FORMAT = Format(
    name="coo",
    title="Coordinates",
    summary="Row, column and value of each nonzero, in row order.",
    bytes_needed=lambda matrix: 16 * matrix.nnz,
    from_csr=CooLayout.from_csr,
    kernels=(KERNEL,),
)
