"""Split, tiled CSR: tiles of nearly equal nonzeros, each multiplied through shared memory. Best on most graphs.

A block loads its tile coalesced, independent of row lengths, and sums rows from shared memory by groups of lanes as
wide as the tile's rows allow. Rows start with their tile where they can, so y is written once, without atomics.
Source: the row blocks of CSR-Adaptive (Greathouse and Daga, SC 2014) with borders by entries instead of by rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats import tiles
from gpu_engine.formats.base import POINTERS, Format, Kernel, Launch
from gpu_engine.formats.tiles import Tiles, sum_rows
from gpu_engine.host.jit import numba

THREADS, ITEMS = 128, 4
"""Threads per block and nonzeros per thread: the fastest of 64 … 512 and 2 … 16 on an H200 over graphs and webs."""

TILE = THREADS * ITEMS
SOURCE = CudaSource(
    __package__, "split.cu", (*(f"split_tile<{pointer}, {THREADS}, {ITEMS}>" for pointer in POINTERS), tiles.JOIN)
)


@dataclass(frozen=True, slots=True)
class SplitLayout:
    """The arrays of the matrix as they are, and its tiles."""

    matrix: CsrMatrix
    tiles: Tiles

    @staticmethod
    def from_csr(matrix: CsrMatrix) -> "SplitLayout":
        """Cut the tiles; the matrix is not copied."""
        return SplitLayout(matrix, tiles.cut(matrix, TILE))

    def to_csr(self) -> CsrMatrix:
        """Return the matrix that was cut."""
        return self.matrix

    @property
    def stored_bytes(self) -> int:
        """CSR and the arrays of the tiles."""
        return self.matrix.stored_bytes + self.tiles.nbytes


def _cuda(layout: SplitLayout) -> Launch:
    matrix = layout.matrix
    kernel = f"split_tile<{POINTERS[matrix.indptr.dtype.itemsize == 8]}, {THREADS}, {ITEMS}>"
    arrays = (matrix.indptr, matrix.indices, matrix.values)
    return tiles.launch(SOURCE, kernel, THREADS, layout.tiles, arrays)


@numba.njit(parallel=True, cache=True)
def _tiles(
    ranges: Any,
    borders: Any,
    first_rows: Any,
    indptr: Any,
    indices: Any,
    values: Any,
    x: Any,
    y: Any,
    first_sums: Any,
    last_sums: Any,
) -> None:
    """Products of a tile into a buffer that stays in the first-level cache, then the sums of its rows."""
    for part in numba.prange(ranges.size - 1):
        products = np.empty(TILE)
        for tile in range(ranges[part], ranges[part + 1]):
            begin, end = borders[tile], borders[tile + 1]
            for place in range(end - begin):
                products[place] = values[begin + place] * x[indices[begin + place]]
            sum_rows(tile, products, borders, first_rows, indptr, y, first_sums, last_sums)


def _cpu(layout: SplitLayout, x: Any, y: Any) -> None:
    t, matrix = layout.tiles, layout.matrix
    if not t.count:
        y.fill(0.0)
        return
    ranges = tiles.ranges(t.count, numba.get_num_threads())
    arrays = (t.borders, t.first_rows, matrix.indptr, matrix.indices, matrix.values)
    _tiles(ranges, *arrays, x, y, t.first_sums, t.last_sums)
    tiles.join_on_cpu(t, y)


FORMAT = Format(
    name="split",
    title="Tiled CSR",
    summary="CSR cut into tiles of nearly equal nonzeros; short rows are not cut.",
    bytes_needed=lambda matrix: matrix.stored_bytes + tiles.cut(matrix, TILE).nbytes,
    from_csr=SplitLayout.from_csr,
    kernels=(
        Kernel(
            "tile",
            f"One block per tile of {TILE} nonzeros, products in shared memory; on a CPU in the L1 cache.",
            cpu=_cpu,
            cuda=_cuda,
            source=SOURCE,
        ),
    ),
)
