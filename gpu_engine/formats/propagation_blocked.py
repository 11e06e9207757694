"""Propagation-blocked CSR: all products a_ij · x_j by blocks of columns, then their sums by tiles of rows.

Best if x is several times larger than the last-level cache and a row has few nonzeros in each block of columns: the
second pass reads 10 bytes per nonzero, however many blocks there are. Source: propagation blocking (Beamer, Asanović
and Patterson, IPDPS 2017), with a fixed place for each product instead of bins that are filled as they come.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats import packing, tiles
from gpu_engine.formats.base import (
    ENTRIES_PER_BLOCK,
    POINTERS,
    Format,
    Kernel,
    Launch,
    array_module,
    blocks,
    pointers,
    zeros,
)
from gpu_engine.formats.cache_blocked import block_width
from gpu_engine.formats.tiles import JOIN, SLACK_SHARE, Tiles, sum_rows
from gpu_engine.host.jit import numba

THREADS, ITEMS = 256, 16
"""Threads per block and products per thread of the second pass."""

TILE = THREADS * ITEMS
AHEAD = 8
"""Nonzeros in flight per thread of the first pass."""

SOURCE = CudaSource(
    __package__,
    "propagation_blocked.cu",
    (
        *(f"propagate<{pointer}, {AHEAD}, {size}>" for pointer in POINTERS for size in (8, 4, 1, 0)),
        *(f"sum_tile<{pointer}, {THREADS}, {ITEMS}>" for pointer in POINTERS),
        JOIN,
    ),
)


@dataclass(frozen=True, slots=True)
class PropagationBlockedLayout:
    """Nonzeros by tiles, in a tile by blocks of columns, in a block by rows.

    indptr     row pointers of the matrix
    starts     like indptr [tiles · blocks + 1], the first slot of each piece: the nonzeros of a tile in one block
    columns    int32 [nnz]; stored, table: values as `pack_values` gives them
    positions  uint16 [nnz], the number of each nonzero in its tile, in row order
    products   float64 [nnz], written by an SpMV; two SpMVs at once would clash
    """

    n_cols: int
    n_blocks: int
    indptr: Any
    tiles: Tiles
    starts: Any
    columns: Any
    stored: Any
    table: Any
    positions: Any
    products: Any

    @staticmethod
    def from_csr(matrix: CsrMatrix, width: int | None = None) -> "PropagationBlockedLayout":
        """Sort the nonzeros of each tile by blocks of at most `width` columns; default: by the cache of the device."""
        xp = array_module(matrix.indices)
        step = block_width(matrix, width)
        cut, n_blocks = tiles.cut(matrix, TILE), -(-matrix.n_cols // step)
        sizes = xp.zeros(cut.count * n_blocks, dtype=xp.int64)
        codes, table = packing.pack_values(matrix.values)
        columns, stored = xp.empty(matrix.nnz, dtype=xp.int32), xp.empty(codes.size, dtype=codes.dtype)
        positions = xp.empty(matrix.nnz, dtype=xp.uint16)
        group = max(1, ENTRIES_PER_BLOCK // TILE)
        for first in range(0, cut.count, group):
            stop = min(first + group, cut.count)
            slots = slice(int(cut.borders[first]), int(cut.borders[stop]))
            tile = _tile_of(cut.borders, xp.arange(slots.start, slots.stop, dtype=xp.int64))
            piece = ((tile - first) * n_blocks + matrix.indices[slots] // step).astype(xp.int32)
            order = xp.argsort(piece, kind="stable")
            sizes[first * n_blocks : stop * n_blocks] = xp.bincount(piece, minlength=(stop - first) * n_blocks)
            columns[slots] = matrix.indices[slots][order]
            positions[slots] = slots.start + order - cut.borders[tile]
            if codes.size:
                stored[slots] = codes[slots][order]
        starts = pointers(sizes, matrix.indptr.dtype)
        products = xp.zeros(matrix.nnz)
        packed = (columns, stored, table, positions, products)
        return PropagationBlockedLayout(matrix.n_cols, n_blocks, matrix.indptr, cut, starts, *packed)

    def to_csr(self) -> CsrMatrix:
        """Return each nonzero to its position."""
        xp = array_module(self.indptr)
        nnz = int(self.columns.size)
        indices, stored = xp.empty(nnz, dtype=xp.int32), xp.empty_like(self.stored)
        for slots in blocks(nnz):
            tile = _tile_of(self.tiles.borders, xp.arange(slots.start, slots.stop, dtype=xp.int64))
            places = self.tiles.borders[tile].astype(xp.int64) + self.positions[slots]
            indices[places] = self.columns[slots]
            if stored.size:
                stored[places] = self.stored[slots]
        values = packing.unpack_values(stored, self.table, nnz)
        return CsrMatrix(self.indptr.size - 1, self.n_cols, self.indptr, indices, values)

    @property
    def stored_bytes(self) -> int:
        """All arrays, the products included."""
        arrays = (self.indptr, self.starts, self.columns, self.stored, self.table, self.positions, self.products)
        return self.tiles.nbytes + sum(int(array.nbytes) for array in arrays)


def _tile_of(borders: Any, slots: Any) -> Any:
    """Return the tile of each slot: int64."""
    return array_module(borders).searchsorted(borders.astype(np.int64), slots, side="right") - 1


def _bytes_needed(matrix: CsrMatrix, width: int | None = None) -> int:
    """At most: values do not pack."""
    n_blocks = -(-matrix.n_cols // block_width(matrix, width))
    n_tiles = matrix.nnz // (TILE - TILE // SLACK_SHARE) + matrix.n_rows // TILE + 2
    pointer = int(matrix.indptr.dtype.itemsize)
    per_tile = n_tiles * (pointer * (n_blocks + 1) + 4 + 16 + 12)
    return 22 * matrix.nnz + int(matrix.indptr.nbytes) + per_tile + 2 * pointer + 4 + 8 * packing.CODES


def _cuda(layout: PropagationBlockedLayout) -> Launch:
    cut = layout.tiles
    if not cut.count:
        return zeros
    pointer = POINTERS[layout.indptr.dtype.itemsize == 8]
    name = f"propagate<{pointer}, {AHEAD}, {packing.value_bytes(layout.stored, layout.table)}>"
    sizes, pieces = (np.uint32(cut.count), np.int32(layout.n_blocks)), cut.count * layout.n_blocks
    arrays = (*sizes, layout.starts, layout.columns, layout.stored, layout.table, layout.products)
    multiply = SOURCE.bound(name, -(-pieces // (THREADS // 32)), THREADS, (*arrays, None), follows=True)
    by_tiles = (
        cut.borders,
        cut.first_rows,
        layout.indptr,
        layout.positions,
        layout.products,
        None,
        *tiles.sums_of(cut),
    )
    add = SOURCE.bound(f"sum_tile<{pointer}, {THREADS}, {ITEMS}>", cut.count, THREADS, by_tiles, follows=True)

    def product(x: Any, y: Any) -> None:
        multiply(x)
        add(y)

    return tiles.then_join(product, SOURCE, cut)


@numba.njit(parallel=True, cache=True)
def _propagate(
    n_tiles: int, n_blocks: int, starts: Any, columns: Any, stored: Any, table: Any, size: int, x: Any, products: Any
) -> None:
    """Piece by piece over all tiles, then over the blocks."""
    for block in range(n_blocks):
        for tile in numba.prange(n_tiles):
            piece = tile * n_blocks + block
            for slot in range(starts[piece], starts[piece + 1]):
                factor = table[0] if size == 0 else table[int(stored[slot])] if size == 1 else stored[slot]
                products[slot] = factor * x[columns[slot]]


@numba.njit(parallel=True, cache=True)
def _sum(
    ranges: Any,
    borders: Any,
    first_rows: Any,
    indptr: Any,
    positions: Any,
    products: Any,
    y: Any,
    first_sums: Any,
    last_sums: Any,
) -> None:
    """Products of a tile in row order into a buffer that stays in the first-level cache, then the sums of its rows."""
    for part in numba.prange(ranges.size - 1):
        ordered = np.empty(TILE)
        for tile in range(ranges[part], ranges[part + 1]):
            begin, end = borders[tile], borders[tile + 1]
            for slot in range(begin, end):
                ordered[positions[slot]] = products[slot]
            sum_rows(tile, ordered, borders, first_rows, indptr, y, first_sums, last_sums)


def _cpu(layout: PropagationBlockedLayout, x: Any, y: Any) -> None:
    cut = layout.tiles
    if not cut.count:
        y.fill(0.0)
        return
    size = packing.value_bytes(layout.stored, layout.table)
    packed = (layout.starts, layout.columns, layout.stored, layout.table, size)
    _propagate(cut.count, layout.n_blocks, *packed, x, layout.products)
    ranges = tiles.ranges(cut.count, numba.get_num_threads())
    sums = (cut.first_sums, cut.last_sums)
    _sum(ranges, cut.borders, cut.first_rows, layout.indptr, layout.positions, layout.products, y, *sums)
    tiles.join_on_cpu(cut, y)


FORMAT = Format(
    name="propagation-blocked",
    title="Propagation-blocked CSR",
    summary="Products by blocks of columns whose part of x stays in the last-level cache, then sums by tiles of rows.",
    bytes_needed=_bytes_needed,
    from_csr=PropagationBlockedLayout.from_csr,
    kernels=(
        Kernel(
            "tile",
            f"One launch for all products, one for the sums of tiles of {TILE} nonzeros, in shared memory.",
            cpu=_cpu,
            cuda=_cuda,
            source=SOURCE,
        ),
    ),
    compressed=True,
)
