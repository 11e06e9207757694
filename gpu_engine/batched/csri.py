"""csri/warp: load-balanced CSR; every warp of a matrix gets equal nonzeros, and the layout stores its first row.

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
from gpu_engine.matrices.pellr_counts import WARP

SOURCE = CudaSource(__package__, "csri.cu", instantiations("batched_warp"))

RESIDENT_WARPS, RESIDENT_BLOCKS = 64, 32
"""Most resident warps and blocks per multiprocessor."""

RESERVED_BYTES = 1024
"""Bytes of shared memory per block that the GPU reserves for itself."""

HOST_MULTIPROCESSORS, HOST_SHARED_BYTES = 132, 228 * 1024
"""Multiprocessors and bytes of shared memory assumed for a batch on the host: those of an H200."""


@dataclass(frozen=True, slots=True)
class CsriBatch:
    """The batch with each matrix cut into W parts; part k of a matrix with n nonzeros has [k·n/W, (k + 1)·n/W).

    first_rows  int32 [items, W], row of the first nonzero of each part, within the item
    """

    batch: Batch
    first_rows: Any
    grid: Blocks

    @staticmethod
    def store(batch: Batch) -> "CsriBatch":
        """Return the layout of a batch, whose arrays it shares; first rows are found by bisection."""
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
        """Return the batch of the layout."""
        return self.batch

    @property
    def arrays(self) -> tuple[Any, Any, Any, Any, Any, Any, Any]:
        """All arrays, in the order of the kernel arguments."""
        batch = self.batch
        return batch.rows, batch.cols, batch.entries, self.first_rows, batch.indptr, batch.indices, batch.values

    @property
    def stored_bytes(self) -> int:
        """Bytes of the batch, and 4 bytes per part."""
        return sum(int(array.nbytes) for array in self.arrays)


def warps_for(batch_size: int, columns: int, multiprocessors: int, shared_bytes: int) -> int:
    """Return the warps per matrix: its share of the resident warps of a GPU, more if shared memory limits the blocks.

    columns       elements of x in the shared memory of every block
    shared_bytes  bytes of shared memory per multiprocessor
    """
    blocks = min(RESIDENT_BLOCKS, shared_bytes // (8 * columns + RESERVED_BYTES))
    least, share = -(-RESIDENT_WARPS // blocks), RESIDENT_WARPS * multiprocessors // max(batch_size, 1)
    return min(max(least, share), 32)


def _warps(batch: Batch) -> int:
    """Return the warps per matrix of the batch on its device."""
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
    """Multiply one matrix per thread, part by part; the parts of a cut row each add to y."""
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
        summary="Equal nonzeros per warp, atomics at row ends; on a CPU equal nonzeros per part.",
        store=CsriBatch.store,
        bytes_needed=lambda batch: batch.stored_bytes + 4 * batch.count * _warps(batch),
        cpu=_cpu,
        cuda=_cuda,
        source=SOURCE,
    ),
)
