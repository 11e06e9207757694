"""csr/scalar, csr/vector, csr/smart: the batch unchanged, with the rows of a matrix distributed over its thread block.

Source: batched SpMV paper, §3.4.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpu_engine.batched.base import BatchKernel, BatchProduct
from gpu_engine.batched.batch import Batch
from gpu_engine.batched.blocks import LARGEST_BLOCK, Blocks, instantiations
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import array_module
from gpu_engine.host.jit import numba
from gpu_engine.matrices.pellr_counts import WARP

LANES = (1, 2, 4, 8, 16, 32)
"""Possible numbers of lanes per row."""

SCALAR_BLOCK = 320
"""Most threads per block of csr/scalar; of 96 to 1,024 the fastest over uniform and mixed batches on an H200."""

UNIFORM_BLOCK = 256
"""Most threads per block of csr/vector and csr/smart if all matrices have equal lanes per row.

Of 64 to 1,024 it is the fastest on an H100 and an H200. Otherwise a large matrix would occupy a small block for long,
so that blocks may have LARGEST_BLOCK threads.
"""

FEW, SCALAR_FEW = 512, 256
"""Matrices up to which blocks may have LARGEST_BLOCK threads, because so few small ones leave a GPU idle.

On an H200, csr/vector on 512 matrices is up to 1.6 times as fast with them, on 1,000 no longer; csr/scalar on 256.
"""


@dataclass(frozen=True, slots=True)
class CsrBatch:
    """The batch itself, without a copy.

    blocks  launch configuration per kernel variant
    lanes   lanes per row of csr/smart if equal for all matrices, else 0
    """

    batch: Batch
    blocks: Mapping[str, Blocks]
    lanes: int

    @staticmethod
    def store(batch: Batch) -> "CsrBatch":
        """Return the layout that wraps a batch; it reads only sizes."""
        n_rows = array_module(batch.rows).diff(batch.rows)
        lanes = _lanes(batch)
        shared = int(lanes[0]) if lanes.size and bool((lanes == lanes[0]).all()) else 0
        is_few = batch.count <= FEW
        largest = UNIFORM_BLOCK if shared and not is_few else LARGEST_BLOCK
        blocks = {
            "scalar": Blocks.of(batch, n_rows, LARGEST_BLOCK if batch.count <= SCALAR_FEW else SCALAR_BLOCK),
            "vector": Blocks.of(batch, WARP * n_rows, largest),
            "smart": Blocks.of(batch, lanes * n_rows, largest),
        }
        return CsrBatch(batch, blocks, shared)

    def to_batch(self) -> Batch:
        """Return the wrapped batch."""
        return self.batch

    @property
    def stored_bytes(self) -> int:
        """Bytes of the batch."""
        return self.batch.stored_bytes

    @property
    def arrays(self) -> tuple[Any, Any, Any, Any, Any, Any]:
        """All arrays of the batch, in the order of the kernel arguments."""
        batch = self.batch
        return batch.rows, batch.cols, batch.entries, batch.indptr, batch.indices, batch.values


def _lanes(batch: Batch) -> Any:
    """Return the lanes per row of csr/smart: mean row length, rounded up to a power of two ≤ 32; int64 [items]."""
    xp = array_module(batch.rows)
    n_rows, nnz = xp.diff(batch.rows), xp.diff(batch.entries)
    lanes = xp.ones_like(n_rows)
    for width in LANES[:-1]:
        lanes = xp.where(width * n_rows < nnz, 2 * width, lanes)
    return lanes


SOURCE = CudaSource(
    __package__,
    "csr.cu",
    (
        *instantiations("batched_scalar", "batched_smart"),
        *instantiations("batched_lanes", constants=[(lanes,) for lanes in LANES]),
    ),
)


def _scalar(layout: CsrBatch, x: Any, y: Any, adds: bool) -> None:
    layout.blocks["scalar"].launch(SOURCE, "batched_scalar", adds, (*layout.arrays, x, y))


def _vector(layout: CsrBatch, x: Any, y: Any, adds: bool) -> None:
    layout.blocks["vector"].launch(SOURCE, "batched_lanes", adds, (*layout.arrays, x, y), WARP)


def _smart(layout: CsrBatch, x: Any, y: Any, adds: bool) -> None:
    # If all matrices have equal lanes, the number is a compile-time constant of the kernel.
    kernel, constants = ("batched_lanes", (layout.lanes,)) if layout.lanes else ("batched_smart", ())
    layout.blocks["smart"].launch(SOURCE, kernel, adds, (*layout.arrays, x, y), *constants)


@numba.njit(cache=True)
def _one_sum(indices: Any, values: Any, x: Any, begin: int, end: int) -> float:
    total = 0.0
    for entry in range(begin, end):
        total += values[entry] * x[indices[entry]]
    return total


@numba.njit(cache=True)
def _two_sums(indices: Any, values: Any, x: Any, begin: int, end: int) -> float:
    s0 = s1 = 0.0
    whole = begin + (end - begin) // 2 * 2
    for entry in range(begin, whole, 2):
        s0 += values[entry] * x[indices[entry]]
        s1 += values[entry + 1] * x[indices[entry + 1]]
    return (s0 + s1) + _one_sum(indices, values, x, whole, end)


@numba.njit(cache=True)
def _four_sums(indices: Any, values: Any, x: Any, begin: int, end: int) -> float:
    s0 = s1 = s2 = s3 = 0.0
    whole = begin + (end - begin) // 4 * 4
    for entry in range(begin, whole, 4):
        s0 += values[entry] * x[indices[entry]]
        s1 += values[entry + 1] * x[indices[entry + 1]]
        s2 += values[entry + 2] * x[indices[entry + 2]]
        s3 += values[entry + 3] * x[indices[entry + 3]]
    return ((s0 + s2) + (s1 + s3)) + _one_sum(indices, values, x, whole, end)


@numba.njit(cache=True)
def _eight_sums(indices: Any, values: Any, x: Any, begin: int, end: int) -> float:
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    whole = begin + (end - begin) // 8 * 8
    for entry in range(begin, whole, 8):
        s0 += values[entry] * x[indices[entry]]
        s1 += values[entry + 1] * x[indices[entry + 1]]
        s2 += values[entry + 2] * x[indices[entry + 2]]
        s3 += values[entry + 3] * x[indices[entry + 3]]
        s4 += values[entry + 4] * x[indices[entry + 4]]
        s5 += values[entry + 5] * x[indices[entry + 5]]
        s6 += values[entry + 6] * x[indices[entry + 6]]
        s7 += values[entry + 7] * x[indices[entry + 7]]
    total = ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
    return total + _one_sum(indices, values, x, whole, end)


@numba.njit(parallel=True, cache=True)
def _problems(
    rows: Any, cols: Any, entries: Any, indptr: Any, indices: Any, values: Any, x: Any, y: Any, adds: bool, sums: int
) -> None:
    """Multiply one matrix per thread with `sums` partial sums per row; 0: one, two or four by the mean row length."""
    for problem in numba.prange(rows.size - 1):
        first, nnz = entries[problem], entries[problem + 1] - entries[problem]
        mine = x[cols[problem] : cols[problem + 1]]
        n_rows = rows[problem + 1] - rows[problem]
        width = sums
        if width == 0:
            width = 1 if nnz <= n_rows else 2 if nnz <= 2 * n_rows else 4
        for row in range(rows[problem], rows[problem + 1]):
            begin, end = first + indptr[row + problem], first + indptr[row + problem + 1]
            if width == 1:
                total = _one_sum(indices, values, mine, begin, end)
            elif width == 2:
                total = _two_sums(indices, values, mine, begin, end)
            elif width == 4:
                total = _four_sums(indices, values, mine, begin, end)
            else:
                total = _eight_sums(indices, values, mine, begin, end)
            y[row] = y[row] + total if adds else total


def _cpu(sums: int) -> BatchProduct:
    def product(layout: CsrBatch, x: Any, y: Any, adds: bool) -> None:
        _problems(*layout.arrays, x, y, adds, sums)

    return product


def _kernel(variant: str, summary: str, sums: int, cuda: BatchProduct) -> BatchKernel:
    return BatchKernel(
        name=f"csr/{variant}",
        summary=summary,
        store=CsrBatch.store,
        bytes_needed=lambda batch: batch.stored_bytes,
        cpu=_cpu(sums),
        cuda=cuda,
        source=SOURCE,
    )


KERNELS = (
    _kernel("scalar", "One thread per row; on a CPU each row in sequence.", 1, _scalar),
    _kernel("vector", "One warp (32 lanes) per row; on a CPU eight partial sums per row.", 8, _vector),
    _kernel(
        "smart",
        "1, 2, 4, … or 32 lanes per row by the mean row length of each matrix; on a CPU one, two or four sums.",
        0,
        _smart,
    ),
)
