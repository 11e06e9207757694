"""SELL-P (SELL-C-σ): slices of C rows, each padded to its own longest row and stored column by column.

Rows may be sorted by length within windows of σ rows: a slice then has rows of similar length, and x is still read near
by. Best on stencils and finite elements: neighboring lanes read neighboring x. `sellp-packed` has 16-bit columns and
values in 8, 4, 1 or 0 bytes as `packed`. Source: Kreutzer et al., SIAM J. Sci. Comput. 36 (2014); threads per row
after Anzt, Tomov and Dongarra (MAGMA). Unlike there, row lengths are stored and padding is not read.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats import packing
from gpu_engine.formats.base import (
    Format,
    Kernel,
    Launch,
    array_module,
    entry_blocks,
    inverse,
    launch,
    pointers,
    row_lengths,
)
from gpu_engine.formats.packing import PackedColumns
from gpu_engine.host.jit import numba

SLICES = (32, 64)
AHEAD = {1: 8, 2: 8, 4: 4, 8: 2, 16: 2, 32: 2}
"""Entries in flight by threads per row: the fastest of 2, 4 and 8 on an H200."""

PACKED_AHEAD = 4

PACKED_LANES = (1, 2)
VALUE_BYTES = (8, 4, 1, 0)
SOURCE = CudaSource(
    __package__,
    "sellp.cu",
    (
        *(
            f"sellp<{rows}, {lanes}, {ahead}>"
            for rows in SLICES
            for lanes, ahead in AHEAD.items()
            if rows * lanes <= 1024
        ),
        *(f"sellp_packed<32, {lanes}, {PACKED_AHEAD}, {size}>" for lanes in PACKED_LANES for size in VALUE_BYTES),
    ),
)
BLOCK = 128


@dataclass(frozen=True, slots=True)
class Slices:
    """Slices of a matrix and the order of their rows; arrays on the device of the matrix.

    rows     rows per slice
    offsets  int64 [slices + 1], the first slot of each slice
    lengths  int32 [n_rows], entries of the rows in storage order
    order    int32 [n_rows], the row at each place; None where it is the row itself
    """

    rows: int
    offsets: Any
    lengths: Any
    order: Any

    @staticmethod
    def of(matrix: CsrMatrix, rows: int, sigma: int) -> "Slices":
        """Return slices of `rows` rows, sorted by length, longest first, within windows of σ rows."""
        xp = array_module(matrix.indptr)
        lengths = row_lengths(matrix)
        order = _sorted(lengths, sigma) if sigma > 1 else None
        lengths = lengths if order is None else lengths[order]
        padded = xp.zeros(-(-matrix.n_rows // rows) * rows, dtype=xp.int32)
        padded[: matrix.n_rows] = lengths
        widths = padded.reshape(-1, rows).max(axis=1) if padded.size else padded
        return Slices(rows, pointers(widths.astype(xp.int64) * rows, xp.int64), lengths, order)

    def slots(self, matrix_indptr: Any) -> Iterator[tuple[slice, Any]]:
        """Yield (entries of the matrix, int64 slots where they lie), block by block."""
        places = None if self.order is None else inverse(self.order)
        for entries, row, slot in entry_blocks(matrix_indptr):
            place = row if places is None else places[row]
            yield entries, self.offsets[place // self.rows] + slot.astype(np.int64) * self.rows + place % self.rows

    def indptr(self, dtype: Any) -> Any:
        """Return the row pointers of the matrix."""
        return pointers(self.lengths if self.order is None else self.lengths[inverse(self.order)], dtype)

    @property
    def size(self) -> int:
        """Slots, padding included."""
        return int(self.offsets[-1])

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return int(self.offsets.nbytes + self.lengths.nbytes + (0 if self.order is None else self.order.nbytes))


@dataclass(frozen=True, slots=True)
class SellpLayout:
    """Plain slots: columns int32 [slots], values float64 [slots]; what is padded holds 0 and is not read."""

    n_cols: int
    indptr_dtype: Any
    slices: Slices
    columns: Any
    values: Any

    @staticmethod
    def from_csr(matrix: CsrMatrix, rows: int, sigma: int) -> "SellpLayout":
        """Scatter each entry to its slot."""
        xp = array_module(matrix.indices)
        slices = Slices.of(matrix, rows, sigma)
        columns, values = xp.zeros(slices.size, dtype=xp.int32), xp.zeros(slices.size)
        for entries, slots in slices.slots(matrix.indptr):
            columns[slots], values[slots] = matrix.indices[entries], matrix.values[entries]
        return SellpLayout(matrix.n_cols, matrix.indptr.dtype, slices, columns, values)

    def to_csr(self) -> CsrMatrix:
        """Gather the entries row by row."""
        return _to_csr(self.slices, self.n_cols, self.indptr_dtype, lambda s: self.columns[s], lambda s: self.values[s])

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_cols)."""
        return int(self.slices.lengths.size), self.n_cols

    @property
    def stored_bytes(self) -> int:
        """12 bytes per slot and the arrays of the slices."""
        return self.slices.nbytes + int(self.columns.nbytes + self.values.nbytes)


