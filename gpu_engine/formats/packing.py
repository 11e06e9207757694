"""Lossless packing: columns as 16-bit offsets within a part of the matrix, values as codes, floats or one constant."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.formats.base import array_module, blocks
from gpu_engine.matrices.features import NARROW_SPAN

WIDE = -1
CODES = 2**8
"""Maximum number of distinct values in a table."""

Entries = Callable[[], Iterable[tuple[Any, Any]]]
"""Function that yields (slot, column) of all nonzeros, block by block."""


@dataclass(frozen=True, slots=True)
class PackedColumns:
    """Compressed columns of a layout that is a sequence of slots in parts; unused slots hold anything.

    borders  integers [parts + 1], the slot where each part begins
    bases    int32 [parts], the smallest column of a narrow part (its columns span less than NARROW_SPAN), WIDE else
    places   int64 [parts], where its columns begin in `narrow` or `wide`
    narrow   uint16, column − base; wide  int32, the columns themselves; one element per slot
    """

    borders: Any
    bases: Any
    places: Any
    narrow: Any
    wide: Any

    @staticmethod
    def pack(borders: Any, entries: Entries) -> "PackedColumns":
        """Pack the columns in two passes: the span of each part's columns, then the columns."""
        xp = array_module(borders)
        borders = borders.astype(xp.int64)
        parts = borders.size - 1
        low, high = xp.full(parts, np.iinfo(np.int32).max, dtype=xp.int32), xp.zeros(parts, dtype=xp.int32)
        for slot, column in entries():
            part = xp.searchsorted(borders, slot, side="right") - 1
            xp.minimum.at(low, part, column)
            xp.maximum.at(high, part, column)
        is_narrow = high - low < NARROW_SPAN
        sizes = xp.diff(borders)
        reached = [xp.cumsum(xp.where(kind, sizes, 0)) for kind in (is_narrow, ~is_narrow)]
        places = xp.where(is_narrow, *reached) - sizes
        narrow, wide = (
            xp.zeros(int(r[-1]) if parts else 0, dtype=kind)
            for r, kind in zip(reached, (xp.uint16, xp.int32), strict=True)
        )
        bases = xp.where(is_narrow, xp.minimum(low, high), WIDE).astype(xp.int32)
        packed = PackedColumns(borders, bases, places, narrow, wide)
        for slot, column in entries():
            part, place = packed._find(slot)
            inside = is_narrow[part]
            narrow[place[inside]] = column[inside] - bases[part[inside]]
            wide[place[~inside]] = column[~inside]
        return packed

    def at(self, slot: Any) -> Any:
        """Return the columns of the slots: int32."""
        xp = array_module(slot)
        part, place = self._find(slot)
        columns = xp.empty(slot.size, dtype=xp.int32)
        inside = self.bases[part] != WIDE
        columns[inside] = self.bases[part[inside]] + self.narrow[place[inside]].astype(xp.int32)
        columns[~inside] = self.wide[place[~inside]]
        return columns

    def _find(self, slot: Any) -> tuple[Any, Any]:
        """Return (part, place among its kind) of slots."""
        part = array_module(slot).searchsorted(self.borders, slot, side="right") - 1
        return part, self.places[part] + slot - self.borders[part]

    @property
    def arrays(self) -> tuple[Any, Any, Any, Any]:
        """(bases, places, narrow, wide), in the order of the kernels' arguments."""
        return self.bases, self.places, self.narrow, self.wide

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays but the borders, which the layout holds."""
        return sum(int(array.nbytes) for array in self.arrays)


def pack_values(values: Any) -> tuple[Any, Any]:
    """Return (stored, table): the values, bit for bit, in the fewest bytes of the kinds below.

    stored  uint8 [0] where all are table[0]; uint8 [nnz] of codes into the table of at most CODES values; float32 [nnz]
            where each is a float; else float64 [nnz], the array itself
    table   float64 [at least 1]
    """
    xp = array_module(values)
    distinct = _few_distinct(values.view(xp.int64))
    if distinct is not None:
        table = distinct.view(xp.float64)
        if table.size == 1:
            return xp.empty(0, dtype=xp.uint8), table
        stored = xp.empty(values.size, dtype=xp.uint8)
        for block in blocks(values.size):
            stored[block] = xp.searchsorted(distinct, values[block].view(xp.int64))
        return stored, table
    if all(_are_floats(values[block]) for block in blocks(values.size)):
        return values.astype(xp.float32), xp.zeros(1)
    return values, xp.zeros(1)


def unpack_values(stored: Any, table: Any, entries: int) -> Any:
    """Return the values that `pack_values` packed: float64 [entries]."""
    xp = array_module(table)
    if stored.dtype == xp.uint8:
        return table[stored] if table.size > 1 else xp.full(entries, table[0])
    return stored.astype(xp.float64)


def value_bytes(stored: Any, table: Any) -> int:
    """Return the bytes per stored value: 8, 4, 1 (a code), or 0 (a constant)."""
    return 0 if stored.dtype == np.uint8 and table.size == 1 else int(stored.dtype.itemsize)


def _are_floats(values: Any) -> bool:
    """Return whether a float32 holds each of the values exactly."""
    xp = array_module(values)
    largest = np.finfo(np.float32).max
    return bool((xp.abs(values) <= largest).all()) and bool((values == values.astype(xp.float32)).all())


def _few_distinct(bits: Any) -> Any | None:
    """Return the distinct bit patterns, ascending, if there are 1 to CODES; else None, mostly after the first block."""
    xp = array_module(bits)
    distinct = xp.empty(0, dtype=bits.dtype)
    # NumPy finds distinct values by hashing, which takes seconds for a block of which each is another.
    for block in (slice(8 * CODES), *blocks(bits.size)):
        distinct = xp.unique(xp.concatenate([distinct, xp.unique(bits[block])]))
        if distinct.size > CODES:
            return None
    return distinct if distinct.size else None
