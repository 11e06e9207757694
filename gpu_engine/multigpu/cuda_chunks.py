"""ChunkProducts of a GPU: tiles of equal nonzeros, unpacked into shared memory, then summed by rows."""

from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np

from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import POINTERS
from gpu_engine.measure.cuda_errors import translated
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.chunk import SentChunk

THREADS, ITEMS = 128, 4
"""Threads per block and nonzeros per thread, as in formats/split.py; the link is slower than any choice of these."""

TILE = THREADS * ITEMS
"""Nonzeros of a tile."""

BLOCK = 256
"""Threads per block of the other kernels."""

SOURCE = CudaSource(
    __package__,
    "chunks.cu",
    (
        *(f"find_tiles<{pointer}>" for pointer in POINTERS),
        *(f"chunk_tile<{pointer}, {THREADS}, {ITEMS}>" for pointer in POINTERS),
        "join_tiles",
    ),
)


@dataclass(frozen=True, slots=True)
class TileRoom:
    """Workspace for the tiles of a chunk; see formats/tiles.py.

    borders                [tiles + 1] with the dtype of the pointers
    first_rows             uint32 [tiles + 1]
    first_sums, last_sums  float64 [tiles]
    """

    borders: Any
    first_rows: Any
    first_sums: Any
    last_sums: Any


def room(device: Device, chunk_entries: int, pointer: Any) -> TileRoom:
    """Allocate the workspace for the largest chunk; a chunk without nonzeros has one tile for its empty rows."""
    tiles = _tiles(chunk_entries)
    kinds = ((tiles + 1, pointer), (tiles + 1, np.uint32), (tiles, np.float64), (tiles, np.float64))
    return TileRoom(*(device.allocate(size, kind) for size, kind in kinds))


def multiply(sent: SentChunk, room: TileRoom, x: Any, y: Any, share: Any) -> None:
    """Launch three kernels: tile borders, products of the tiles, and sums of the rows that tiles cut."""
    chunk, indptr = sent.chunk, sent.pointers
    span, rows = chunk.span, int(indptr.size) - 1
    tiles, kind = _tiles(span.entries), POINTERS[indptr.dtype.itemsize == 8]
    pointer, base = indptr.dtype.type, int(sent.packed.data.ptr)
    extent = (np.int32(tiles), np.int32(TILE), pointer(span.start), pointer(span.end), np.int32(rows))
    find = SOURCE.function(f"find_tiles<{kind}>")
    find((-(-(tiles + 1) // BLOCK),), (BLOCK,), (*extent, indptr, room.borders, room.first_rows))
    sections = (np.uint64(base + place) for place in chunk.begins)
    product = SOURCE.function(f"chunk_tile<{kind}, {THREADS}, {ITEMS}>")
    widths = np.int32(chunk.column_bytes), np.int32(chunk.value_bytes)
    arrays = (sent.columns, sent.values, *sections, x, y, room.first_sums, room.last_sums)
    product((tiles,), (THREADS,), (room.borders, room.first_rows, indptr, np.int64(span.start), *widths, *arrays))
    join = SOURCE.function("join_tiles")
    warps = BLOCK // 32
    arguments = (np.int32(tiles), room.first_rows, room.first_sums, room.last_sums, y, share)
    join((-(-(tiles + 1) // warps),), (BLOCK,), arguments)


def mark(device: Device) -> Any:
    """Record an event that blocks the waiting thread; a spinning thread would take a core from the packing."""
    events: list[Any] = []
    device.call(lambda: events.append(_record()))
    return events[0]


def wait(event: Any) -> None:
    """Wait for an event on the host."""
    with translated():
        event.synchronize()


def _record() -> Any:
    event = cupy.cuda.Event(block=True, disable_timing=True)
    event.record()
    return event


def _tiles(entries: int) -> int:
    return max(1, -(-entries // TILE))
