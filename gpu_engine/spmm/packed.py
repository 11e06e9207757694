"""packed/segments: csr/segments, compressed without loss as in formats/packed.py."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats import packing
from gpu_engine.formats.base import POINTERS, array_module, blocks
from gpu_engine.formats.packing import WIDE, PackedColumns
from gpu_engine.host.jit import numba
from gpu_engine.spmm.base import SpmmKernel, SpmmLaunch
from gpu_engine.spmm.cuts import SEGMENT, Cuts, cut_bytes
from gpu_engine.spmm.groups import VECTORS, groups_for
from gpu_engine.spmm.launches import launch_groups
from gpu_engine.spmm.operands import vector_of

PART = 32
"""Neighboring segments whose columns have a base of their own."""

VALUE_BYTES = (8, 4, 1, 0)
SOURCE = CudaSource(
    __package__,
    "packed.cu",
    tuple(
        f"spmm_packed<{vector}, {size}, {pointer}>"
        for vector in VECTORS
        for size in VALUE_BYTES
        for pointer in POINTERS
    ),
)


@dataclass(frozen=True, slots=True)
class PackedSegments:
    """Segments of rows with packed columns and values.

    cuts           segments of the rows
    stored, table  values as `pack_values` returns them
    """

    shape: tuple[int, int]
    cuts: Cuts
    columns: PackedColumns
    stored: Any
    table: Any

    @staticmethod
    def from_csr(matrix: CsrMatrix) -> "PackedSegments":
        """Cut the rows and pack the columns of each PART segments; share values that cannot be packed."""
        cuts, xp = Cuts.of(matrix), array_module(matrix.indices)
        borders = xp.concatenate([cuts.begins[:-1:PART], cuts.begins[-1:]])

        def entries() -> Iterator[tuple[Any, Any]]:
            for block in blocks(matrix.nnz):
                yield xp.arange(block.start, block.stop, dtype=np.int64), matrix.indices[block]

        columns = PackedColumns.pack(borders, entries)
        return PackedSegments(matrix.shape, cuts, columns, *packing.pack_values(matrix.values))

    @property
    def stored_bytes(self) -> int:
        """Bytes of all arrays."""
        return int(self.cuts.nbytes + self.columns.nbytes + self.stored.nbytes + self.table.nbytes)


def _bytes_needed(matrix: CsrMatrix) -> int:
    """Return an upper bound: nothing can be packed."""
    parts = (matrix.n_rows + matrix.nnz // SEGMENT) // PART + 2
    return matrix.stored_bytes + cut_bytes(matrix) + 12 * parts + 8 * packing.CODES


def _cuda(layout: PackedSegments, k: int) -> SpmmLaunch:
    cuts, size = layout.cuts, packing.value_bytes(layout.stored, layout.table)
    sums, mean = cuts.room(k), cuts.mean
    packed = (np.int32(PART), *layout.columns.arrays, layout.stored, layout.table)
    arrays = (np.int32(cuts.count), cuts.begins, cuts.targets, *packed)

    def launch(x: Any, y: Any, alpha: float, beta: float) -> None:
        groups = groups_for(k, cuts.count, mean, vector_of(x, y, sums))
        kernel = f"spmm_packed<{groups.vector}, {size}, {cuts.pointer}>"
        launch_groups(SOURCE, kernel, groups, cuts.count, arrays, (x, y, alpha, beta), (sums,))
        cuts.launch_join(sums, y, alpha, beta)

    return launch


@numba.njit(parallel=True, cache=True)
def _parts(
    begins: Any, targets: Any, bases: Any, places: Any, narrow: Any, wide: Any, stored: Any, table: Any, size: int,
    x: Any, y: Any, sums: Any, alpha: float, beta: float,
) -> None:  # fmt: skip
    """Compute the rows of one segment, and the sums of the segments of longer rows."""
    k = y.shape[1]
    for part in numba.prange(bases.size):
        first = part * PART
        for segment in range(first, min(first + PART, targets.size)):
            target = targets[segment]
            total = np.zeros(k)
            if alpha != 0.0:
                for entry in range(begins[segment], begins[segment + 1]):
                    place = places[part] + entry - begins[first]
                    column = wide[place] if bases[part] == WIDE else bases[part] + narrow[place]
                    code = int(stored[entry]) if size == 1 else 0
                    value = table[code] if size <= 1 else np.float64(stored[entry])
                    for j in range(k):
                        total[j] += value * x[column, j]
            if target >= 0:
                for j in range(k):
                    old = beta * y[target, j] if beta != 0.0 else 0.0
                    y[target, j] = alpha * total[j] + old if alpha != 0.0 else old
            else:
                for j in range(k):
                    sums[~target, j] = total[j]


def _cpu(layout: PackedSegments, x: Any, y: Any, alpha: float, beta: float) -> None:
    cuts, size = layout.cuts, packing.value_bytes(layout.stored, layout.table)
    sums, packed = cuts.room(y.shape[1]), (*layout.columns.arrays, layout.stored, layout.table)
    _parts(cuts.begins, cuts.targets, *packed, size, x, y, sums, alpha, beta)
    cuts.join(sums, y, alpha, beta)


KERNEL = SpmmKernel(
    "packed/segments",
    f"csr/segments with columns and values compressed without loss, in parts of {PART} segments.",
    PackedSegments.from_csr,
    _bytes_needed,
    cpu=_cpu,
    cuda=_cuda,
    source=SOURCE,
)
