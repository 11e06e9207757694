"""ChunkProducts of a GPU: tiles of equal entries, unpacked on the way into shared memory, then summed by rows."""

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
"""As in formats/split.py: what comes over a link is slower than any of these."""

TILE = THREADS * ITEMS

BLOCK = 256

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
    """Tiles of a chunk as formats/tiles.py has them.

    borders  like the pointers [tiles + 1]; first_rows  uint32 [tiles + 1]; first_sums, last_sums  float64 [tiles]
    """

    borders: Any
    first_rows: Any
    first_sums: Any
    last_sums: Any


def room(device: Device, chunk_entries: int, pointer: Any) -> TileRoom:
    """For the tiles of the largest chunk; a chunk without entries has one, of its empty rows."""
    tiles = _tiles(chunk_entries)
    kinds = ((tiles + 1, pointer), (tiles + 1, np.uint32), (tiles, np.float64), (tiles, np.float64))
    return TileRoom(*(device.allocate(size, kind) for size, kind in kinds))


def multiply(sent: SentChunk, room: TileRoom, x: Any, y: Any, share: Any) -> None:
    """Launches three kernels: where the tiles begin, their products, and the rows that they cut."""
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
    """An event whose waiting thread sleeps: one that spins would take a core from those that pack."""
    events: list[Any] = []
    device.call(lambda: events.append(_record()))
    return events[0]


def wait(event: Any) -> None:
    """Waits for it."""
    with translated():
        event.synchronize()


def _record() -> Any:
    event = cupy.cuda.Event(block=True, disable_timing=True)
    event.record()
    return event


def _tiles(entries: int) -> int:
    return max(1, -(-entries // TILE))
