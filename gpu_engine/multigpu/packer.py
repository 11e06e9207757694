"""Packer: the chunks of a matrix in fewer bytes, bit for bit, on all cores of the host.

Columns become 16- or 24-bit offsets from the least of their run, values codes into a table of those seen so far. What
fits is guessed from a few runs and learned from those that do not fit, which are sent as they are behind the others.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.multigpu import packed_runs
from gpu_engine.multigpu.numa import Allocate
from gpu_engine.multigpu.packed_runs import COLUMNS_FAIL, PACKED, RUN, VALUES_FAIL
from gpu_engine.multigpu.partition import Span, StoredMatrix

WHOLE_COLUMN, WHOLE_VALUE = 4, 8
"""Bytes of what is sent as it is."""

ENTRY_BYTES = WHOLE_COLUMN + WHOLE_VALUE

COLUMN_SPANS = {2: 2**16, 3: 2**24}
"""Bytes of a column → how many columns a run may reach over."""

SAMPLED_RUNS, LEARNED_RUNS = 8, 4
"""Runs of the matrix from which the first guess is made, and of a chunk that do not fit from which the next one is."""

FAILED_SHARE = 4
"""A chunk of which more than 1/FAILED_SHARE of the runs do not fit is sent as it is."""

ALIGNED = 16


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive entries of a matrix on the host, as they are sent.

    column_bytes  2 or 3 where columns are offsets; 4: they are sent as they are
    value_bytes   0 where all values are the first of the table, 1 or 2 of a code; 8: they are sent as they are
    packed        uint8, sections one behind the other; empty for a chunk that is sent as it is
    places        bytes where they begin: bases int32 [runs]; slots int32 [runs], −1 or the place among spare runs;
                  table float64; codes [entries]; low uint16 [entries], high uint8 [entries] of the offsets; spare runs,
                  each float64 [RUN], int32 [RUN]
    """

    span: Span
    column_bytes: int
    value_bytes: int
    packed: Any
    places: tuple[int, ...]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is packed."""
        return not self.packed.size

    @property
    def nbytes(self) -> int:
        """Bytes that are sent, but for row pointers."""
        whole = self.column_bytes // WHOLE_COLUMN * WHOLE_COLUMN + self.value_bytes // WHOLE_VALUE * WHOLE_VALUE
        return int(self.packed.nbytes) + whole * self.span.entries


def whole_chunk(span: Span) -> Chunk:
    """A chunk that is sent as it is."""
    return Chunk(span, WHOLE_COLUMN, WHOLE_VALUE, np.empty(0, np.uint8), (0,) * 7)


class Packer:
    """Packs chunk after chunk of one matrix, and learns on the way; one thread of the host calls."""

    def __init__(self, stored: StoredMatrix, staging: "Staging") -> None:
        self._columns, self._bits = stored.minor, stored.values.view(np.uint64)
        self._staging = staging
        self._column_bytes, self._table = WHOLE_COLUMN, packed_runs.Table()
        self._guess()

    def pack(self, number: int, span: Span) -> Chunk:
        """A chunk with so much room in `staging` that is its own by that number."""
        if not span.entries or (self._column_bytes == WHOLE_COLUMN and self._value_bytes == WHOLE_VALUE):
            return whole_chunk(span)
        table, widths, runs = self._table.values, (self._column_bytes, self._value_bytes), -(-span.entries // RUN)
        places = _places(span.entries, runs, table.size, *widths)
        if Chunk(span, *widths, np.empty(places[-1], np.uint8), places).nbytes >= ENTRY_BYTES * span.entries:
            return whole_chunk(span)
        room = self._staging.room(number, places[-1] + runs // FAILED_SHARE * RUN * ENTRY_BYTES)
        entries = slice(span.start, span.end)
        bases, slots = _view(room, places[0], np.int32, runs), _view(room, places[1], np.int32, runs)
        _view(room, places[2], np.float64, table.size)[:] = table
        codes = span.entries if self._value_bytes < WHOLE_VALUE else 0
        offsets = span.entries if self._column_bytes < WHOLE_COLUMN else 0
        packed_runs.pack(
            *(self._columns[entries], self._bits[entries], *self._table.arrays, *widths, bases, slots),
            _view(room, places[4], np.uint16, offsets),
            _view(room, places[5], np.uint8, offsets if self._column_bytes == 3 else 0),
            _view(room, places[3], np.uint8, codes if self._value_bytes == 1 else 0),
            _view(room, places[3], np.uint16, codes if self._value_bytes == 2 else 0),
        )
        failed = np.flatnonzero(slots != PACKED)
        self._learn(span, failed[slots[failed] == COLUMNS_FAIL], failed[slots[failed] == VALUES_FAIL], runs)
        if failed.size > runs // FAILED_SHARE:
            return whole_chunk(span)
        for slot, run in enumerate(failed):
            self._spare(room, places[6], slot, int(span.start + run * RUN), span.end)
        slots[failed] = np.arange(failed.size)
        return Chunk(span, *widths, room[: places[6] + failed.size * RUN * ENTRY_BYTES], places)

    @property
    def _value_bytes(self) -> int:
        return self._table.code_bytes

    def _guess(self) -> None:
        """From runs spread evenly over the matrix."""
        n_runs = -(-self._columns.size // RUN)
        sampled = sorted({i * (n_runs - 1) // (SAMPLED_RUNS - 1) for i in range(SAMPLED_RUNS)}) if n_runs else []
        self._widen([self._run(0, run, self._columns.size) for run in sampled])
        for run in sampled:
            self._table.learn(self._bits[self._run(0, run, self._bits.size)])

    def _learn(self, span: Span, by_columns: Any, by_values: Any, runs: int) -> None:
        if by_columns.size > runs // FAILED_SHARE:
            self._widen([self._run(span.start, run, span.end) for run in by_columns])
        for run in by_values[:LEARNED_RUNS]:
            self._table.learn(self._bits[self._run(span.start, run, span.end)])

    def _widen(self, runs: list[slice]) -> None:
        """The fewest bytes a column in which nearly all of the runs fit."""
        reach = np.array([packed_runs.reach(self._columns[run]) for run in runs] or [2**31])
        for column_bytes, span in COLUMN_SPANS.items():
            if np.count_nonzero(reach >= span) <= reach.size // FAILED_SHARE:
                self._column_bytes = column_bytes
                return
        self._column_bytes = WHOLE_COLUMN

    @staticmethod
    def _run(start: int, run: int, end: int) -> slice:
        return slice(int(start + run * RUN), int(min(start + (run + 1) * RUN, end)))

    def _spare(self, room: Any, place: int, slot: int, begin: int, end: int) -> None:
        run, at = slice(int(begin), int(min(begin + RUN, end))), place + slot * RUN * ENTRY_BYTES
        size = run.stop - run.start
        _view(room, at, np.uint64, size)[:] = self._bits[run]
        _view(room, at + RUN * WHOLE_VALUE, np.int32, size)[:] = self._columns[run]


class Staging:
    """Memory of the host that chunks are packed into, from which devices copy at the full rate of their links."""

    def __init__(self, allocate: Allocate) -> None:
        self._allocate = allocate
        self._rooms: dict[int, Any] = {}

    def room(self, number: int, nbytes: int) -> Any:
        """uint8 [at least nbytes], the same for the same number while it is large enough."""
        if number not in self._rooms or self._rooms[number].size < nbytes:
            self._rooms[number] = self._allocate(nbytes, np.uint8)
        return self._rooms[number]


def _places(entries: int, runs: int, table: int, column_bytes: int, value_bytes: int) -> tuple[int, ...]:
    codes = value_bytes if value_bytes < WHOLE_VALUE else 0
    low, high = (2, column_bytes - 2) if column_bytes < WHOLE_COLUMN else (0, 0)
    sizes = (4 * runs, 4 * runs, 8 * table, codes * entries, low * entries, high * entries)
    aligned = (-(-size // ALIGNED) * ALIGNED for size in sizes)
    places = [0]
    for size in aligned:
        places.append(places[-1] + size)
    return tuple(places)


def _view(room: Any, place: int, dtype: Any, size: int) -> Any:
    return room[place : place + size * np.dtype(dtype).itemsize].view(dtype)