@dataclass(frozen=True, slots=True)
class PackedSellpLayout:
    """Packed slots: columns by slice; values of one kind, [slots] or, for a constant, none."""

    n_cols: int
    nnz: int
    indptr_dtype: Any
    slices: Slices
    columns: PackedColumns
    stored: Any
    table: Any

    @staticmethod
    def from_csr(matrix: CsrMatrix, rows: int, sigma: int) -> "PackedSellpLayout":
        """Pack the values, scatter them, and pack the columns of each slice."""
        xp = array_module(matrix.indices)
        slices = Slices.of(matrix, rows, sigma)

        def columns() -> Iterator[tuple[Any, Any]]:
            for entries, slots in slices.slots(matrix.indptr):
                yield slots, matrix.indices[entries]

        codes, table = packing.pack_values(matrix.values)
        stored = xp.zeros(slices.size if codes.size else 0, dtype=codes.dtype)
        if codes.size:
            for entries, slots in slices.slots(matrix.indptr):
                stored[slots] = codes[entries]
        packed = PackedColumns.pack(slices.offsets, columns)
        return PackedSellpLayout(matrix.n_cols, matrix.nnz, matrix.indptr.dtype, slices, packed, stored, table)

    def to_csr(self) -> CsrMatrix:
        """Unpack the entries row by row."""

        def values(slots: Any) -> Any:
            stored = self.stored[slots] if self.stored.size else self.stored
            return packing.unpack_values(stored, self.table, slots.size)

        return _to_csr(self.slices, self.n_cols, self.indptr_dtype, self.columns.at, values)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_cols)."""
        return int(self.slices.lengths.size), self.n_cols

    @property
    def stored_bytes(self) -> int:
        """Packed slots and the arrays of the slices."""
        return self.slices.nbytes + self.columns.nbytes + int(self.stored.nbytes + self.table.nbytes)


def _sorted(lengths: Any, sigma: int) -> Any:
    """Return the row at each place: by length, longest first, within windows of σ rows, equal ones in their order."""
    xp = array_module(lengths)
    window = xp.arange(lengths.size, dtype=xp.int64) // sigma
    longest = int(lengths.max()) if lengths.size else 0
    return xp.argsort(window * (longest + 1) + (longest - lengths), kind="stable").astype(xp.int32)


def _to_csr(
    slices: Slices, n_cols: int, dtype: Any, columns: Callable[..., Any], values: Callable[..., Any]
) -> CsrMatrix:
    xp = array_module(slices.offsets)
    indptr = slices.indptr(dtype)
    nnz = int(indptr[-1])
    indices, numbers = xp.empty(nnz, dtype=xp.int32), xp.empty(nnz)
    for entries, slots in slices.slots(indptr):
        indices[entries], numbers[entries] = columns(slots), values(slots)
    return CsrMatrix(int(slices.lengths.size), n_cols, indptr, indices, numbers)


def _launch(name: str, slices: Slices, lanes: int, arguments: tuple[Any, ...]) -> Launch:
    n_slices = slices.offsets.size - 1
    block = max(BLOCK, slices.rows * lanes)
    blocks = -(-n_slices // (block // (slices.rows * lanes)))
    sizes = np.int32(slices.lengths.size), np.int32(n_slices)
    order = np.uint64(0) if slices.order is None else slices.order
    arguments = (*sizes, slices.offsets, slices.lengths, order, *arguments)
    return launch(SOURCE, name, blocks, block, arguments, shared_mem=8 * block if lanes > 1 else 0)


def _plain(lanes: int, layout: SellpLayout) -> Launch:
    name = f"sellp<{layout.slices.rows}, {lanes}, {AHEAD[lanes]}>"
    return _launch(name, layout.slices, lanes, (layout.columns, layout.values))


def _packed(lanes: int, layout: PackedSellpLayout) -> Launch:
    size = packing.value_bytes(layout.stored, layout.table)
    name = f"sellp_packed<{layout.slices.rows}, {lanes}, {PACKED_AHEAD}, {size}>"
    return _launch(name, layout.slices, lanes, (*layout.columns.arrays, layout.stored, layout.table))


@numba.njit(parallel=True, cache=True)
def _slices(rows: int, offsets: Any, lengths: Any, order: Any, columns: Any, values: Any, x: Any, y: Any) -> None:
    """Slot by slot over the rows of a slice, whose sums stay in a buffer."""
    for number in numba.prange(offsets.size - 1):
        first = number * rows
        count = min(rows, lengths.size - first)
        sums = np.zeros(rows)
        width = (offsets[number + 1] - offsets[number]) // rows
        for slot in range(width):
            begin = offsets[number] + slot * rows
            for row in range(count):
                if slot < lengths[first + row]:
                    sums[row] += values[begin + row] * x[columns[begin + row]]
        for row in range(count):
            y[order[first + row] if order.size else first + row] = sums[row]


def _cpu(layout: SellpLayout, x: Any, y: Any) -> None:
    s = layout.slices
    order = np.empty(0, np.int32) if s.order is None else s.order
    _slices(s.rows, s.offsets, s.lengths, order, layout.columns, layout.values, x, y)


@numba.njit(parallel=True, cache=True)
def _packed_slices(
    rows: int,
    offsets: Any,
    lengths: Any,
    bases: Any,
    places: Any,
    narrow: Any,
    wide: Any,
    stored: Any,
    table: Any,
    size: int,
    x: Any,
    y: Any,
) -> None:
    """Slot by slot over the rows of a slice, each slot unpacked."""
    for number in numba.prange(offsets.size - 1):
        first = number * rows
        count = min(rows, lengths.size - first)
        sums = np.zeros(rows)
        base, shift = bases[number], places[number] - offsets[number]
        width = (offsets[number + 1] - offsets[number]) // rows
        for slot in range(width):
            for row in range(count):
                if slot < lengths[first + row]:
                    place = offsets[number] + slot * rows + row
                    column = base + narrow[shift + place] if base >= 0 else wide[shift + place]
                    factor = table[0] if size == 0 else table[int(stored[place])] if size == 1 else stored[place]
                    sums[row] += factor * x[column]
        for row in range(count):
            y[first + row] = sums[row]


def _cpu_packed(layout: PackedSellpLayout, x: Any, y: Any) -> None:
    s = layout.slices
    size = packing.value_bytes(layout.stored, layout.table)
    _packed_slices(s.rows, s.offsets, s.lengths, *layout.columns.arrays, layout.stored, layout.table, size, x, y)


def _moved_packed(layout: PackedSellpLayout) -> int:
    """Narrow columns at best, and values; padded slots are not read."""
    used = layout.nnz * (2 + packing.value_bytes(layout.stored, layout.table))
    return int(layout.slices.nbytes + used)


def _moved(layout: Any) -> int:
    """Padded slots are not read."""
    used = int(layout.slices.lengths.sum(dtype=np.int64))
    return int(layout.slices.nbytes) + 12 * used


def threads_text(lanes: int) -> str:
    """Return how many threads a row has, in words."""
    return f"{lanes} threads per row" if lanes > 1 else "One thread per row"


def _format(name: str, title: str, rows: int, sigma: int, lanes: tuple[int, ...]) -> Format:
    return Format(
        name=name,
        title=title,
        summary=f"Slices of {rows} rows, each padded to its longest"
        + (f"; sorted within {sigma}." if sigma > 1 else "."),
        bytes_needed=lambda m: (s := Slices.of(m, rows, sigma)).nbytes + 12 * s.size,
        from_csr=partial(SellpLayout.from_csr, rows=rows, sigma=sigma),
        kernels=tuple(
            Kernel(
                f"t{n}", f"{threads_text(n)}.", _cpu if n == 1 else None, partial(_plain, n), SOURCE, moved_bytes=_moved
            )
            for n in lanes
        ),
    )


SELLP = _format("sellp", "SELL-P (sliced ELLPACK)", 32, 1, (1, 2, 4, 8, 16, 32))
SLICE_64 = _format("sellp-64", "SELL-P of 64 rows", 64, 1, (1,))
SORTED = _format("sellp-sorted", "SELL-C-σ (sorted slices)", 32, 256, (1, 2))
PACKED = Format(
    name="sellp-packed",
    title="Compressed SELL-P",
    summary="SELL-P with 16-bit columns if these lie close together, and values as floats, codes, or a constant.",
    bytes_needed=lambda m: (
        (s := Slices.of(m, 32, 1)).nbytes + 12 * s.size + 12 * (s.offsets.size - 1) + 8 * packing.CODES
    ),
    from_csr=partial(PackedSellpLayout.from_csr, rows=32, sigma=1),
    kernels=tuple(
        Kernel(
            f"t{n}",
            f"{threads_text(n)}, decompressing while reading.",
            _cpu_packed if n == 1 else None,
            partial(_packed, n),
            SOURCE,
            moved_bytes=_moved_packed,
        )
        for n in PACKED_LANES
    ),
    compressed=True,
)
FORMATS = (SELLP, SLICE_64, SORTED, PACKED)
