"""Blocks: a part of rows on its device, whole, or split into what its device owns the columns of, and the rest.

Both are copied chunk by chunk, for a part may be larger than the memory of the host.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gpu_engine.cpms import Segmented
from gpu_engine.formats.base import array_module
from gpu_engine.multigpu.base import Device, put, returned
from gpu_engine.multigpu.partition import Part, Partitioning, Span

CHUNK = 2**22
"""Entries that are split at a time, which takes some 30 bytes for each on the host."""

Room = Callable[[Device, int], Any]
"""(device, elements) → room for values there: float64, or in segments."""


@dataclass(frozen=True, slots=True)
class Block:
    """Entries of a part of rows on its device; columns are numbered by their places in the vector of the device.

    part      as `Operations.prepare` made it
    arrays    of the part but for its values: pointers or lines, columns
    values    float64, or in segments
    lines     int32, the lines that have entries, counted from the first of the part; None: all
    product   float64 [lines], for what the block gives where that is added to what another one gave
    """

    part: Any
    arrays: tuple[Any, ...]
    values: Any
    lines: Any
    product: Any

    @property
    def stored_bytes(self) -> int:
        """Of the entries and pointers, and the numbers of lines."""
        values = self.values.storage if isinstance(self.values, Segmented) else self.values
        arrays = [*self.arrays, values, *([] if self.lines is None else [self.lines])]
        return sum(int(array.nbytes) for array in arrays)


class _Filling:
    """A block that is copied piece by piece; `rows` of them have entries of their own numbers unless they are all."""

    def __init__(self, device: Device, part: Part, compressed: bool, entries: int, lines: int, room: Room) -> None:
        self._device, self._compressed, self._entries, self._lines = device, compressed, 0, 0
        self.values = room(device, entries)
        values = self.values.storage[:entries] if isinstance(self.values, Segmented) else self.values
        major = device.allocate(lines + 1 if compressed else entries, part.major.dtype)
        self.part = Part(part.span, major, device.allocate(entries, part.minor.dtype), values)
        self.lines = device.allocate(lines, np.int32)

    def add(self, piece: Part, lines: Any, count: int) -> None:
        """Copies a piece: consecutive lines, those with the numbers `rows`, or all `count`."""
        entries = slice(self._entries, self._entries + piece.values.size)
        if self._compressed:
            put(self._device, piece.major + self._entries, self.part.major[self._lines : self._lines + count + 1])
        else:
            put(self._device, piece.major + (0 if lines is None else self._lines), self.part.major[entries])
        put(self._device, piece.minor, self.part.minor[entries])
        put(self._device, piece.values, self.part.values[entries])
        if lines is not None:
            put(self._device, lines, self.lines[self._lines : self._lines + count])
        self._entries, self._lines = entries.stop, self._lines + count


def copy_blocks(
    device: Device, partitioning: Partitioning, part: Part, places: Any, n_local: int, split: bool, room: Room
) -> tuple[Block, ...]:
    """The block of a part on its device, or its diagonal and its off-diagonal block.

    places   where each column lies in the vector of the device, as `exchange.places_of` finds them
    n_local  elements of that vector
    """
    compressed = partitioning.compressed

    def pieces() -> Iterator[list[tuple[Part, Any, int]]]:
        for first, chunk in _chunks(partitioning, part):
            yield _pieces(partitioning, chunk, first, split)

    found = [[(piece.values.size, count) for piece, _, count in each] for each in pieces()]
    sizes = np.sum(found, axis=0).tolist()
    fillings = [_Filling(device, part, compressed, entries, lines, room) for entries, lines in sizes]
    for each in pieces():
        for filling, (piece, lines, count) in zip(fillings, each, strict=True):
            filling.add(Part(piece.span, piece.major, places[piece.minor], piece.values), lines, count)
    spans = [part.span, *(Span(part.span.start, part.span.end, 0, lines, start_flag=False) for _, lines in sizes[1:])]
    return tuple(
        _block(device, partitioning, filling, span, n_local, all_lines=number == 0)
        for number, (filling, span) in enumerate(zip(fillings, spans, strict=True))
    )


def _block(
    device: Device, partitioning: Partitioning, filling: _Filling, span: Span, n_local: int, all_lines: bool
) -> Block:
    part = Part(span, filling.part.major, filling.part.minor, filling.part.values)
    prepared = returned(device, device.operations.prepare, partitioning, part, n_local)
    lines = None if all_lines else filling.lines
    product = device.allocate(0 if lines is None else lines.size, np.float64)
    return Block(prepared, (part.major, part.minor), filling.values, lines, product)


def _pieces(partitioning: Partitioning, chunk: Part, first: int, split: bool) -> list[tuple[Part, Any, int]]:
    """(piece, numbers of its lines in the part or None for all, how many) of each block, of lines from `first` on."""
    count = chunk.major.size - 1 if partitioning.compressed else 0
    if not split:
        return [(chunk, None, count)]
    diagonal, off_diagonal = split_diagonal(partitioning, chunk)
    kept, lines = drop_empty_lines(partitioning, off_diagonal)
    return [(diagonal, None, count), (kept, lines + np.int32(first), int(lines.size))]


def _chunks(partitioning: Partitioning, part: Part) -> Iterator[tuple[int, Part]]:
    """(its first line, consecutive lines of a part), so many that they end with the line of another CHUNK entries."""
    xp, marks = array_module(part.major), range(CHUNK, part.values.size, CHUNK)
    if partitioning.compressed:
        cuts = xp.searchsorted(part.major, xp.asarray(marks, part.major.dtype)).tolist()
        for first, stop in pairwise([0, *cuts, part.major.size - 1]):
            major = part.major[first : stop + 1]
            begin, end = int(major[0]), int(major[-1])
            yield first, Part(part.span, major - begin, part.minor[begin:end], part.values[begin:end])
        return
    cuts = xp.searchsorted(part.major, part.major[CHUNK::CHUNK]).tolist()
    for begin, end in pairwise([0, *cuts, part.values.size]):
        yield 0, Part(part.span, *(array[begin:end] for array in (part.major, part.minor, part.values)))


def split_diagonal(partitioning: Partitioning, part: Part) -> tuple[Part, Part]:
    """The diagonal block of a part of rows, whose columns its device owns, and the off-diagonal one, all other entries.

    Both keep the lines of the part and the order of its entries, which are no longer consecutive in the whole.
    """
    own, xp = part.span.own, array_module(part.minor)
    inside = (part.minor >= own.start) & (part.minor < own.stop)
    blocks = []
    for mask in (inside, ~inside):
        if partitioning.compressed:
            before = xp.zeros(mask.size + 1, np.int64)
            xp.cumsum(mask, out=before[1:])
            major = before[part.major].astype(part.major.dtype)
        else:
            major = part.major[mask]
        blocks.append(Part(part.span, major, part.minor[mask], part.values[mask]))
    return blocks[0], blocks[1]


def drop_empty_lines(partitioning: Partitioning, part: Part) -> tuple[Part, Any]:
    """The part without its empty lines, and the numbers of those that are left: int32, from its first line on.

    Of the off-diagonal block of a banded matrix most lines are empty.
    """
    xp = array_module(part.minor)
    if partitioning.compressed:
        lines = xp.flatnonzero(part.major[1:] > part.major[:-1])
        major = xp.concatenate([part.major[lines], part.major[-1:]])
    else:
        begins = xp.ones(part.major.size, bool)
        begins[1:] = part.major[1:] != part.major[:-1]
        lines = part.major[begins]
        major = (xp.cumsum(begins) - 1).astype(part.major.dtype)
    span = Span(part.span.start, part.span.end, 0, int(lines.size), start_flag=False)
    return Part(span, major, part.minor, part.values), lines.astype(np.int32)
