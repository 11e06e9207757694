"""Symmetric, half storage: the lower triangle and the diagonal of a symmetric or skew-symmetric matrix.

Best for large symmetric stencils and finite elements, whose values are read from memory once instead of twice. Nothing
is scattered: a row reads each nonzero above the diagonal where the row of its column stores it, which was or will soon
be in the cache if the bandwidth is small. Row sums have a fixed order and need no atomics, no buffers, and no second
pass. The triangle is stored as in `sellp-packed`. Source: the storage of symmetric SELL-C-σ, with the transposed
accesses as loads; numbers of slots in place of 32-bit positions ours.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats import packing, triangles
from gpu_engine.formats.base import (
    Format,
    Kernel,
    Launch,
    array_module,
    entry_blocks,
    inverse,
    launch,
    max_row_length,
    pointers,
    row_lengths,
    row_of_entries,
)
from gpu_engine.formats.packing import PackedColumns
from gpu_engine.formats.sellp import PackedSellpLayout, Slices, threads_text
from gpu_engine.host.jit import numba

ROWS, BLOCK, AHEAD = 32, 128, 4
"""Rows per slice, threads per block, and slots in flight."""

LANES = (1, 2, 4)
NUMBERS = {1: "unsigned char", 4: "int"}
"""Bytes of a length and of the number of a slot → their C++ type."""

WINDOW = 256
"""Rows per window within which rows are sorted by the length of the lower triangle; a rank in it takes one byte."""

PADDING_MAX = 0.1
"""Share of padding in the lower triangle up to which rows keep their order."""

SHORT_MAX = 255
"""Longest row of a triangle for lengths and numbers in one byte."""

SOURCE = CudaSource(
    __package__,
    "symmetric.cu",
    tuple(
        f"symmetric<{lanes}, {AHEAD}, {size}, {number}>"
        for lanes in LANES
        for size in (8, 4, 1, 0)
        for number in NUMBERS.values()
    ),
)


@dataclass(frozen=True, slots=True)
class UpperTriangle:
    """The nonzeros above the diagonal by slices, without their values.

    columns  of the slots: places of rows in storage order; numbers: uint8 or int32 [slots], the number of the slot
             there in the lower triangle
    """

    slices: Slices
    columns: PackedColumns
    numbers: Any

    @staticmethod
    def of(indptr: Any, columns: Any, numbers: Any, order: Any) -> "UpperTriangle":
        """Scatter columns and numbers, which are in row order, to their slots; `order` as of the lower triangle."""
        xp, lengths = array_module(indptr), indptr[1:] - indptr[:-1]
        slices = replace(_slices(lengths if order is None else lengths[order]), order=order)
        places = None if order is None else inverse(order)

        def entries() -> Iterator[tuple[Any, Any]]:
            for part, slots in slices.slots(indptr):
                yield slots, columns[part] if places is None else places[columns[part]]

        packed = PackedColumns.pack(slices.offsets, entries)
        stored = xp.zeros(slices.size, dtype=numbers.dtype)
        for part, slots in slices.slots(indptr):
            stored[slots] = numbers[part]
        return UpperTriangle(_stored(slices, numbers.dtype), packed, stored)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.slices.nbytes + self.columns.nbytes + int(self.numbers.nbytes)


@dataclass(frozen=True, slots=True)
class SymmetricLayout:
    """The lower triangle with its diagonal, and where the rows find the nonzeros above it.

    sign   a_ji = sign · a_ij: 1 for a symmetric matrix, −1 for a skew-symmetric one
    ranks  uint8 [n_rows], the row at each place by its number in the WINDOW of the place; None where it is the place
    """

    sign: int
    indptr_dtype: Any
    ranks: Any
    lower: PackedSellpLayout
    upper: UpperTriangle

    @staticmethod
    def from_csr(matrix: CsrMatrix) -> "SymmetricLayout":
        """Store the lower triangle; raises ParameterError if the matrix is neither symmetric nor skew-symmetric."""
        lower, upper, order = triangles.split(matrix)
        xp = array_module(matrix.indices)
        row = row_of_entries(lower)
        below = xp.flatnonzero(lower.indices < row)
        sign = triangles.sign(lower, row, below, upper, order)
        longest = max(max_row_length(lower), max_row_length(upper))
        numbers = xp.empty(order.size, dtype=xp.uint8 if longest <= SHORT_MAX else xp.int32)
        numbers[order] = below - lower.indptr[row[below]]
        del row, below, order
        packed = PackedSellpLayout.from_csr(lower, ROWS, _sigma(row_lengths(lower)))
        rows = packed.slices.order
        packed = replace(packed, slices=_stored(packed.slices, numbers.dtype))
        del lower
        triangle = UpperTriangle.of(upper.indptr, upper.indices, numbers, rows)
        ranks = None if rows is None else (rows % WINDOW).astype(xp.uint8)
        return SymmetricLayout(sign, matrix.indptr.dtype, ranks, packed, triangle)

    def to_csr(self) -> CsrMatrix:
        """Mirror the lower triangle."""
        slices = replace(self.lower.slices, order=self._rows())
        lower = replace(self.lower, slices=slices).to_csr()
        xp = array_module(lower.indices)
        row = row_of_entries(lower)
        below = lower.indices < row
        rows = xp.concatenate([row, lower.indices[below]])
        # Of each row first the lower triangle, then what lies right of the diagonal, by ascending columns.
        order = xp.argsort(rows, kind="stable")
        indices = xp.concatenate([lower.indices, row[below]])[order]
        values = xp.concatenate([lower.values, self.sign * lower.values[below]])[order]
        indptr = pointers(xp.bincount(rows, minlength=lower.n_rows), self.indptr_dtype)
        return CsrMatrix(lower.n_rows, lower.n_cols, indptr, indices, values)

    def _rows(self) -> Any:
        """Return the row at each place: int32 [n_rows]; None where it is the row itself."""
        if self.ranks is None:
            return None
        xp = array_module(self.ranks)
        return xp.arange(self.ranks.size, dtype=xp.int32) // WINDOW * WINDOW + self.ranks

    @property
    def stored_bytes(self) -> int:
        """The lower triangle, columns and numbers of the upper one, and ranks."""
        return self.lower.stored_bytes + self.upper.nbytes + (0 if self.ranks is None else int(self.ranks.nbytes))


def _sigma(lengths: Any) -> int:
    """Return the window in which rows of these lengths are sorted: WINDOW, or 1 if that would save little padding."""
    slots = (1 + PADDING_MAX) * int(lengths.sum(dtype=np.int64))
    return WINDOW if _slices(lengths).size > slots else 1


def _slices(lengths: Any, sigma: int = 1) -> Slices:
    """Return slices of rows of these lengths."""
    n = int(lengths.size)
    return Slices.of(CsrMatrix(n, n, pointers(lengths, np.int64), lengths, lengths), ROWS, sigma)


def _stored(slices: Slices, kind: Any) -> Slices:
    """Return the slices without their order, with lengths of a dtype."""
    return replace(slices, lengths=slices.lengths.astype(kind), order=None)


def _bytes_needed(matrix: CsrMatrix) -> int:
    """At most: nothing packs."""
    if matrix.n_rows != matrix.n_cols:
        return matrix.stored_bytes
    xp = array_module(matrix.indices)
    lengths = xp.zeros(matrix.n_rows, dtype=xp.int64)
    for entries, row, _ in entry_blocks(matrix.indptr):
        lengths += xp.bincount(row[matrix.indices[entries] <= row], minlength=matrix.n_rows)
    above = matrix.indptr[1:] - matrix.indptr[:-1] - lengths
    order = _slices(lengths, _sigma(lengths)).order
    total = 8 * packing.CODES + (0 if order is None else matrix.n_rows)
    for part, slot_bytes in ((lengths, 12), (above, 8)):
        slices = _slices(part if order is None else part[order])
        total += slices.nbytes + slot_bytes * slices.size + 12 * (slices.offsets.size - 1)
    return total


def _moved(layout: SymmetricLayout) -> int:
    """Narrow columns at best; padded slots are not read."""
    above = int(layout.upper.slices.lengths.sum(dtype=np.int64))
    values = packing.value_bytes(layout.lower.stored, layout.lower.table)
    used = layout.lower.nnz * (2 + values) + above * (2 + int(layout.upper.numbers.dtype.itemsize))
    return int(layout.lower.slices.nbytes + layout.upper.slices.nbytes) + used


def _cuda(lanes: int, layout: SymmetricLayout) -> Launch:
    lower, upper = layout.lower, layout.upper
    n_rows = int(lower.slices.lengths.size)
    size = packing.value_bytes(lower.stored, lower.table)
    name = f"symmetric<{lanes}, {AHEAD}, {size}, {NUMBERS[upper.numbers.dtype.itemsize]}>"
    arrays = (lower.slices.offsets, lower.slices.lengths, *lower.columns.arrays, lower.stored, lower.table)
    mirrored = (upper.slices.lengths, upper.slices.offsets, *upper.columns.arrays, upper.numbers)
    ranks = np.uint64(0) if layout.ranks is None else layout.ranks
    arguments = (np.int32(n_rows), np.float64(layout.sign), ranks, *arrays, *mirrored)
    blocks = -(-n_rows // (BLOCK // lanes))
    return launch(SOURCE, name, blocks, BLOCK, arguments, shared_mem=8 * BLOCK if lanes > 1 else 0)


@numba.njit(cache=True)
def _row_at(ranks: Any, place: Any) -> Any:
    """Return the row at a place in storage order; without ranks the place itself."""
    return np.int64(place) // 256 * 256 + np.int64(ranks[place]) if ranks.size else np.int64(place)


@numba.njit(parallel=True, cache=True)
def _multiply(
    sign: int,
    ranks: Any,
    offsets: Any,
    lengths: Any,
    bases: Any,
    places: Any,
    narrow: Any,
    wide: Any,
    stored: Any,
    table: Any,
    size: int,
    upper_offsets: Any,
    upper_lengths: Any,
    upper_bases: Any,
    upper_places: Any,
    upper_narrow: Any,
    upper_wide: Any,
    numbers: Any,
    x: Any,
    y: Any,
) -> None:
    """Row by row: first the nonzeros of the lower triangle, then those above the diagonal from the rows below."""
    for row in numba.prange(lengths.size):
        number, lane = row // 32, row % 32
        begin, total = offsets[number], 0.0
        base, shift = bases[number], places[number] - begin
        for slot in range(lengths[row]):
            place = begin + slot * 32 + lane
            column = base + narrow[shift + place] if base >= 0 else wide[shift + place]
            factor = table[0] if size == 0 else table[int(stored[place])] if size == 1 else stored[place]
            total += factor * x[column]
        begin, above = upper_offsets[number], 0.0
        base, shift = upper_bases[number], upper_places[number] - begin
        for slot in range(upper_lengths[row]):
            place = begin + slot * 32 + lane
            column = base + upper_narrow[shift + place] if base >= 0 else upper_wide[shift + place]
            mirror = offsets[column // 32] + np.int64(numbers[place]) * 32 + column % 32
            factor = table[0] if size == 0 else table[int(stored[mirror])] if size == 1 else stored[mirror]
            above += factor * x[_row_at(ranks, column)]
        y[_row_at(ranks, row)] = total + sign * above


def _cpu(layout: SymmetricLayout, x: Any, y: Any) -> None:
    lower, upper = layout.lower, layout.upper
    size = packing.value_bytes(lower.stored, lower.table)
    ranks = np.empty(0, np.uint8) if layout.ranks is None else layout.ranks
    triangle = (lower.slices.offsets, lower.slices.lengths, *lower.columns.arrays, lower.stored, lower.table, size)
    mirrored = (upper.slices.offsets, upper.slices.lengths, *upper.columns.arrays, upper.numbers)
    _multiply(layout.sign, ranks, *triangle, *mirrored, x, y)


FORMAT = Format(
    name="symmetric",
    title="Symmetric half storage",
    summary="The lower triangle of a symmetric or skew-symmetric matrix as compressed SELL-P.",
    bytes_needed=_bytes_needed,
    from_csr=SymmetricLayout.from_csr,
    kernels=tuple(
        Kernel(
            f"t{lanes}",
            f"{threads_text(lanes)}; nonzeros above the diagonal are read from the rows below.",
            _cpu if lanes == 1 else None,
            partial(_cuda, lanes),
            SOURCE,
            moved_bytes=_moved,
        )
        for lanes in LANES
    ),
    compressed=True,
    symmetric_only=True,
)
