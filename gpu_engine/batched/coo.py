"""coo/segmented: equal nonzeros per warp in every matrix, independent of its row lengths.

Source: batched SpMV paper, §3.3 (partial sums, segmented scan over the warp, atomics at row ends).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.batched.base import BatchKernel
from gpu_engine.batched.batch import Batch, problem_of_rows, problem_pointers, row_starts
from gpu_engine.batched.blocks import Blocks, instantiations
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import array_module, blocks, entry_blocks, pointers
from gpu_engine.host.jit import numba

SOURCE = CudaSource(__package__, "coo.cu", instantiations("batched_segmented"))


@dataclass(frozen=True, slots=True)
class CooBatch:
    """Batch in COO: nonzeros in row order, item after item.

    row_begins   int64 [items + 1], first row of each item
    col_begins   int64 [items + 1], first column of each item
    entries      int64 [items + 1], first nonzero of each item
    row_indices  int32 [nnz], rows within the item
    indices      int32 [nnz], columns within the item
    values       float64 [nnz]
    """

    row_begins: Any
    col_begins: Any
    entries: Any
    row_indices: Any
    indices: Any
    values: Any
    grid: Blocks

    @staticmethod
    def store(batch: Batch) -> "CooBatch":
        """Return the layout of a batch; it adds row indices and shares all other arrays with the batch."""
        xp = array_module(batch.indices)
        row_indices = xp.empty(batch.nnz, dtype=np.int32)
        problem = problem_of_rows(batch.rows)
        for entries, row, _ in entry_blocks(row_starts(batch)):
            row_indices[entries] = row - batch.rows[problem[row]]
        grid = Blocks.of(batch, xp.diff(batch.entries))
        return CooBatch(batch.rows, batch.cols, batch.entries, row_indices, batch.indices, batch.values, grid)

    def to_batch(self) -> Batch:
        """Return the batch of the layout."""
        xp = array_module(self.row_indices)
        lengths = xp.zeros(int(self.row_begins[-1]), dtype=np.int32)
        for block in blocks(self.row_indices.size):
            places = xp.arange(block.start, block.stop, dtype=np.int64)
            first = self.row_begins[xp.searchsorted(self.entries, places, side="right") - 1]
            xp.add.at(lengths, first + self.row_indices[block], np.int32(1))
        entries, indptr = problem_pointers(pointers(lengths, np.int64), self.row_begins)
        return Batch(self.row_begins, self.col_begins, entries, indptr, self.indices, self.values)

    @property
    def arrays(self) -> tuple[Any, Any, Any, Any, Any, Any]:
        """All arrays, in the order of the kernel arguments."""
        return self.row_begins, self.col_begins, self.entries, self.row_indices, self.indices, self.values

    @property
    def stored_bytes(self) -> int:
        """Bytes of all arrays: 16 per nonzero and 24 per matrix."""
        return sum(int(array.nbytes) for array in self.arrays)


def _cuda(layout: CooBatch, x: Any, y: Any, adds: bool) -> None:
    layout.grid.launch(SOURCE, "batched_segmented", adds, (*layout.arrays, x, y))


@numba.njit(parallel=True, cache=True)
def _entries(
    row_begins: Any,
    col_begins: Any,
    entries: Any,
    row_indices: Any,
    indices: Any,
    values: Any,
    x: Any,
    y: Any,
    adds: bool,
) -> None:
    """Multiply one matrix per thread; a sum is added to y when the next nonzero is in another row."""
    for problem in numba.prange(entries.size - 1):
        mine = x[col_begins[problem] : col_begins[problem + 1]]
        part = y[row_begins[problem] : row_begins[problem + 1]]
        if not adds:
            part[:] = 0.0
        row, total = 0, 0.0
        for entry in range(entries[problem], entries[problem + 1]):
            if row_indices[entry] != row:
                part[row] += total
                row, total = row_indices[entry], 0.0
            total += values[entry] * mine[indices[entry]]
        if part.size:
            part[row] += total


def _cpu(layout: CooBatch, x: Any, y: Any, adds: bool) -> None:
    _entries(*layout.arrays, x, y, adds)


KERNELS = (
    BatchKernel(
        name="coo/segmented",
        summary="Equal nonzeros per warp, segmented scan, atomics at row ends; on a CPU nonzero by nonzero.",
        store=CooBatch.store,
        bytes_needed=lambda batch: 16 * batch.nnz + 24 * (batch.count + 1),
        cpu=_cpu,
        cuda=_cuda,
        source=SOURCE,
    ),
)
