"""Blocks: the launch configuration of the paper's kernels, one thread block per matrix with its x in shared memory.

Source: batched SpMV paper, §3.2.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.batched.batch import Batch
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import KernelError
from gpu_engine.formats.base import array_module
from gpu_engine.matrices.pellr_counts import WARP

DEFAULT_BYTES = 48 * 1024
"""Bytes of shared memory that a block gets by default."""

HOST_BLOCK_BYTES = 227 * 1024
"""Bytes of shared memory that a block can request, for a batch on the host: those of an H200."""

LARGEST_BLOCK = 1024
MOST_BLOCKS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Blocks:
    """Launch configuration with one block per matrix, equal for all.

    count    number of matrices
    columns  most columns of a matrix whose x lies in shared memory; x of the others stays in global memory
    every    whether x of every matrix fits
    threads  threads per block, by the largest matrix of the batch
    """

    count: int
    columns: int
    every: bool
    threads: int

    @staticmethod
    def of(batch: Batch, threads: Any, largest: int = LARGEST_BLOCK) -> "Blocks":
        """Return the configuration with enough threads for the largest matrix, up to `largest` per block.

        threads  int [items], threads that each matrix could use
        """
        most, widest = (_most(counts) for counts in (threads, array_module(batch.cols).diff(batch.cols)))
        columns = staged_columns(batch)
        return Blocks(batch.count, columns, widest <= columns, min(max(-(-most // WARP), 1) * WARP, largest))

    def launch(self, source: CudaSource, kernel: str, adds: bool, arguments: tuple[Any, ...], *constants: int) -> None:
        """Launch a kernel of `instantiations` on the current stream; raise KernelError for too many blocks."""
        if self.count > MOST_BLOCKS:
            raise KernelError(
                f"The batch has {self.count} matrices, but a GPU launches at most {MOST_BLOCKS} blocks. Split it."
            )
        if self.count:
            function = source.function(instantiation(kernel, adds, self.every, *constants))
            if 8 * self.columns > DEFAULT_BYTES:
                function.max_dynamic_shared_size_bytes = 8 * self.columns
            room = np.int32(self.columns)
            function((self.count,), (self.threads,), (room, *arguments), shared_mem=8 * self.columns)


def staged_columns(batch: Batch) -> int:
    """Return the most columns of a matrix whose x its block copies into shared memory; 0 if none fits.

    All blocks of a launch get equal shared memory, and more than DEFAULT_BYTES leaves fewer than five blocks per
    multiprocessor. It is requested only if the matrices that need it have at least half of the nonzeros; otherwise
    these matrices read x from global memory.
    """
    xp = array_module(batch.cols)
    columns, entries = xp.diff(batch.cols), xp.diff(batch.entries)
    modest, most = (columns <= size // 8 for size in (DEFAULT_BYTES, _block_bytes(batch)))
    needed = int(entries[most & ~modest].sum())
    return _most(columns[most if 2 * needed >= batch.nnz else modest])


def _block_bytes(batch: Batch) -> int:
    """Return the bytes of shared memory that a block can request on the device of the batch."""
    if array_module(batch.cols) is np:
        return HOST_BLOCK_BYTES
    return int(batch.cols.device.attributes["MaxSharedMemoryPerBlockOptin"])


def _most(counts: Any) -> int:
    return int(counts.max()) if counts.size else 0


def instantiation(kernel: str, adds: bool, every: bool, *constants: int) -> str:
    """Return the C++ name of a kernel that adds to y or writes it, with x of every matrix or of some in shared memory.

    constants  further template arguments
    """
    return f"{kernel}<{', '.join((str(adds).lower(), str(every).lower(), *map(str, constants)))}>"


def instantiations(*kernels: str, constants: Sequence[tuple[int, ...]] = ((),)) -> tuple[str, ...]:
    """Return all instantiations of these kernels, with each of these further template arguments."""
    every_choice = itertools.product(kernels, (False, True), (False, True), constants)
    return tuple(instantiation(kernel, adds, every, *more) for kernel, adds, every, more in every_choice)
