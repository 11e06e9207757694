"""bcsr/rows: a group of lanes per row of dense blocks, as finite elements with several unknowns per node have them.

A row of X serves all rows of a block, so that X is gathered once per block instead of once per nonzero.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.dense_blocks import SIZES, Blocks, find_blocks
from gpu_engine.host.jit import numba
from gpu_engine.spmm.base import SpmmKernel, SpmmLaunch
from gpu_engine.spmm.groups import VECTORS, groups_for
from gpu_engine.spmm.launches import launch_groups
from gpu_engine.spmm.operands import vector_of

SOURCE = CudaSource(
    __package__, "blocks.cu", tuple(f"spmm_blocks<{vector}, {size}>" for vector in VECTORS for size in SIZES)
)


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """A matrix by rows of dense blocks."""

    shape: tuple[int, int]
    blocks: Blocks

    @staticmethod
    def from_csr(matrix: CsrMatrix) -> "BlockLayout":
        """Copy the nonzeros to the largest blocks that they fill; raise ParameterError if there are none."""
        return BlockLayout(matrix.shape, find_blocks(matrix))

    @property
    def stored_bytes(self) -> int:
        """Bytes of all arrays."""
        return int(sum(array.nbytes for array in self.blocks.arrays))


def _cuda(layout: BlockLayout, k: int) -> SpmmLaunch:
    blocks = layout.blocks
    rows = blocks.pointers.size - 1
    mean, arrays = blocks.columns.size / max(rows, 1), (np.int32(rows), *blocks.arrays)

    def launch(x: Any, y: Any, alpha: float, beta: float) -> None:
        groups = groups_for(k, rows, mean, vector_of(x, y))
        kernel = f"spmm_blocks<{groups.vector}, {blocks.size}>"
        launch_groups(SOURCE, kernel, groups, rows, arrays, (x, y, alpha, beta))

    return launch


@numba.njit(parallel=True, cache=True)
def _rows(pointers: Any, columns: Any, values: Any, x: Any, y: Any, alpha: float, beta: float) -> None:
    size, k = values.shape[1], y.shape[1]
    for row in numba.prange(y.shape[0]):
        block_row, within = row // size, row % size
        for j in range(k):
            y[row, j] = 0.0 if beta == 0.0 else beta * y[row, j]
        if alpha != 0.0:
            for block in range(pointers[block_row], pointers[block_row + 1]):
                for offset in range(size):
                    value, column = alpha * values[block, within, offset], columns[block] * size + offset
                    for j in range(k):
                        y[row, j] += value * x[column, j]


def _cpu(layout: BlockLayout, x: Any, y: Any, alpha: float, beta: float) -> None:
    _rows(*layout.blocks.arrays, x, y, alpha, beta)


KERNEL = SpmmKernel(
    "bcsr/rows",
    "A group of lanes per row of dense blocks; on a CPU one thread per row.",
    BlockLayout.from_csr,
    lambda matrix: 12 * matrix.nnz + matrix.indptr.nbytes,
    cpu=_cpu,
    cuda=_cuda,
    source=SOURCE,
)
