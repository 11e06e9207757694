"""Lossless compression of the chunks of a matrix, on all cores of the host.

Columns become 16- or 24-bit offsets from the smallest column of their packing block, values become codes into a table.
The widths are guessed from a few packing blocks and adapted to blocks that do not fit. These are sent unpacked at the
end of a chunk.
"""

from typing import Any

import numpy as np

from gpu_engine.multigpu import chunk_packing
from gpu_engine.multigpu.chunk import ENTRY_BYTES, WHOLE_COLUMN, WHOLE_VALUE, Chunk, whole_bytes, whole_chunk
from gpu_engine.multigpu.chunk_packing import COLUMNS_FAIL, PACKED, STRETCH, VALUES_FAIL
from gpu_engine.multigpu.numa import Allocate
from gpu_engine.multigpu.partition import Span, StoredMatrix

COLUMN_SPANS = {2: 2**16, 3: 2**24}
"""Bytes of a column offset → range of columns that fits."""

SAMPLED, LEARNED = 8, 4
"""Packing blocks from which the first guess is made; unfitting packing blocks per chunk that extend the table."""

FAILED_SHARE = 4
"""A chunk in which more than 1/FAILED_SHARE of the packing blocks do not fit is sent unpacked."""

ALIGNED = 16
"""Alignment of the sections of a packed chunk, in bytes."""


class Packer:
    """Compresses the chunks of one matrix one by one and adapts to them; only one host thread may call it."""

    def __init__(self, stored: StoredMatrix, staging: "Staging") -> None:
        self._columns, self._bits = stored.minor, stored.values.view(np.uint64)
        self._staging = staging
        self._column_bytes, self._table = WHOLE_COLUMN, chunk_packing.Table()
        self._guess()

    def pack(self, number: int, span: Span) -> Chunk:
        """Return a chunk, packed into the staging buffer with this number, or unpacked if packing does not pay off."""
        if not span.entries or (self._column_bytes == WHOLE_COLUMN and self._value_bytes == WHOLE_VALUE):
            return whole_chunk(span)
        table, widths = self._table.values, (self._column_bytes, self._value_bytes)
        stretches = -(-span.entries // STRETCH)
        begins = _begins(span.entries, stretches, table.size, *widths)
        if begins[-1] + whole_bytes(*widths) * span.entries >= ENTRY_BYTES * span.entries:
            return whole_chunk(span)
        room = self._staging.room(number, begins[-1] + stretches // FAILED_SHARE * STRETCH * ENTRY_BYTES)
        entries = slice(span.start, span.end)
        bases, spares = _view(room, begins[0], np.int32, stretches), _view(room, begins[1], np.int32, stretches)
        _view(room, begins[2], np.float64, table.size)[:] = table
        codes = span.entries if self._value_bytes < WHOLE_VALUE else 0
        offsets = span.entries if self._column_bytes < WHOLE_COLUMN else 0
        chunk_packing.pack(
            *(self._columns[entries], self._bits[entries], *self._table.arrays, *widths, bases, spares),
            _view(room, begins[4], np.uint16, offsets),
            _view(room, begins[5], np.uint8, offsets if self._column_bytes == 3 else 0),
            _view(room, begins[3], np.uint8, codes if self._value_bytes == 1 else 0),
            _view(room, begins[3], np.uint16, codes if self._value_bytes == 2 else 0),
        )
        failed = np.flatnonzero(spares != PACKED)
        self._learn(span, failed[spares[failed] == COLUMNS_FAIL], failed[spares[failed] == VALUES_FAIL], stretches)
        if failed.size > stretches // FAILED_SHARE:
            return whole_chunk(span)
        for spare, stretch in enumerate(failed):
            self._spare(room, begins[6], spare, int(span.start + stretch * STRETCH), span.end)
        spares[failed] = np.arange(failed.size)
        return Chunk(span, *widths, room[: begins[6] + failed.size * STRETCH * ENTRY_BYTES], begins)

    @property
    def _value_bytes(self) -> int:
        return self._table.code_bytes

    def _guess(self) -> None:
        """Guess the widths from packing blocks spread evenly over the matrix."""
        n_stretches = -(-self._columns.size // STRETCH)
        sampled = sorted({i * (n_stretches - 1) // (SAMPLED - 1) for i in range(SAMPLED)}) if n_stretches else []
        self._widen([self._stretch(0, stretch, self._columns.size) for stretch in sampled])
        for stretch in sampled:
            self._table.learn(self._bits[self._stretch(0, stretch, self._bits.size)])

    def _learn(self, span: Span, by_columns: Any, by_values: Any, stretches: int) -> None:
        if by_columns.size > stretches // FAILED_SHARE:
            self._widen([self._stretch(span.start, stretch, span.end) for stretch in by_columns])
        for stretch in by_values[:LEARNED]:
            self._table.learn(self._bits[self._stretch(span.start, stretch, span.end)])

    def _widen(self, stretches: list[slice]) -> None:
        """Choose the smallest column width that fits nearly all of the packing blocks."""
        reach = np.array([chunk_packing.reach(self._columns[stretch]) for stretch in stretches] or [2**31])
        for column_bytes, span in COLUMN_SPANS.items():
            if np.count_nonzero(reach >= span) <= reach.size // FAILED_SHARE:
                self._column_bytes = column_bytes
                return
        self._column_bytes = WHOLE_COLUMN

    @staticmethod
    def _stretch(start: int, stretch: int, end: int) -> slice:
        return slice(int(start + stretch * STRETCH), int(min(start + (stretch + 1) * STRETCH, end)))

    def _spare(self, room: Any, spares: int, number: int, begin: int, end: int) -> None:
        stretch, at = slice(int(begin), int(min(begin + STRETCH, end))), spares + number * STRETCH * ENTRY_BYTES
        size = stretch.stop - stretch.start
        _view(room, at, np.uint64, size)[:] = self._bits[stretch]
        _view(room, at + STRETCH * WHOLE_VALUE, np.int32, size)[:] = self._columns[stretch]


class Staging:
    """Host buffers for packed chunks, which devices copy at the full rate of their links."""

    def __init__(self, allocate: Allocate) -> None:
        self._allocate = allocate
        self._rooms: dict[int, Any] = {}

    def room(self, number: int, nbytes: int) -> Any:
        """Return the buffer with a number, uint8 [at least nbytes]; it is reused while it is large enough."""
        if number not in self._rooms or self._rooms[number].size < nbytes:
            self._rooms[number] = self._allocate(nbytes, np.uint8)
        return self._rooms[number]


def _begins(entries: int, stretches: int, table: int, column_bytes: int, value_bytes: int) -> tuple[int, ...]:
    codes = value_bytes if value_bytes < WHOLE_VALUE else 0
    low, high = (2, column_bytes - 2) if column_bytes < WHOLE_COLUMN else (0, 0)
    sizes = (4 * stretches, 4 * stretches, 8 * table, codes * entries, low * entries, high * entries)
    aligned = (-(-size // ALIGNED) * ALIGNED for size in sizes)
    begins = [0]
    for size in aligned:
        begins.append(begins[-1] + size)
    return tuple(begins)


def _view(room: Any, begin: int, dtype: Any, size: int) -> Any:
    return room[begin : begin + size * np.dtype(dtype).itemsize].view(dtype)
