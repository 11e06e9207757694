"""Blocks: one thread block a problem, x of the problem in its shared memory: the launch that the paper's kernels share.

Source: batched SpMV paper, §3.2.
"""

from dataclasses import dataclass
from typing import Any

from gpu_engine.batched.batch import Batch
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import KernelError
from gpu_engine.formats.base import array_module
from gpu_engine.warps import WARP

STAGED_COLUMNS = 48 * 1024 // 8
"""Most columns of a problem whose x is copied into shared memory: 48 KB, what a block has without asking for more."""

LARGEST_BLOCK = 1024
MOST_BLOCKS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Blocks:
    """One block a problem, all alike: what the largest problem of a batch asks for.

    count    problems
    columns  most columns of a problem
    threads  of a block
    """

    count: int
    columns: int
    threads: int

    @staticmethod
    def of(batch: Batch, threads: Any) -> "Blocks":
        """Blocks with a thread for all that the busiest problem has to do, as far as one may be so large.

        threads  int [problems], how many each problem could keep busy
        """
        xp = array_module(batch.cols)
        most, columns = (int(part.max()) if batch.count else 0 for part in (threads, xp.diff(batch.cols)))
        return Blocks(batch.count, columns, min(max(-(-most // WARP), 1) * WARP, LARGEST_BLOCK))

    @property
    def staged(self) -> bool:
        """Whether x of every problem fits the shared memory."""
        return self.columns <= STAGED_COLUMNS

    def launch(self, source: CudaSource, kernel: str, adds: bool, arguments: tuple[Any, ...]) -> None:
        """Starts a kernel of `instantiations` on the current stream; raises KernelError for more blocks than fit."""
        if self.count > MOST_BLOCKS:
            raise KernelError(
                f"{self.count} problems need a block each, and a GPU starts at most {MOST_BLOCKS}; split the batch."
            )
        if self.count:
            function = source.function(instantiation(kernel, adds, self.staged))
            function((self.count,), (self.threads,), arguments, shared_mem=8 * self.columns if self.staged else 0)


def instantiation(kernel: str, adds: bool, staged: bool) -> str:
    """The C++ name of a kernel that adds to y or writes it, with x in shared memory or not."""
    return f"{kernel}<{str(adds).lower()}, {str(staged).lower()}>"


def instantiations(*kernels: str) -> tuple[str, ...]:
    """All that launches of these kernels may ask for."""
    both = (False, True)
    return tuple(instantiation(kernel, adds, staged) for kernel in kernels for adds in both for staged in both)
