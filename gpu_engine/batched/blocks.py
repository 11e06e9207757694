"""Blocks: one thread block a problem, x of the problem in its shared memory: the launch that the paper's kernels share.

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
from gpu_engine.matrices.warps import WARP

UNASKED_BYTES = 48 * 1024
"""Shared memory that a block has without asking for more."""

HOST_BLOCK_BYTES = 227 * 1024
"""What a block may ask for where the batch lies on the host: an H200's."""

LARGEST_BLOCK = 1024
MOST_BLOCKS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Blocks:
    """One block a problem, all alike.

    count    problems
    columns  x of a problem with at most so many columns lies in shared memory, that of others in global memory
    every    whether no problem has more
    threads  of a block: what the largest problem of a batch asks for
    """

    count: int
    columns: int
    every: bool
    threads: int

    @staticmethod
    def of(batch: Batch, threads: Any) -> "Blocks":
        """Blocks with a thread for all that the busiest problem has to do, as far as one may be so large.

        threads  int [problems], how many each problem could keep busy
        """
        most, widest = (_most(counts) for counts in (threads, array_module(batch.cols).diff(batch.cols)))
        columns = staged_columns(batch)
        return Blocks(batch.count, columns, widest <= columns, min(max(-(-most // WARP), 1) * WARP, LARGEST_BLOCK))

    def launch(self, source: CudaSource, kernel: str, adds: bool, arguments: tuple[Any, ...], *constants: int) -> None:
        """Starts a kernel of `instantiations` on the current stream; raises KernelError for more blocks than fit."""
        if self.count > MOST_BLOCKS:
            raise KernelError(
                f"{self.count} problems need a block each, and a GPU starts at most {MOST_BLOCKS}; split the batch."
            )
        if self.count:
            function = source.function(instantiation(kernel, adds, self.every, *constants))
            if 8 * self.columns > UNASKED_BYTES:
                function.max_dynamic_shared_size_bytes = 8 * self.columns
            room = np.int32(self.columns)
            function((self.count,), (self.threads,), (room, *arguments), shared_mem=8 * self.columns)


def staged_columns(batch: Batch) -> int:
    """Most columns of a problem whose x its block copies into shared memory; 0 where none fits.

    Every block of a launch gets as much as one, and what is more than UNASKED_BYTES leaves a multiprocessor fewer than
    five: it is asked for where the problems that need it have at least half of the entries. Otherwise these few read x
    from global memory, and all others keep their neighbours.
    """
    xp = array_module(batch.cols)
    columns, entries = xp.diff(batch.cols), xp.diff(batch.entries)
    modest, most = (columns <= size // 8 for size in (UNASKED_BYTES, _block_bytes(batch)))
    needed = int(entries[most & ~modest].sum())
    return _most(columns[most if 2 * needed >= batch.nnz else modest])


def _block_bytes(batch: Batch) -> int:
    """Shared memory that a block may ask for on the device of the batch."""
    if array_module(batch.cols) is np:
        return HOST_BLOCK_BYTES
    return int(batch.cols.device.attributes["MaxSharedMemoryPerBlockOptin"])


def _most(counts: Any) -> int:
    return int(counts.max()) if counts.size else 0


def instantiation(kernel: str, adds: bool, every: bool, *constants: int) -> str:
    """The C++ name of a kernel that adds to y or writes it, with x of every problem in shared memory or of some.

    constants  its further template arguments
    """
    return f"{kernel}<{', '.join((str(adds).lower(), str(every).lower(), *map(str, constants)))}>"


def instantiations(*kernels: str, constants: Sequence[tuple[int, ...]] = ((),)) -> tuple[str, ...]:
    """All that launches of these kernels may ask for, with each of these further template arguments."""
    every_choice = itertools.product(kernels, (False, True), (False, True), constants)
    return tuple(instantiation(kernel, adds, every, *more) for kernel, adds, every, more in every_choice)
