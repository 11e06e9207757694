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
from gpu_engine.errors import ParameterError
from gpu_engine.formats import packing
from gpu_engine.formats.base import (
    Format,
    Kernel,
    Launch,
    array_module,
    entry_blocks,
    launch,
    max_row_length,
    pointers,
    row_of_entries,
)
from gpu_engine.formats.packing import PackedColumns
from gpu_engine.formats.sellp import PackedSellpLayout, Slices
from gpu_engine.host.jit import numba

ROWS, BLOCK, AHEAD = 32, 128, 4
"""Rows per slice, threads per block, and slots in flight."""

LANES = (1, 2, 4)
NUMBERS = {1: "unsigned char", 4: "int"}
"""Bytes of a length and of the number of a slot → their C++ type."""

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

    columns  of the slots; numbers: uint8 or int32 [slots], the number of the slot in row `column` of the lower triangle
    """

    slices: Slices
    columns: PackedColumns
    numbers: Any

    @staticmethod
    def of(indptr: Any, columns: Any, numbers: Any, kind: Any) -> "UpperTriangle":
        """Scatter columns and numbers, which are in row order, to their slots; `kind` is the dtype of numbers."""
        xp, n = array_module(indptr), indptr.size - 1
        slices = Slices.of(CsrMatrix(n, n, indptr, columns, numbers), ROWS, 1)

        def entries() -> Iterator[tuple[Any, Any]]:
            for part, slots in slices.slots(indptr):
                yield slots, columns[part]

        packed = PackedColumns.pack(slices.offsets, entries)
        stored = xp.zeros(slices.size, dtype=kind)
        for part, slots in slices.slots(indptr):
            stored[slots] = numbers[part]
        return UpperTriangle(_with_lengths(slices, kind), packed, stored)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.slices.nbytes + self.columns.nbytes + int(self.numbers.nbytes)


@dataclass(frozen=True, slots=True)
class SymmetricLayout:
    """The lower triangle with its diagonal, and where the rows find the nonzeros above it.

    sign  a_ji = sign · a_ij: 1 for a symmetric matrix, −1 for a skew-symmetric one
    """

    sign: int
    indptr_dtype: Any
    lower: PackedSellpLayout
    upper: UpperTriangle

    @staticmethod
    def from_csr(matrix: CsrMatrix) -> "SymmetricLayout":
        """Store the lower triangle; raises ParameterError if the matrix is neither symmetric nor skew-symmetric."""
        if matrix.n_rows != matrix.n_cols:
            raise ParameterError(
                f"Not applicable: the matrix is {matrix.n_rows} × {matrix.n_cols}; half storage needs a square one."
            )
        lower, upper, order = _triangles(matrix)
        xp = array_module(matrix.indices)
        row = row_of_entries(lower)
        below = xp.flatnonzero(lower.indices < row)
        sign = _sign(lower, row, below, upper, order)
        numbers = xp.empty(order.size, dtype=xp.int32)
        numbers[order] = below - lower.indptr[row[below]]
        del row, below, order
        longest = max(max_row_length(lower), max_row_length(upper))
        kind = np.dtype(np.uint8 if longest <= SHORT_MAX else np.int32)
        triangle = UpperTriangle.of(upper.indptr, upper.indices, numbers, kind)
        del upper, numbers
        packed = PackedSellpLayout.from_csr(lower, ROWS, 1)
        packed = replace(packed, slices=_with_lengths(packed.slices, kind))
        return SymmetricLayout(sign, matrix.indptr.dtype, packed, triangle)

    def to_csr(self) -> CsrMatrix:
        """Mirror the lower triangle."""
        lower = self.lower.to_csr()
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

    @property
    def stored_bytes(self) -> int:
        """The lower triangle, and columns and numbers of the upper one."""
        return self.lower.stored_bytes + self.upper.nbytes


def _with_lengths(slices: Slices, kind: Any) -> Slices:
    """Return the slices with lengths of a dtype."""
    return replace(slices, lengths=slices.lengths.astype(kind))


def _triangles(matrix: CsrMatrix) -> tuple[CsrMatrix, CsrMatrix, Any]:
    """Return (lower triangle with the diagonal, strictly upper triangle, order of the latter by columns)."""
    xp = array_module(matrix.indices)
    row = row_of_entries(matrix)
    is_lower = matrix.indices <= row
    parts = []
    for mask in (is_lower, ~is_lower):
        indptr = pointers(xp.bincount(row[mask], minlength=matrix.n_rows), matrix.indptr.dtype)
        parts.append(CsrMatrix(matrix.n_rows, matrix.n_cols, indptr, matrix.indices[mask], matrix.values[mask]))
    lower, upper = parts
    return lower, upper, xp.argsort(upper.indices, kind="stable")


def _sign(lower: CsrMatrix, row: Any, below: Any, upper: CsrMatrix, order: Any) -> int:
    """Return 1 or −1; raises ParameterError unless the upper triangle in this order mirrors the lower one, bit for bit.

    row    of each nonzero of the lower triangle; below: positions of those below the diagonal
    """
    xp = array_module(row)
    if below.size == order.size and bool(
        (upper.indices[order] == row[below]).all() and (row_of_entries(upper)[order] == lower.indices[below]).all()
    ):
        values, mirrored = lower.values[below], upper.values[order]
        if bool((values.view(xp.int64) == mirrored.view(xp.int64)).all()):
            return 1
        diagonal = lower.values[lower.indices == row]
        if bool(((-values).view(xp.int64) == mirrored.view(xp.int64)).all() and (diagonal == 0.0).all()):
            return -1
        what = "values differ"
    else:
        what = "patterns differ"
    raise ParameterError(
        f"Not applicable: the matrix is neither symmetric nor skew-symmetric (the {what}). Choose another format."
    )


def _bytes_needed(matrix: CsrMatrix) -> int:
    """At most: nothing packs."""
    if matrix.n_rows != matrix.n_cols:
        return matrix.stored_bytes
    xp = array_module(matrix.indices)
    lengths = xp.zeros(matrix.n_rows, dtype=xp.int64)
    for entries, row, _ in entry_blocks(matrix.indptr):
        lengths += xp.bincount(row[matrix.indices[entries] <= row], minlength=matrix.n_rows)
    total = 8 * packing.CODES
    for part, slot_bytes in ((lengths, 12), (matrix.indptr[1:] - matrix.indptr[:-1] - lengths, 8)):
        indptr = pointers(part, xp.int64)
        slices = Slices.of(CsrMatrix(matrix.n_rows, matrix.n_cols, indptr, part, part), ROWS, 1)
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
    arguments = (np.int32(n_rows), np.float64(layout.sign), *arrays, *mirrored)
    blocks = -(-n_rows // (BLOCK // lanes))
    return launch(SOURCE, name, blocks, BLOCK, arguments, shared_mem=8 * BLOCK if lanes > 1 else 0)


@numba.njit(parallel=True, cache=True)
def _slices(
    sign: int,
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
            above += factor * x[column]
        y[row] = total + sign * above


def _cpu(layout: SymmetricLayout, x: Any, y: Any) -> None:
    lower, upper = layout.lower, layout.upper
    size = packing.value_bytes(lower.stored, lower.table)
    triangle = (lower.slices.offsets, lower.slices.lengths, *lower.columns.arrays, lower.stored, lower.table, size)
    mirrored = (upper.slices.offsets, upper.slices.lengths, *upper.columns.arrays, upper.numbers)
    _slices(layout.sign, *triangle, *mirrored, x, y)


def _threads(lanes: int) -> str:
    return f"{lanes} threads per row" if lanes > 1 else "One thread per row"


FORMAT = Format(
    name="symmetric",
    title="Symmetric half storage",
    summary="The lower triangle of a symmetric or skew-symmetric matrix as compressed SELL-P.",
    bytes_needed=_bytes_needed,
    from_csr=SymmetricLayout.from_csr,
    kernels=tuple(
        Kernel(
            f"t{lanes}",
            f"{_threads(lanes)}; nonzeros above the diagonal are read from the rows below.",
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
