"""ell/thread: every matrix padded to its longest row, column by column; best for rows of equal length.

Source: batched SpMV paper, §3.6. A padding slot has column −1, so that explicit zeros stay nonzeros.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.batched.base import BatchKernel
from gpu_engine.batched.batch import Batch, problem_of_rows, problem_pointers, row_starts
from gpu_engine.batched.blocks import Blocks, instantiations
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import array_module, blocks, entry_blocks, pointers
from gpu_engine.formats.ell import PADDING
from gpu_engine.host.jit import numba

SOURCE = CudaSource(__package__, "ell.cu", instantiations("batched_thread"))


@dataclass(frozen=True, slots=True)
class EllBatch:
    """Batch in ELL: slot s of row r of item p lies at offsets[p] + s · (rows of p) + r.

    rows     int64 [items + 1], first row of each item
    cols     int64 [items + 1], first column of each item
    offsets  int64 [items + 1], first slot of each item
    columns  int32 [slots], within the item, −1 for padding
    values   float64 [slots], 0 for padding
    """

    nnz: int
    rows: Any
    cols: Any
    offsets: Any
    columns: Any
    values: Any
    grid: Blocks

    @staticmethod
    def store(batch: Batch) -> "EllBatch":
        """Return the layout of a batch: each nonzero is scattered to its slot."""
        xp = array_module(batch.indices)
        n_rows, problem = xp.diff(batch.rows), problem_of_rows(batch.rows)
        offsets = pointers(_slots(batch), np.int64)
        columns = xp.full(int(offsets[-1]), PADDING, dtype=np.int32)
        values = xp.zeros(columns.size)
        for entries, row, slot in entry_blocks(row_starts(batch)):
            p = problem[row]
            place = offsets[p] + slot * n_rows[p] + row - batch.rows[p]
            columns[place] = batch.indices[entries]
            values[place] = batch.values[entries]
        return EllBatch(batch.nnz, batch.rows, batch.cols, offsets, columns, values, Blocks.of(batch, n_rows))

    def to_batch(self) -> Batch:
        """Return the batch of the layout: slots without padding, row by row."""
        xp = array_module(self.columns)
        n_rows, problem = xp.diff(self.rows), problem_of_rows(self.rows)
        lengths = xp.zeros(problem.size, dtype=np.int32)
        for block in blocks(self.columns.size):
            slots = xp.arange(block.start, block.stop, dtype=np.int64)
            p = xp.searchsorted(self.offsets, slots, side="right") - 1
            row = self.rows[p] + (slots - self.offsets[p]) % n_rows[p]
            xp.add.at(lengths, row, (self.columns[block] != PADDING).astype(np.int32))
        starts = pointers(lengths, np.int64)
        indices, values = xp.empty(self.nnz, dtype=np.int32), xp.empty(self.nnz)
        for block, row, slot in entry_blocks(starts):
            p = problem[row]
            place = self.offsets[p] + slot * n_rows[p] + row - self.rows[p]
            indices[block] = self.columns[place]
            values[block] = self.values[place]
        return Batch(self.rows, self.cols, *problem_pointers(starts, self.rows), indices, values)

    @property
    def arrays(self) -> tuple[Any, Any, Any, Any, Any]:
        """All arrays, in the order of the kernel arguments."""
        return self.rows, self.cols, self.offsets, self.columns, self.values

    @property
    def stored_bytes(self) -> int:
        """Bytes of all arrays: 12 per slot, including padding, and 24 per matrix."""
        return sum(int(array.nbytes) for array in self.arrays)


def _slots(batch: Batch) -> Any:
    """Return the slots of each item: its rows times their maximum length; int64 [items]."""
    xp = array_module(batch.rows)
    widths = xp.zeros(batch.count, dtype=np.int32)
    xp.maximum.at(widths, problem_of_rows(batch.rows), xp.diff(row_starts(batch)).astype(np.int32))
    return widths * xp.diff(batch.rows)


def bytes_needed(batch: Batch) -> int:
    """Return the bytes of the layout of a batch."""
    return 12 * int(_slots(batch).sum()) + 24 * (batch.count + 1)


def _cuda(layout: EllBatch, x: Any, y: Any, adds: bool) -> None:
    layout.grid.launch(SOURCE, "batched_thread", adds, (*layout.arrays, x, y))


@numba.njit(parallel=True, cache=True)
def _problems(rows: Any, cols: Any, offsets: Any, columns: Any, values: Any, x: Any, y: Any, adds: bool) -> None:
    """Multiply one matrix per thread, slot by slot over all its rows, so that reads are contiguous."""
    for problem in numba.prange(rows.size - 1):
        mine, sums = x[cols[problem] : cols[problem + 1]], y[rows[problem] : rows[problem + 1]]
        if not adds:
            sums[:] = 0.0
        if sums.size:
            for first in range(offsets[problem], offsets[problem + 1], sums.size):
                for row in range(sums.size):
                    column = columns[first + row]
                    if column >= 0:
                        sums[row] += values[first + row] * mine[column]


def _cpu(layout: EllBatch, x: Any, y: Any, adds: bool) -> None:
    _problems(*layout.arrays, x, y, adds)


KERNELS = (
    BatchKernel(
        name="ell/thread",
        summary="One thread per row, over all slots of a matrix; on a CPU slot by slot over its rows.",
        store=EllBatch.store,
        bytes_needed=bytes_needed,
        cpu=_cpu,
        cuda=_cuda,
        source=SOURCE,
        # Values of padding slots are not loaded.
        moved_bytes=lambda layout: layout.stored_bytes - 8 * (int(layout.values.size) - layout.nnz),
    ),
)
