"""One iteration of an SpMV whose partitions stay on their devices: for vectors, ranks, and cluster actors.

The exchange runs on the copy streams while devices multiply their diagonal blocks. Then they multiply the off-diagonal
blocks, which have few nonempty rows if the matrix is banded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.formats.base import array_module
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.blocks import Block, Room, copy_blocks
from gpu_engine.multigpu.exchange import Halo, places_of
from gpu_engine.multigpu.partition import Part, Partitioning

Product = Callable[[int, Block, Any], None]
"""Function (index of the member, block, y) that launches y := block · x on the device."""


@dataclass(frozen=True, slots=True)
class Member:
    """Partition of a matrix on its device.

    copy_stream  second stream if the exchange overlaps with SpMVs, otherwise the device itself
    blocks       one block, which waits for the exchange; with overlap, the diagonal block before it
    halo         layout of the local vectors
    """

    device: Device
    copy_stream: Device
    blocks: tuple[Block, ...]
    halo: Halo

    @property
    def stored_bytes(self) -> int:
        """Return the bytes of the blocks."""
        return sum(block.stored_bytes for block in self.blocks)

    def start(self) -> None:
        """Let the copy stream wait for earlier work, which writes the sent elements and reads the overwritten ones."""
        if self.copy_stream is not self.device:
            self.copy_stream.wait_event(self.device.record_event())

    def wait(self) -> None:
        """Let the device wait for the work of the copy stream."""
        if self.copy_stream is not self.device:
            self.device.wait_event(self.copy_stream.record_event())

    def synchronize(self) -> None:
        """Wait for all launched work and raise its first error."""
        self.copy_stream.synchronize()
        self.device.synchronize()


def plain(device: Device, size: int) -> Any:
    """Allocate values in fp64."""
    return device.allocate(size, np.float64)


def member_of(
    device: Device, partitioning: Partitioning, part: Part, halo: Halo, n: int, overlap: bool, room: Room = plain
) -> Member:
    """Copy a row partition from the host or a GPU to its device; n: elements of the global vector."""
    places = places_of(halo, part.span.owned, n, array_module(part.minor))
    blocks = copy_blocks(device, partitioning, part, places, halo.size, overlap, room)
    return Member(device, device.copy_stream() if overlap else device, blocks, halo)


def iterate(
    members: Sequence[Member],
    product: Product,
    results: Sequence[Any],
    exchange: Callable[[], None] | None,
    *,
    ahead: bool = False,
) -> None:
    """Launch the exchange and the SpMVs of all members; without an exchange, SpMVs use the last halo.

    results   y of each member: float64, the lines of its partition
    exchange  function that launches the exchange on the copy streams; it may wait for other processes
    ahead     launch the exchange before all SpMVs. Needed for NCCL, whose kernels would wait for multiprocessors behind
              a large SpMV. Wrong for an exchange that blocks the host, which could not launch the SpMVs meanwhile
    """
    for member in members:
        member.start()
    if exchange is not None and ahead:
        exchange()
    for i, (member, y) in enumerate(zip(members, results, strict=True)):
        for block in member.blocks[:-1]:
            product(i, block, y)
    if exchange is not None and not ahead:
        exchange()
    for i, (member, y) in enumerate(zip(members, results, strict=True)):
        block, device = member.blocks[-1], member.device
        member.wait()
        if block.lines is None:
            product(i, block, y)
        else:
            product(i, block, block.product)
            device.call(device.operations.add, y, block.product, block.lines)
