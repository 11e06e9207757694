"""ELL (ELLPACK): every row padded to the longest, stored column by column. Best if all rows are equally long.

Source: PELLR paper, §2. A padded slot has column −1, so explicit zeros stay entries.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import Format, Kernel, Launch, array_module, entry_blocks, launch, max_row_length, pointers
from gpu_engine.host.jit import numba

AHEAD, BLOCK = 2, 64
"""Slots of a thread in flight, and threads of a block: the fastest on an H200 over even and uneven rows."""

SOURCE = CudaSource(__package__, "ell.cu", tuple(f"ell_thread<{adds}, {AHEAD}>" for adds in ("false", "true")))
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
        """Scatter each entry to its slot."""
        columns, values = fill_slots(matrix, max_row_length(matrix), None, PADDING)
        return EllLayout(matrix.n_cols, matrix.nnz, matrix.indptr.dtype, columns, values)

    def to_csr(self) -> CsrMatrix:
        """Gather the slots that are not padded, row by row."""
        return read_slots(
            self.columns, self.values, (self.columns != PADDING).sum(axis=0), None, self.n_cols, self.indptr_dtype
        )

    @property
    def stored_bytes(self) -> int:
        """12 bytes per slot, padded or not."""
        return int(self.columns.nbytes + self.values.nbytes)


def fill_slots(matrix: CsrMatrix, width: int, places: Any, padding: int) -> tuple[Any, Any]:
    """Return (columns, values) [width, n_rows] with slot s of row r at [s, places[r]]; width ≥ the longest row.

    places   int32 [n_rows], or None if every row stays in place
    padding  the column of a slot without an entry; its value is 0
    """
    xp = array_module(matrix.indices)
    shape = width, matrix.n_rows
    columns = xp.full(shape, padding, dtype=xp.int32)
    values = xp.zeros(shape, dtype=xp.float64)
    for entries, row, slot in entry_blocks(matrix.indptr):
        target = slot, row if places is None else places[row]
        columns[target] = matrix.indices[entries]
        values[target] = matrix.values[entries]
    return columns, values


def read_slots(columns: Any, values: Any, lengths: Any, places: Any, n_cols: int, dtype: Any) -> CsrMatrix:
    """Return the matrix whose row r has its first lengths[r] slots at [:, places[r]]: the inverse of `fill_slots`."""
    xp = array_module(columns)
    indptr = pointers(lengths, dtype)
    indices = xp.empty(int(indptr[-1]), dtype=xp.int32)
    data = xp.empty(indices.size, dtype=xp.float64)
    for entries, row, slot in entry_blocks(indptr):
        source = slot, row if places is None else places[row]
        indices[entries] = columns[source]
        data[entries] = values[source]
    return CsrMatrix(columns.shape[1], n_cols, indptr, indices, data)


def cuda_product(layout: EllLayout, adds: bool = False) -> Launch:
    """Return y := A·x, or y := A·x + y if it `adds`, on the current GPU."""
    return launch(SOURCE, _name(adds), *_shape(layout))


def bind(layout: EllLayout, x: Any, y: Any, adds: bool = False) -> Callable[[], None]:
    """Return the SpMV of a matrix with rows, bound to x and y: a call that allocates nothing."""
    blocks, threads, arguments = _shape(layout)
    return SOURCE.bound(_name(adds), blocks, threads, (*arguments, x, y))


def _name(adds: bool) -> str:
    return f"ell_thread<{str(adds).lower()}, {AHEAD}>"


def _shape(layout: EllLayout) -> tuple[int, int, tuple[Any, ...]]:
    """Return (blocks, threads, arguments before x and y) of a launch."""
    width, n_rows = layout.columns.shape
    return -(-n_rows // BLOCK), BLOCK, (np.int32(n_rows), np.int32(width), layout.columns, layout.values)


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


def cpu_product(layout: EllLayout, x: Any, y: Any) -> None:
    """Compute y := A·x on the host."""
    _strips(layout.columns, layout.values, x, y, 1024)


def moved_bytes(layout: EllLayout) -> int:
    """Return all columns, and the values of entries: values of padded slots are not loaded."""
    return int(layout.columns.nbytes) + 8 * layout.nnz


KERNEL = Kernel(
    "thread",
    "One thread per row, over all slots; on a CPU slot by slot over strips of rows.",
    cpu=cpu_product,
    cuda=cuda_product,
    source=SOURCE,
    moved_bytes=moved_bytes,
)

FORMAT = Format(
    name="ell",
    title="ELLPACK",
    summary="Every row padded to the longest one, stored column by column.",
    bytes_needed=lambda matrix: 12 * max_row_length(matrix) * matrix.n_rows,
    from_csr=EllLayout.from_csr,
    kernels=(KERNEL,),
)
