"""SpMM, Y := α·A·X + β·Y with a dense X of k columns: KERNELS, and the choice of one.

    base       the contract; one module per kernel, its CUDA source beside it
    cuts       rows cut into segments, and the sums of rows of several segments
    groups     how columns and nonzeros are spread over the lanes of a warp
    operands   order, leading dimension, and alignment of X and Y
    launches   the launch that the kernels share
    order      copies between row-major and column-major X and Y

Inside, X and Y are row major: with k ≥ 4 a row of X fills whole memory sectors. Column j of A·X has other bits than
A·x, because the nonzeros of a row are added up in another order.
"""

from collections.abc import Sequence

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.formats.base import max_row_length
from gpu_engine.spmm import blocks, cuts, order, packed, rows, segments, slices
from gpu_engine.spmm.base import ORDERS, Order, SpmmKernel, SpmmLaunch

__all__ = ["KERNELS", "ORDERS", "SOURCES", "Order", "SpmmKernel", "SpmmLaunch", "kernel_for", "kernels_on"]

KERNELS: Sequence[SpmmKernel] = (
    rows.KERNEL,
    segments.KERNEL,
    blocks.KERNEL,
    packed.KERNEL,
    slices.KERNEL,
    slices.PACKED_KERNEL,
)

SOURCES = (*dict.fromkeys(kernel.source for kernel in KERNELS if kernel.source is not None), cuts.JOIN, order.SOURCE)
"""All CUDA sources."""

LONG = 128
"""Nonzeros of the longest row from which on rows are cut."""


def kernels_on(backend: str) -> tuple[SpmmKernel, ...]:
    """Return the kernels of a backend, `cpu` or `cuda`."""
    return tuple(kernel for kernel in KERNELS if kernel.runs_on(backend))


def kernel_for(matrix: CsrMatrix, backend: str) -> SpmmKernel:
    """Return the kernel for a matrix that copies nothing: on a GPU, rows are cut only if one is long."""
    is_cut = backend == "cuda" and max_row_length(matrix) > LONG
    return segments.KERNEL if is_cut else rows.KERNEL
