"""SpMM, Y := α·A·X + β·Y with a dense X of k columns: KERNELS, and the choice of one.

    base       the contract; one module per kernel, its CUDA source beside it
    choice     the kernel for a matrix and a number of columns
    cuts       rows cut into segments, and the sums of rows of several segments
    groups     how columns and nonzeros are spread over the lanes of a warp
    operands   order, leading dimension, and alignment of X and Y
    launches   the launch that the kernels share
    order      copies between row-major and column-major X and Y

Inside, X and Y are row major: with k ≥ 4 a row of X fills whole memory sectors. Column j of A·X has other bits than
A·x, because the nonzeros of a row are added up in another order.
"""

from collections.abc import Sequence

from gpu_engine.spmm import blocks, cuts, order, packed, rows, segments, slices
from gpu_engine.spmm.base import ORDERS, Order, SpmmKernel, SpmmLaunch
from gpu_engine.spmm.choice import Layouts, kernel_for

__all__ = [
    "KERNELS",
    "ORDERS",
    "SOURCES",
    "Layouts",
    "Order",
    "SpmmKernel",
    "SpmmLaunch",
    "kernel_for",
    "kernels_on",
]

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


def kernels_on(backend: str) -> tuple[SpmmKernel, ...]:
    """Return the kernels of a backend, `cpu` or `cuda`."""
    return tuple(kernel for kernel in KERNELS if kernel.runs_on(backend))
