"""sellp/rows and sellp-packed/rows: a group of lanes per row of SELL-P, for short rows of similar length.

Lanes of neighboring rows read neighboring nonzeros, so that a row need not be split to read whole sectors.
"""

from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats import packing, sellp
from gpu_engine.formats.sellp import PackedSellpLayout, SellpLayout
from gpu_engine.host.jit import numba
from gpu_engine.spmm.base import SpmmKernel, SpmmLaunch
from gpu_engine.spmm.groups import SLICES, VECTORS, groups_for
from gpu_engine.spmm.launches import launch_groups
from gpu_engine.spmm.operands import vector_of

SOURCE = CudaSource(
    __package__,
    "slices.cu",
    (
        *(f"spmm_slices<{vector}>" for vector in VECTORS),
        *(f"spmm_packed_slices<{vector}, {size}>" for vector in VECTORS for size in sellp.VALUE_BYTES),
    ),
)


def _bound(layout: Any, name: str, instance: str, arrays: tuple[Any, ...], k: int) -> SpmmLaunch:
    """Return the SpMM by a kernel of slices.cu, whose instantiation is name<vector + instance>."""
    slices = layout.slices
    rows = int(slices.lengths.size)
    mean = int(slices.lengths.sum(dtype=np.int64)) / max(rows, 1)
    before = np.int32(rows), slices.offsets, slices.lengths, *arrays

    def launch(x: Any, y: Any, alpha: float, beta: float) -> None:
        groups = groups_for(k, rows, mean, vector_of(x, y), SLICES)
        launch_groups(SOURCE, f"{name}<{groups.vector}{instance}>", groups, rows, before, (x, y, alpha, beta))

    return launch


def _plain(layout: SellpLayout, k: int) -> SpmmLaunch:
    return _bound(layout, "spmm_slices", "", (layout.columns, layout.values), k)


def _packed(layout: PackedSellpLayout, k: int) -> SpmmLaunch:
    size = packing.value_bytes(layout.stored, layout.table)
    arrays = (*layout.columns.arrays, layout.stored, layout.table)
    return _bound(layout, "spmm_packed_slices", f", {size}", arrays, k)


@numba.njit(parallel=True, cache=True)
def _slices(
    rows: int, offsets: Any, lengths: Any, columns: Any, values: Any, x: Any, y: Any, alpha: float, beta: float
) -> None:
    k = y.shape[1]
    for row in numba.prange(y.shape[0]):
        for j in range(k):
            y[row, j] = 0.0 if beta == 0.0 else beta * y[row, j]
        if alpha != 0.0:
            first = offsets[row // rows] + row % rows
            for entry in range(lengths[row]):
                value, column = alpha * values[first + entry * rows], columns[first + entry * rows]
                for j in range(k):
                    y[row, j] += value * x[column, j]


def _cpu(layout: SellpLayout, x: Any, y: Any, alpha: float, beta: float) -> None:
    slices = layout.slices
    _slices(slices.rows, slices.offsets, slices.lengths, layout.columns, layout.values, x, y, alpha, beta)


KERNEL = SpmmKernel(
    "sellp/rows",
    "A group of lanes per row of SELL-P; on a CPU one thread per row.",
    sellp.SELLP.from_csr,
    sellp.SELLP.bytes_needed,
    cpu=_cpu,
    cuda=_plain,
    source=SOURCE,
)

PACKED_KERNEL = SpmmKernel(
    "sellp-packed/rows",
    "sellp/rows with columns and values compressed without loss.",
    sellp.PACKED.from_csr,
    sellp.PACKED.bytes_needed,
    cuda=_packed,
    source=SOURCE,
)
