"""JAD (jagged diagonals): all rows sorted by length; the entries s of all rows are stored together, without padding.

Best if lengths vary much and neighbors share few columns, as the sort pulls them apart.
Source: Saad, Iterative Methods for Sparse Linear Systems, §3.4; PELLR paper, §2.3.5.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import (
    POINTERS,
    Format,
    Kernel,
    Launch,
    array_module,
    entry_blocks,
    inverse,
    launch,
    longest_first,
    max_row_length,
    pointers,
    row_lengths,
)
from gpu_engine.host.jit import numba

AHEAD, BLOCK = 8, 128
"""Diagonals of a thread in flight, and threads of a block: the fastest on an H200 over even and uneven rows."""

SOURCE = CudaSource(__package__, "jad.cu", tuple(f"jad_thread<{pointer}, {AHEAD}>" for pointer in POINTERS))


@dataclass(frozen=True, slots=True)
class JadLayout:
    """Entry s of row permutation[p] lies at diagonals[s] + p.

    diagonals    int32 or int64 as the row pointers [longest row + 1]: where each diagonal begins, and the last ends
    columns      int32 [nnz]
    values       float64 [nnz]
    permutation  int32 [n_rows], longest row first
    """

    n_cols: int
    diagonals: Any
    columns: Any
    values: Any
    permutation: Any

    @staticmethod
    def from_csr(matrix: CsrMatrix) -> "JadLayout":
        """Sort the rows and scatter each nonzero to its diagonal."""
        xp = array_module(matrix.indices)
        permutation = longest_first(row_lengths(matrix))
        places = inverse(permutation)
        diagonals = pointers(_diagonal_lengths(matrix), matrix.indptr.dtype)
        columns = xp.empty(matrix.nnz, dtype=xp.int32)
        values = xp.empty(matrix.nnz, dtype=xp.float64)
        for entries, row, slot in entry_blocks(matrix.indptr):
            target = diagonals[slot] + places[row]
            columns[target] = matrix.indices[entries]
            values[target] = matrix.values[entries]
        return JadLayout(matrix.n_cols, diagonals, columns, values, permutation)

    def to_csr(self) -> CsrMatrix:
        """Gather each row along the diagonals."""
        xp = array_module(self.columns)
        places = inverse(self.permutation)
        indptr = pointers(self._lengths()[places], self.diagonals.dtype)
        indices, values = xp.empty_like(self.columns), xp.empty_like(self.values)
        for entries, row, slot in entry_blocks(indptr):
            source = self.diagonals[slot] + places[row]
            indices[entries] = self.columns[source]
            values[entries] = self.values[source]
        return CsrMatrix(places.size, self.n_cols, indptr, indices, values)

    def _lengths(self) -> Any:
        """Entries of the row at each place: the diagonals, ever shorter, that are longer than the place is far."""
        xp = array_module(self.columns)
        rising = (self.diagonals[1:] - self.diagonals[:-1])[::-1].copy()
        places = xp.arange(self.permutation.size, dtype=rising.dtype)
        return rising.size - xp.searchsorted(rising, places, side="right")

    @property
    def stored_bytes(self) -> int:
        """12 bytes per nonzero, 4 per row, and a pointer per diagonal."""
        return int(self.diagonals.nbytes + self.columns.nbytes + self.values.nbytes + self.permutation.nbytes)


def _diagonal_lengths(matrix: CsrMatrix) -> Any:
    """Return how many rows are longer than s, for each s below the longest: [longest row]."""
    xp = array_module(matrix.indices)
    lengths = row_lengths(matrix)
    lengths.sort()
    slots = xp.arange(max_row_length(matrix), dtype=xp.int32)
    return lengths.size - xp.searchsorted(lengths, slots, side="right")


def _cuda(layout: JadLayout) -> Launch:
    n_rows = layout.permutation.size
    name = f"jad_thread<{POINTERS[layout.diagonals.dtype.itemsize == 8]}, {AHEAD}>"
    arrays = (layout.diagonals, layout.columns, layout.values, layout.permutation)
    arguments = np.int32(n_rows), np.int32(layout.diagonals.size - 1), *arrays
    return launch(SOURCE, name, -(-n_rows // BLOCK), BLOCK, arguments)


@numba.njit(parallel=True, cache=True)
def _strips(diagonals: Any, columns: Any, values: Any, permutation: Any, x: Any, y: Any, strip: int) -> None:
    """Diagonal by diagonal over a strip of rows, as far as they reach; the sums leave through the permutation."""
    n_rows = permutation.size
    for part in numba.prange(-(-n_rows // strip)):
        begin, end = part * strip, min((part + 1) * strip, n_rows)
        totals = np.zeros(end - begin)
        for slot in range(diagonals.size - 1):
            first = diagonals[slot]
            reach = min(end, diagonals[slot + 1] - first)
            if reach <= begin:
                break
            for row in range(begin, reach):
                totals[row - begin] += values[first + row] * x[columns[first + row]]
        for row in range(begin, end):
            y[permutation[row]] = totals[row - begin]


def _cpu(layout: JadLayout, x: Any, y: Any) -> None:
    _strips(layout.diagonals, layout.columns, layout.values, layout.permutation, x, y, 1024)


def _bytes_needed(matrix: CsrMatrix) -> int:
    return 12 * matrix.nnz + 4 * matrix.n_rows + int(matrix.indptr.dtype.itemsize) * (max_row_length(matrix) + 1)


FORMAT = Format(
    name="jad",
    title="Jagged diagonals",
    summary="All rows sorted by length; first entries of all rows, then second entries, and so on. No padding.",
    bytes_needed=_bytes_needed,
    from_csr=JadLayout.from_csr,
    kernels=(
        Kernel(
            "thread",
            "One thread per row, along its diagonals; on a CPU diagonal by diagonal over strips of rows.",
            cpu=_cpu,
            cuda=_cuda,
            source=SOURCE,
        ),
    ),
)
