"""Tiles: consecutive nonzeros of a matrix in row order, nearly equal in number; short rows are not cut.

A border may cut a long row: the sums of its parts wait in `first_sums` and `last_sums` and are joined in
order of the tiles, so that an SpMV needs no zeroed y and no atomics and is bitwise reproducible. A tile holds
at most as many rows as entries, give or take one: empty rows cost no tile more than others.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import Launch, array_module, row_lengths, zeros
from gpu_engine.host.jit import numba

CUT = 2**31
"""Flag added to the first row of a tile if that row began in an earlier tile."""

SLACK_SHARE = 8
"""Rows up to 1/SLACK_SHARE of a tile are never cut."""

JOIN = "join_cut_rows"
JOIN_BLOCK = 256


@dataclass(frozen=True, slots=True)
class Tiles:
    """Borders of the tiles, and buffers for the sums of cut rows; arrays on the device of the matrix.

    borders      like indptr [tiles + 1], the entry where each tile begins
    first_rows   uint32 [tiles + 1], the row of its first entry or empty row; CUT is added where that row is cut
    cut_rows     int32 [cut], with their first and last tile in first_tiles and last_tiles
    first_sums   float64 [tiles], written by a product: of each tile the sum of its entries of a row that began earlier;
                 last_sums: of one that goes on. Two products at once would clash
    """

    borders: Any
    first_rows: Any
    cut_rows: Any
    first_tiles: Any
    last_tiles: Any
    first_sums: Any
    last_sums: Any

    @property
    def count(self) -> int:
        """Number of tiles."""
        return int(self.borders.size) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (
            self.borders,
            self.first_rows,
            self.cut_rows,
            self.first_tiles,
            self.last_tiles,
            self.first_sums,
            self.last_sums,
        )
        return sum(int(array.nbytes) for array in arrays)


def cut(matrix: CsrMatrix, size: int) -> Tiles:
    """Return tiles of at most `size` nonzeros and `size` rows; none for a matrix without nonzeros."""
    xp = array_module(matrix.indptr)
    begins, rows, cuts = _by_entries(matrix, size)
    begins, rows, cuts = _by_rows(matrix, size, begins, rows, cuts)
    borders = xp.empty(begins.size + 1, dtype=matrix.indptr.dtype)
    borders[:-1], borders[-1] = begins, matrix.nnz
    first_rows = xp.empty(begins.size + 1, dtype=xp.uint32)
    first_rows[:-1], first_rows[-1] = rows + CUT * cuts, matrix.n_rows
    first_sums, last_sums = xp.zeros(begins.size), xp.zeros(begins.size)
    return Tiles(borders, first_rows, *_cut_rows(rows, cuts), first_sums, last_sums)


def _by_entries(matrix: CsrMatrix, size: int) -> tuple[Any, Any, Any]:
    """Return (first entry, first row, whether that row is cut) of tiles by entries: int64, int64, bool [tiles]."""
    xp = array_module(matrix.indptr)
    lengths = row_lengths(matrix)
    slack = min(int(lengths.max()) if lengths.size else 0, size // SLACK_SHARE)
    step = size - slack
    nominal = xp.arange(-(-matrix.nnz // step), dtype=xp.int64) * step
    row = xp.searchsorted(matrix.indptr, nominal.astype(matrix.indptr.dtype), side="right") - 1
    begins = xp.where(lengths[row] <= slack, matrix.indptr[row].astype(xp.int64), nominal)
    cuts = matrix.indptr[row] < begins
    # Empty rows that begin at a border belong to the tile after it.
    starting = xp.searchsorted(matrix.indptr, begins.astype(matrix.indptr.dtype), side="left")
    return begins, xp.where(cuts, row, starting), cuts


def _by_rows(matrix: CsrMatrix, size: int, begins: Any, rows: Any, cuts: Any) -> tuple[Any, Any, Any]:
    """Return the same tiles, those with more than `size` rows cut further."""
    xp = array_module(begins)
    if not begins.size:
        return begins, rows, cuts
    last = xp.concatenate([rows[1:] + cuts[1:], xp.array([matrix.n_rows])])
    pieces = xp.maximum(-(-(last - rows) // size), 1)
    ends = xp.cumsum(pieces)
    number = xp.arange(int(ends[-1]))
    tile = xp.searchsorted(ends, number, side="right")
    piece = number - (ends - pieces)[tile]
    rows = rows[tile] + piece * size
    begins = xp.where(piece > 0, matrix.indptr[rows], begins[tile])
    return begins, rows, cuts[tile] & (piece == 0)


def _cut_rows(rows: Any, cuts: Any) -> tuple[Any, Any, Any]:
    """Return (row, first tile, last tile) of each row that borders cut: int32 [cut]."""
    xp = array_module(rows)
    tiles = xp.flatnonzero(cuts)
    cut, begins, count = xp.unique(rows[tiles], return_index=True, return_counts=True)
    first = tiles[begins] - 1
    return cut.astype(xp.int32), first.astype(xp.int32), (first + count).astype(xp.int32)


def launch(source: CudaSource, name: str, threads: int, tiles: Tiles, arguments: tuple[Any, ...]) -> Launch:
    """Return the SpMV of tiles on a GPU: the kernel `name`, with the parameters of `split_tile`, then JOIN."""
    if not tiles.count:
        return zeros
    arrays = (tiles.borders, tiles.first_rows, *arguments, None, None, *sums_of(tiles))
    return then_join(source.bound(name, tiles.count, threads, arrays, follows=True), source, tiles)


def sums_of(tiles: Tiles) -> tuple[Any, Any]:
    """Return the arguments for the sums of rows that borders cut: null pointers if there are none."""
    return (tiles.first_sums, tiles.last_sums) if tiles.cut_rows.size else (np.uintp(0), np.uintp(0))


def then_join(
    product: Launch, source: CudaSource, tiles: Tiles, name: str = JOIN, more: tuple[Any, ...] = ()
) -> Launch:
    """Return a product of tiles, and after it the join of the rows that borders cut.

    name  of the kernel of `source`, with the parameters of JOIN and, before y, `more`
    """
    cut = int(tiles.cut_rows.size)
    if not cut:
        return product
    parts = np.int32(cut), tiles.cut_rows, tiles.first_tiles, tiles.last_tiles, *sums_of(tiles), *more
    join = source.bound(name, -(-cut // (JOIN_BLOCK // 32)), JOIN_BLOCK, (*parts, None), follows=True)

    def call(x: Any, y: Any) -> None:
        product(x, y)
        join(y)

    return call


def ranges(count: int, parts: int) -> Any:
    """Return the borders of nearly equal ranges of tiles, one per CPU thread: int64 [parts + 1]."""
    return np.arange(parts + 1, dtype=np.int64) * count // parts


@numba.njit(cache=True)
def sum_rows(
    tile: int,
    products: Any,
    borders: Any,
    first_rows: Any,
    indptr: Any,
    y: Any,
    first_sums: Any,
    last_sums: Any,
) -> None:
    """Write the sums of the rows of a tile on the host, from its products in row order; those of cut rows apart."""
    cut = np.int64(2**31)
    begin, end = borders[tile], borders[tile + 1]
    first, next_row = np.int64(first_rows[tile]), np.int64(first_rows[tile + 1])
    first, last = first % cut, next_row % cut + next_row // cut
    for row in range(first, last):
        total = 0.0
        for place in range(max(indptr[row], begin) - begin, min(indptr[row + 1], end) - begin):
            total += products[place]
        if indptr[row] < begin:
            first_sums[tile] = total
        elif indptr[row + 1] > end:
            last_sums[tile] = total
        else:
            y[row] = total


def join_on_cpu(tiles: Tiles, y: Any) -> None:
    """Write the sums of the cut rows to y, adding their parts in the order of the tiles."""
    for row, first, last in zip(tiles.cut_rows, tiles.first_tiles, tiles.last_tiles, strict=True):
        y[row] = tiles.last_sums[first] + tiles.first_sums[first + 1 : last + 1].sum()
