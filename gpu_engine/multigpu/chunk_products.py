"""ChunkProducts: what a device does with a chunk that it was sent; cpu_chunks.py and cuda_chunks.py do it.

Both read chunks as they were packed. Rows are summed in an order that does not depend on how a chunk was sent: the
product has the same bits, packed or not.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from gpu_engine.multigpu.base import Device
    from gpu_engine.multigpu.packer import Chunk


@dataclass(frozen=True, slots=True)
class SentChunk:
    """A chunk on a device.

    pointers  int32 or int64 [rows + 1], those of the whole matrix from the chunk's first row on
    packed    uint8, as `Chunk.packed`; columns int32 [entries], values float64 [entries]: where they are sent as they
              are, else empty
    """

    chunk: "Chunk"
    pointers: Any
    packed: Any
    columns: Any
    values: Any


class ChunkProducts(Protocol):
    """Functions for arrays of one device; each launches on the current stream, or computes in one thread of a CPU."""

    def room(self, device: "Device", chunk_entries: int, pointer: Any) -> Any:
        """What products of chunks of up to so many entries need beside their arrays, one after the other."""
        ...

    def multiply(self, sent: SentChunk, room: Any, x: Any, y: Any, share: Any) -> None:
        """y := A·x of the chunk's rows, float64 [rows]; of a first row that began in an earlier chunk share[0] instead.

        y is left as it is there; rows that go on after the chunk get what it has of them.
        """
        ...

    def mark(self, device: "Device") -> Any:
        """An event behind all that was launched on the device, for others and for `wait`."""
        ...

    def wait(self, event: Any) -> None:
        """Waits on the host, which has its core for others meanwhile."""
        ...
