"""Choice of the SpMM kernel for a matrix and a number of columns, by what was fastest on an H100."""

from typing import Any

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import max_row_length
from gpu_engine.spmm import blocks, rows, segments, slices
from gpu_engine.spmm.base import SpmmKernel, SpmmLaunch
from gpu_engine.spmm.groups import LANES

LONG = 128
"""Nonzeros of the longest row from which on rows are cut."""

SLICED_COLUMNS = 16
"""Most columns with which slices are faster than rows."""

PADDING = 1.1
"""Most bytes of slices, in those of CSR."""


def kernel_for(matrix: CsrMatrix, backend: str, k: int = 1, room: float = 0.0) -> SpmmKernel:
    """Return the fastest kernel for k columns whose layout needs at most `room` bytes besides CSR.

    On a GPU, rows are cut if one is long. Else many short rows of similar length become slices.
    """
    if backend != "cuda":
        return rows.KERNEL
    if max_row_length(matrix) > LONG:
        return segments.KERNEL
    if 1 < k <= SLICED_COLUMNS and matrix.n_rows >= LANES and room >= matrix.stored_bytes:
        needed = slices.KERNEL.bytes_needed(matrix)
        if needed <= min(room, PADDING * matrix.stored_bytes):
            return slices.KERNEL
    return rows.KERNEL


class Layouts:
    """Layouts of a matrix, each made when its kernel is first the fastest for a number of columns."""

    def __init__(self, matrix: CsrMatrix, backend: str) -> None:
        self._matrix, self._backend = matrix, backend
        self._layouts: dict[str, Any] = {}
        self._kernels: dict[int, SpmmKernel] = {}
        self._has_blocks: bool | None = None

    def kernel(self, k: int) -> SpmmKernel:
        """Return the kernel for k columns, whose layout exists afterwards."""
        if k not in self._kernels:
            self._kernels[k] = blocks.KERNEL if k > 1 and self._store_blocks() else self._choose(k)
        return self._kernels[k]

    def bound(self, k: int) -> SpmmLaunch:
        """Return the SpMM for k columns, row major."""
        kernel = self.kernel(k)
        return kernel.bound(self._backend, self._layouts[kernel.name], k)

    def _choose(self, k: int) -> SpmmKernel:
        kernel = kernel_for(self._matrix, self._backend, k, free_bytes(self._backend) / 2)
        if kernel.name not in self._layouts:
            self._layouts[kernel.name] = kernel.store(self._matrix)
        return kernel

    def _store_blocks(self) -> bool:
        """Return whether the nonzeros form dense blocks, for which there is room; store them."""
        if self._has_blocks is None:
            self._has_blocks = blocks.KERNEL.bytes_needed(self._matrix) <= free_bytes(self._backend) / 2
            if self._has_blocks:
                try:
                    self._layouts[blocks.KERNEL.name] = blocks.KERNEL.store(self._matrix)
                except ParameterError:
                    self._has_blocks = False
        return self._has_blocks


def free_bytes(backend: str) -> int:
    """Return the free bytes of the current GPU; 0 on a CPU, where every kernel reads CSR as it is."""
    if backend != "cuda":
        return 0
    import cupy

    return int(cupy.cuda.runtime.memGetInfo()[0])
