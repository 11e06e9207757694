"""Packed, compressed tiled CSR: the tiles of `split` with lossless 16-bit columns and values in 8, 4, 1, or 0 bytes.

Best if columns of neighboring rows lie close together (meshes, stencils, ordered graphs) or values repeat (graphs).
Source: 16-bit columns relative to a tile after Bell and Garland's and later compressed formats; value tables ours.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats import packing, tiles
from gpu_engine.formats.base import POINTERS, Format, Kernel, Launch, array_module, blocks
from gpu_engine.formats.packing import PackedColumns
from gpu_engine.formats.tiles import Tiles, sum_rows
from gpu_engine.host.jit import numba

THREADS, ITEMS = 128, 4
TILE = THREADS * ITEMS
VALUE_BYTES = (8, 4, 1, 0)
SOURCE = CudaSource(
    __package__,
    "packed.cu",
    (*(f"packed_tile<{p}, {THREADS}, {ITEMS}, {b}>" for p in POINTERS for b in VALUE_BYTES), tiles.JOIN),
)


@dataclass(frozen=True, slots=True)
class PackedLayout:
    """Tiles of packed entries.

    indptr         row pointers of the matrix
    stored, table  values as `pack_values` gives them
    """

    n_cols: int
    nnz: int
    indptr: Any
    tiles: Tiles
    columns: PackedColumns
    stored: Any
    table: Any

    @staticmethod
    def from_csr(matrix: CsrMatrix) -> "PackedLayout":
        """Cut the tiles and pack the columns of each; share the row pointers, and values that do not pack."""
        cut = tiles.cut(matrix, TILE)

        def entries() -> Iterator[tuple[Any, Any]]:
            for slots in _slots(matrix.indices, matrix.nnz):
                yield slots, matrix.indices[slots]

        columns = PackedColumns.pack(cut.borders, entries)
        return PackedLayout(matrix.n_cols, matrix.nnz, matrix.indptr, cut, columns, *packing.pack_values(matrix.values))

    def to_csr(self) -> CsrMatrix:
        """Unpack columns and values."""
        xp = array_module(self.indptr)
        indices = xp.empty(self.nnz, dtype=xp.int32)
        for slots in _slots(self.indptr, self.nnz):
            indices[slots] = self.columns.at(slots)
        values = packing.unpack_values(self.stored, self.table, self.nnz)
        return CsrMatrix(self.indptr.size - 1, self.n_cols, self.indptr, indices, values)

    @property
    def stored_bytes(self) -> int:
        """Row pointers, tiles, packed columns and values."""
        values = int(self.stored.nbytes + self.table.nbytes)
        return int(self.indptr.nbytes) + self.tiles.nbytes + self.columns.nbytes + values


def _slots(like: Any, nnz: int) -> Iterator[Any]:
    """Yield all entries, block by block: int64."""
    xp = array_module(like)
    for block in blocks(nnz):
        yield xp.arange(block.start, block.stop, dtype=xp.int64)


def _bytes_needed(matrix: CsrMatrix) -> int:
    """At most: nothing packs."""
    cut = tiles.cut(matrix, TILE)
    return matrix.stored_bytes + cut.nbytes + 12 * cut.count + 8 * packing.CODES


def _cuda(layout: PackedLayout) -> Launch:
    pointer = POINTERS[layout.indptr.dtype.itemsize == 8]
    size = packing.value_bytes(layout.stored, layout.table)
    kernel = f"packed_tile<{pointer}, {THREADS}, {ITEMS}, {size}>"
    arrays = (layout.indptr, *layout.columns.arrays, layout.stored, layout.table)
    return tiles.launch(SOURCE, kernel, THREADS, layout.tiles, arrays)


@numba.njit(parallel=True, cache=True)
def _tiles(
    ranges: Any,
    borders: Any,
    first_rows: Any,
    indptr: Any,
    bases: Any,
    places: Any,
    narrow: Any,
    wide: Any,
    stored: Any,
    table: Any,
    size: int,
    x: Any,
    y: Any,
    first_sums: Any,
    last_sums: Any,
) -> None:
    """Products of a tile, unpacked, into a buffer that stays in the first-level cache, then the sums of its rows."""
    for part in numba.prange(ranges.size - 1):
        products = np.empty(TILE)
        for tile in range(ranges[part], ranges[part + 1]):
            begin, end = borders[tile], borders[tile + 1]
            base, first_place = bases[tile], places[tile]
            if base >= 0:
                for place in range(end - begin):
                    products[place] = x[base + narrow[first_place + place]]
            else:
                for place in range(end - begin):
                    products[place] = x[wide[first_place + place]]
            if size == 0:
                for place in range(end - begin):
                    products[place] *= table[0]
            elif size == 1:
                for place in range(end - begin):
                    products[place] *= table[int(stored[begin + place])]
            else:
                for place in range(end - begin):
                    products[place] *= stored[begin + place]
            sum_rows(tile, products, borders, first_rows, indptr, y, first_sums, last_sums)


def multiply_on_cpu(layout: PackedLayout, x: Any, y: Any) -> None:
    """Set y := A·x on the host."""
    t = layout.tiles
    if not t.count:
        y.fill(0.0)
        return
    ranges = tiles.ranges(t.count, numba.get_num_threads())
    size = packing.value_bytes(layout.stored, layout.table)
    packed = (*layout.columns.arrays, layout.stored, layout.table, size)
    _tiles(ranges, t.borders, t.first_rows, layout.indptr, *packed, x, y, t.first_sums, t.last_sums)
    tiles.join_on_cpu(t, y)


FORMAT = Format(
    name="packed",
    title="Compressed tiled CSR",
    summary="Tiles with 16-bit columns if these lie close together, and values as floats, codes, or a constant.",
    bytes_needed=_bytes_needed,
    from_csr=PackedLayout.from_csr,
    kernels=(
        Kernel(
            "tile",
            f"One block per tile of {TILE} nonzeros, decompressing while reading; on a CPU in the L1 cache.",
            cpu=multiply_on_cpu,
            cuda=_cuda,
            source=SOURCE,
        ),
    ),
    compressed=True,
)
