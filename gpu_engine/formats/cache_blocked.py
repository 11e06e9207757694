"""Cache-blocked CSR: blocks of columns whose part of x stays in the last-level cache, multiplied one after the other.

Best if x is larger than the cache and columns lie anywhere; if columns of neighboring rows lie close together, a block
gains nothing and costs a further pass over y. Source: cache blocking (Nishtala, Vuduc, Demmel and Yelick, AAECC 18,
2007), with the tiles of `packed` inside a block.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats import packed, packing, tiles
from gpu_engine.formats.base import (
    POINTERS,
    Format,
    Kernel,
    Launch,
    array_module,
    pointers,
    row_lengths,
    row_of_entries,
    zeros,
)
from gpu_engine.formats.packed import ITEMS, THREADS, TILE, VALUE_BYTES, PackedLayout
from gpu_engine.formats.tiles import SLACK_SHARE
from gpu_engine.host.jit import numba

CACHE_SHARE = 0.3
"""Largest share of the last-level cache for the part of x of one block; 0.2 to 0.4 were fastest on an H100."""

HOST_CACHE_BYTES = 32 * 2**20
"""Last-level cache that layouts on a host are made for."""

FIRST = 2**31
"""Flag added to the row of a segment if no earlier block has nonzeros of that row: y is written instead of added to."""

JOIN = "cache_blocked_join"
SOURCE = CudaSource(
    __package__,
    "cache_blocked.cu",
    (*(f"cache_blocked_tile<{p}, {THREADS}, {ITEMS}, {b}>" for p in POINTERS for b in VALUE_BYTES), JOIN),
)


@dataclass(frozen=True, slots=True)
class ColumnBlock:
    """The nonzeros in a range of columns.

    rows    uint32 [segments], the row of each segment, which is the part of a row in the block; FIRST may be added
    packed  the segments, as rows of a matrix
    """

    rows: Any
    packed: PackedLayout

    @property
    def row_numbers(self) -> Any:
        """The row of each segment, without flags: int32 [segments]."""
        return (self.rows & np.uint32(FIRST - 1)).astype(np.int32)


@dataclass(frozen=True, slots=True)
class CacheBlockedLayout:
    """Blocks of columns in ascending order; blocks without nonzeros are left out."""

    n_rows: int
    n_cols: int
    indptr_dtype: Any
    blocks: tuple[ColumnBlock, ...]

    @staticmethod
    def from_csr(matrix: CsrMatrix, width: int | None = None) -> "CacheBlockedLayout":
        """Cut the columns into equal blocks of at most `width` columns; default: by the cache of the device."""
        xp = array_module(matrix.indices)
        step = block_width(matrix, width)
        rows, unwritten = row_of_entries(matrix), xp.ones(matrix.n_rows, dtype=bool)
        blocks: list[ColumnBlock] = []
        for first in range(0, matrix.n_cols, step):
            inside = xp.flatnonzero((matrix.indices >= first) & (matrix.indices < first + step))
            if inside.size:
                counts = xp.bincount(rows[inside], minlength=matrix.n_rows)
                # Rows without nonzeros are segments of the first block, so that y is written there.
                mask = counts > 0 if blocks else (counts > 0) | (row_lengths(matrix) == 0)
                blocks.append(_block(matrix, inside, counts, xp.flatnonzero(mask), unwritten))
        return CacheBlockedLayout(matrix.n_rows, matrix.n_cols, matrix.indptr.dtype, tuple(blocks))

    def to_csr(self) -> CsrMatrix:
        """Gather the segments of each row in the order of the blocks."""
        xp = np if not self.blocks else array_module(self.blocks[0].rows)
        parts = [block.packed.to_csr() for block in self.blocks]
        rows = [block.row_numbers[row_of_entries(part)] for block, part in zip(self.blocks, parts, strict=True)]
        row = xp.concatenate([xp.empty(0, dtype=xp.int32), *rows])
        order = xp.argsort(row, kind="stable")
        indptr = pointers(xp.bincount(row, minlength=self.n_rows), self.indptr_dtype)
        indices = xp.concatenate([xp.empty(0, dtype=xp.int32), *(part.indices for part in parts)])[order]
        values = xp.concatenate([xp.empty(0), *(part.values for part in parts)])[order]
        return CsrMatrix(self.n_rows, self.n_cols, indptr, indices, values)

    @property
    def stored_bytes(self) -> int:
        """The packed tiles of all blocks, and 4 bytes per segment."""
        return sum(int(block.rows.nbytes) + block.packed.stored_bytes for block in self.blocks)


def _block(matrix: CsrMatrix, entries: Any, counts: Any, segments: Any, unwritten: Any) -> ColumnBlock:
    """Return the block with these entries in the rows `segments`, and mark its rows as written."""
    xp = array_module(segments)
    rows = (segments + FIRST * unwritten[segments]).astype(xp.uint32)
    unwritten[segments] = False
    starts = pointers(counts[segments], matrix.indptr.dtype)
    part = CsrMatrix(segments.size, matrix.n_cols, starts, matrix.indices[entries], matrix.values[entries])
    return ColumnBlock(rows, PackedLayout.from_csr(part))


def block_width(matrix: CsrMatrix, width: int | None = None) -> int:
    """Return the columns per block: as equal as possible, at most `width` or CACHE_SHARE of the device's cache."""
    most = max(1, int(CACHE_SHARE * _cache_bytes(matrix)) // 8 if width is None else width)
    return max(1, -(-matrix.n_cols // max(1, -(-matrix.n_cols // most))))


def _cache_bytes(matrix: CsrMatrix) -> int:
    """Return the bytes of the last-level cache of the device of a matrix."""
    if array_module(matrix.indices) is np:
        return HOST_CACHE_BYTES
    import cupy

    return int(cupy.cuda.Device(matrix.indices.device.id).attributes["L2CacheSize"])


def _bytes_needed(matrix: CsrMatrix, width: int | None = None) -> int:
    """At most: nothing packs, and each row has nonzeros in each block or one nonzero per block."""
    count = -(-matrix.n_cols // block_width(matrix, width))
    segments = min(matrix.nnz + matrix.n_rows, max(count, 1) * matrix.n_rows)
    pointer = int(matrix.indptr.dtype.itemsize)
    n_tiles = matrix.nnz // (TILE - TILE // SLACK_SHARE) + segments // TILE + 2 * count
    per_block = count * (2 * pointer + 4 + 8 * packing.CODES)
    return 12 * matrix.nnz + (4 + pointer) * segments + (pointer + 44) * n_tiles + per_block


def _launch(block: ColumnBlock) -> Launch:
    part, cut = block.packed, block.packed.tiles
    size = packing.value_bytes(part.stored, part.table)
    name = f"cache_blocked_tile<{POINTERS[part.indptr.dtype.itemsize == 8]}, {THREADS}, {ITEMS}, {size}>"
    arrays = (cut.borders, cut.first_rows, part.indptr, block.rows, *part.columns.arrays, part.stored, part.table)
    add = SOURCE.bound(name, cut.count, THREADS, (*arrays, None, None, *tiles.sums_of(cut)), follows=True)
    return tiles.then_join(add, SOURCE, cut, JOIN, (block.rows,))


def _cuda(layout: CacheBlockedLayout) -> Launch:
    launches = [_launch(block) for block in layout.blocks]
    if not launches:
        return zeros

    def call(x: Any, y: Any) -> None:
        for add in launches:
            add(x, y)

    return call


@numba.njit(parallel=True, cache=True)
def _add(rows: Any, sums: Any, y: Any) -> None:
    first = np.int64(2**31)
    for segment in numba.prange(rows.size):
        row = np.int64(rows[segment])
        if row >= first:
            y[row - first] = sums[segment]
        else:
            y[row] += sums[segment]


def _cpu(layout: CacheBlockedLayout, x: Any, y: Any) -> None:
    if not layout.blocks:
        y.fill(0.0)
    for block in layout.blocks:
        sums = np.empty(block.rows.size)
        packed.multiply_on_cpu(block.packed, x, sums)
        _add(block.rows, sums, y)


FORMAT = Format(
    name="cache-blocked",
    title="Cache-blocked CSR",
    summary="Blocks of columns whose part of x stays in the last-level cache, each in compressed tiles.",
    bytes_needed=_bytes_needed,
    from_csr=CacheBlockedLayout.from_csr,
    kernels=(
        Kernel(
            "tile",
            f"One launch per block of columns; one thread block per tile of {TILE} nonzeros; y is added to in order.",
            cpu=_cpu,
            cuda=_cuda,
            source=SOURCE,
        ),
    ),
    compressed=True,
)
