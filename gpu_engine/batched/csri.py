"""csri/warp: the batch and the row where each warp's share of a problem begins, so that all get the same nonzeros.

Source: batched SpMV paper, §3.5; Flegar and Quintana-Ortí, Euro-Par 2017.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.batched.base import BatchKernel
from gpu_engine.batched.batch import Batch
from gpu_engine.batched.blocks import Blocks, instantiations, staged_columns
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import array_module
from gpu_engine.host.jit import numba
from gpu_engine.matrices.warps import WARP

SOURCE = CudaSource(__package__, "csri.cu", instantiations("batched_warp"))

RESIDENT_WARPS, RESIDENT_BLOCKS = 64, 32
"""Most warps and most blocks that a multiprocessor holds at a time."""

RESERVED_BYTES = 1024
"""Shared memory that a GPU takes of every block for itself."""

HOST_MULTIPROCESSORS, HOST_SHARED_BYTES = 132, 228 * 1024
"""What shares are cut for where the batch lies on the host: an H200, for a CPU has no such numbers."""


@dataclass(frozen=True, slots=True)
class CsriBatch:
    """The batch, each problem cut into W parts; part k of one with n entries has [k·n/W, (k + 1)·n/W) of them.

    first_rows  int32 [problems, W], the row of each part's first entry, within the problem
    """

    batch: Batch
    first_rows: Any
    grid: Blocks

    @staticmethod
    def store(batch: Batch) -> "CsriBatch":
        """Finds the first row of each part by bisection, all parts together; the arrays of the batch are shared."""
        xp = array_module(batch.indptr)
        warps = _warps(batch)
        n_rows, nnz = xp.diff(batch.rows)[:, None], xp.diff(batch.entries)[:, None]
        pointers = (batch.rows[:-1] + xp.arange(batch.count))[:, None]
        begins = nnz * xp.arange(warps) // warps
        low, high = xp.zeros_like(begins), xp.maximum(n_rows - 1, 0) + xp.zeros_like(begins)
        for _ in range(int(n_rows.max()).bit_length() if batch.count else 0):
            middle = high - (high - low) // 2
            begun = batch.indptr[pointers + middle] <= begins
            low, high = xp.where(begun, middle, low), xp.where(begun, high, xp.maximum(middle - 1, low))
        threads = xp.full(batch.count, WARP * warps, dtype=np.int64)
        return CsriBatch(batch, low.astype(np.int32), Blocks.of(batch, threads))

    def to_batch(self) -> Batch:
        """The batch that was cut."""
        return self.batch

    @property
    def arrays(self) -> tuple[Any, Any, Any, Any, Any, Any, Any]:
        """All arrays, in the order of the kernels' arguments."""
        batch = self.batch
        return batch.rows, batch.cols, batch.entries, self.first_rows, batch.indptr, batch.indices, batch.values

    @property
    def stored_bytes(self) -> int:
        """Those of the batch, and 4 bytes a part."""
        return sum(int(array.nbytes) for array in self.arrays)


def warps_for(batch_size: int, columns: int, multiprocessors: int, shared_bytes: int) -> int:
    """Warps of a problem: its share of all that a GPU holds, and so many that shared memory cannot leave them too few.

    columns       of x for which every block has shared memory
    shared_bytes  of a multiprocessor
    """
    blocks = min(RESIDENT_BLOCKS, shared_bytes // (8 * columns + RESERVED_BYTES))
    least, share = -(-RESIDENT_WARPS // blocks), RESIDENT_WARPS * multiprocessors // max(batch_size, 1)
    return min(max(least, share), 32)


def _warps(batch: Batch) -> int:
    """Warps of each problem of the batch on its device."""
    xp = array_module(batch.cols)
    columns = staged_columns(batch)
    if xp is np:
        return warps_for(batch.count, columns, HOST_MULTIPROCESSORS, HOST_SHARED_BYTES)
    device = batch.cols.device.attributes
    return warps_for(
        batch.count, columns, int(device["MultiProcessorCount"]), int(device["MaxSharedMemoryPerMultiprocessor"])
    )


def _cuda(layout: CsriBatch, x: Any, y: Any, adds: bool) -> None:
    layout.grid.launch(SOURCE, "batched_warp", adds, (*layout.arrays, x, y))


@numba.njit(parallel=True, cache=True)
def _parts(
    rows: Any,
    cols: Any,
    entries: Any,
    first_rows: Any,
    indptr: Any,
    indices: Any,
    values: Any,
    x: Any,
    y: Any,
    adds: bool,
) -> None:
    """A problem a thread, part by part; a row that is cut by parts is added to by each."""
    parts = first_rows.shape[1]
    for problem in numba.prange(rows.size - 1):
        mine, part_of_y = x[cols[problem] : cols[problem + 1]], y[rows[problem] : rows[problem + 1]]
        if not adds:
            part_of_y[:] = 0.0
        first, nnz = entries[problem], entries[problem + 1] - entries[problem]
        pointers = indptr[rows[problem] + problem : rows[problem + 1] + problem + 1]
        for part in range(parts):
            entry, end = nnz * part // parts, nnz * (part + 1) // parts
            row = first_rows[problem, part]
            while entry < end:
                stop = min(pointers[row + 1], end)
                total = 0.0
                while entry < stop:
                    total += values[first + entry] * mine[indices[first + entry]]
                    entry += 1
                part_of_y[row] += total
                row += 1


def _cpu(layout: CsriBatch, x: Any, y: Any, adds: bool) -> None:
    _parts(*layout.arrays, x, y, adds)


KERNELS = (
    BatchKernel(
        name="csri/warp",
        summary="Equal nonzeros a warp, atomics where a row ends; on a CPU equal nonzeros a part.",
        store=CsriBatch.store,
        bytes_needed=lambda batch: batch.stored_bytes + 4 * batch.count * _warps(batch),
        cpu=_cpu,
        cuda=_cuda,
        source=SOURCE,
    ),
)
