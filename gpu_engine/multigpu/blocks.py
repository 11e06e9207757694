"""Diagonal and off-diagonal blocks of a row partition on its device.

The diagonal block has the nonzeros whose columns the same device owns. Blocks are copied chunk by chunk, because a
partition can be larger than the memory of the host.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gpu_engine.cpms import Segmented
from gpu_engine.formats.base import array_module
from gpu_engine.multigpu.base import Device, call_and_wait, put
from gpu_engine.multigpu.partition import Part, Partitioning, Span

CHUNK = 2**22
"""Nonzeros split at a time; this takes about 30 bytes per nonzero on the host."""

Room = Callable[[Device, int], Any]
"""Function (device, elements) → array for values on the device: float64, or in segments."""


@dataclass(frozen=True, slots=True)
class Block:
    """Block of a row partition on its device; columns are positions in the local vector of the device.

    part      result of `Operations.prepare`
    arrays    arrays of the partition except values: pointers or lines, columns
    values    float64, or in segments
    lines     int32, lines with nonzeros, counted from the first line of the partition; None: all lines
    product   float64 [lines], product of the block, if it is added to the product of another block
    """

    part: Any
    arrays: tuple[Any, ...]
    values: Any
    lines: Any
    product: Any

    @property
    def stored_bytes(self) -> int:
        """Return the size of nonzeros, pointers, and line numbers in bytes."""
        values = self.values.storage if isinstance(self.values, Segmented) else self.values
        arrays = [*self.arrays, values, *([] if self.lines is None else [self.lines])]
        return sum(int(array.nbytes) for array in arrays)


class _BlockBuilder:
    """Block that is copied piece by piece."""

    def __init__(self, device: Device, part: Part, compressed: bool, entries: int, lines: int, room: Room) -> None:
        self._device, self._compressed, self._entries, self._lines = device, compressed, 0, 0
        self.values = room(device, entries)
        values = self.values.storage[:entries] if isinstance(self.values, Segmented) else self.values
        major = device.allocate(lines + 1 if compressed else entries, part.major.dtype)
        self.part = Part(part.span, major, device.allocate(entries, part.minor.dtype), values)
        self.lines = device.allocate(lines, np.int32)

    def add(self, piece: Part, lines: Any, count: int) -> None:
        """Copy a piece with `count` lines, whose numbers are `lines` (None: consecutive lines)."""
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
    """Return the block of a partition on its device or, with `split`, its diagonal and its off-diagonal block.

    places   position of each column in the local vector, from `exchange.places_of`
    n_local  elements of the local vector
    """
    compressed = partitioning.compressed

    def pieces_by_chunk() -> Iterator[list[tuple[Part, Any, int]]]:
        for first, chunk in _chunks(partitioning, part):
            yield _pieces(partitioning, chunk, first, split)

    piece_sizes = [[(piece.values.size, count) for piece, _, count in pieces] for pieces in pieces_by_chunk()]
    sizes = np.sum(piece_sizes, axis=0).tolist()
    builders = [_BlockBuilder(device, part, compressed, entries, lines, room) for entries, lines in sizes]
    for pieces in pieces_by_chunk():
        for builder, (piece, lines, count) in zip(builders, pieces, strict=True):
            builder.add(Part(piece.span, piece.major, places[piece.minor], piece.values), lines, count)
    spans = [part.span, *(Span(part.span.start, part.span.end, 0, lines, start_flag=False) for _, lines in sizes[1:])]
    return tuple(
        _block(device, partitioning, builder, span, n_local, all_lines=number == 0)
        for number, (builder, span) in enumerate(zip(builders, spans, strict=True))
    )


def _block(
    device: Device, partitioning: Partitioning, builder: _BlockBuilder, span: Span, n_local: int, all_lines: bool
) -> Block:
    part = Part(span, builder.part.major, builder.part.minor, builder.part.values)
    prepared = call_and_wait(device, device.operations.prepare, partitioning, part, n_local)
    lines = None if all_lines else builder.lines
    product = device.allocate(0 if lines is None else lines.size, np.float64)
    return Block(prepared, (part.major, part.minor), builder.values, lines, product)


def _pieces(partitioning: Partitioning, chunk: Part, first: int, split: bool) -> list[tuple[Part, Any, int]]:
    """Return (piece, its line numbers or None for all, number of lines) per block of a chunk that starts at `first`."""
    count = chunk.major.size - 1 if partitioning.compressed else 0
    if not split:
        return [(chunk, None, count)]
    diagonal, off_diagonal = split_diagonal(partitioning, chunk)
    compact, lines = drop_empty_lines(partitioning, off_diagonal)
    return [(diagonal, None, count), (compact, lines + np.int32(first), int(lines.size))]


def _chunks(partitioning: Partitioning, part: Part) -> Iterator[tuple[int, Part]]:
    """Yield (first line, consecutive lines of a partition), each with about CHUNK nonzeros and whole lines."""
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
    """Return the diagonal block of a row partition, whose columns its device owns, and the off-diagonal block.

    Both keep the lines of the partition and the order of its nonzeros.
    """
    owned, xp = part.span.owned, array_module(part.minor)
    inside = (part.minor >= owned.start) & (part.minor < owned.stop)
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
    """Return a partition without its empty lines, and the numbers of the others: int32, from its first line on.

    In the off-diagonal block of a banded matrix, most lines are empty.
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
