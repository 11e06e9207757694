"""ell/thread: every problem padded to its own longest row, column by column. Best where its rows have one length.

Source: batched SpMV paper, §3.6. A padded slot has column −1, so explicit zeros stay entries.
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
    """Slot s of row r of problem p lies at offsets[p] + s · (rows of p) + r.

    rows     int64 [problems + 1], where the rows of each problem begin
    cols     int64 [problems + 1], where its columns begin
    offsets  int64 [problems + 1], where its slots begin
    columns  int32 [slots], counted within the problem, −1 where padded
    values   float64 [slots], 0 where padded
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
        """Scatters each entry to its slot."""
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
        """Gathers the slots that are not padded, row by row."""
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
        for taken, row, slot in entry_blocks(starts):
            p = problem[row]
            place = self.offsets[p] + slot * n_rows[p] + row - self.rows[p]
            indices[taken] = self.columns[place]
            values[taken] = self.values[place]
        return Batch(self.rows, self.cols, *problem_pointers(starts, self.rows), indices, values)

    @property
    def arrays(self) -> tuple[Any, Any, Any, Any, Any]:
        """All arrays, in the order of the kernels' arguments."""
        return self.rows, self.cols, self.offsets, self.columns, self.values

    @property
    def stored_bytes(self) -> int:
        """12 bytes a slot, padded or not, and 24 a problem."""
        return sum(int(array.nbytes) for array in self.arrays)


def _slots(batch: Batch) -> Any:
    """Slots of each problem: its rows, each as long as the longest of them; int64 [problems]."""
    xp = array_module(batch.rows)
    widths = xp.zeros(batch.count, dtype=np.int32)
    xp.maximum.at(widths, problem_of_rows(batch.rows), xp.diff(row_starts(batch)).astype(np.int32))
    return widths * xp.diff(batch.rows)


def bytes_needed(batch: Batch) -> int:
    """Bytes of the layout of a batch."""
    return 12 * int(_slots(batch).sum()) + 24 * (batch.count + 1)


def _cuda(layout: EllBatch, x: Any, y: Any, adds: bool) -> None:
    layout.grid.launch(SOURCE, "batched_thread", adds, (*layout.arrays, x, y))


@numba.njit(parallel=True, cache=True)
def _problems(rows: Any, cols: Any, offsets: Any, columns: Any, values: Any, x: Any, y: Any, adds: bool) -> None:
    """A problem a thread, slot by slot over all its rows: reads run along the storage."""
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
        summary="One thread a row, all slots of a problem walked; on a CPU slot by slot over its rows.",
        store=EllBatch.store,
        bytes_needed=bytes_needed,
        cpu=_cpu,
        cuda=_cuda,
        source=SOURCE,
        # Values of padded slots are not loaded.
        moved_bytes=lambda layout: layout.stored_bytes - 8 * (int(layout.values.size) - layout.nnz),
    ),
)
