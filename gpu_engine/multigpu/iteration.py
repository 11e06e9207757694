"""One iteration of a product whose parts stay on their devices, for vectors, ranks and actors alike.

What is fetched is on its way on the copy streams while devices multiply the entries whose columns they own; then they
multiply the others, which are those of a few rows alone where the matrix is banded.
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
"""(number of the member, its block, y): launches y := block · x on its device."""


@dataclass(frozen=True, slots=True)
class Member:
    """What one device has of a matrix.

    copy_stream  its second stream where fetches overlap with products, else the device itself
    blocks       one, which waits for the fetches, or before it the diagonal block, which does not
    halo         of its vectors
    """

    device: Device
    copy_stream: Device
    blocks: tuple[Block, ...]
    halo: Halo

    @property
    def stored_bytes(self) -> int:
        """Of the blocks."""
        return sum(block.stored_bytes for block in self.blocks)

    def start(self) -> None:
        """Has the copy stream wait until what is sent is written, and what is overwritten read."""
        if self.copy_stream is not self.device:
            self.copy_stream.wait_event(self.device.record_event())

    def wait(self) -> None:
        """Has the device wait for what the copy stream was given."""
        if self.copy_stream is not self.device:
            self.device.wait_event(self.copy_stream.record_event())

    def synchronize(self) -> None:
        """Waits for all that was launched; raises what it did wrong."""
        self.copy_stream.synchronize()
        self.device.synchronize()


def plain(device: Device, size: int) -> Any:
    """Room for values in fp64."""
    return device.allocate(size, np.float64)


def member_of(
    device: Device, partitioning: Partitioning, part: Part, halo: Halo, n: int, overlap: bool, room: Room = plain
) -> Member:
    """Copies a part of rows, which lies on the host or on a GPU, to its device; n: elements of the whole vector."""
    places = places_of(halo, part.span.own, n, array_module(part.minor))
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
    """Launches the exchange and the products of all members; without exchange those of what was fetched before.

    results   y of each member: float64, the lines of its part
    exchange  launches on the copy streams; it may wait for other processes
    ahead     launches it before all products: kernels of NCCL would wait for multiprocessors behind one that has them
              all, while an exchange for which the host waits would keep it from launching any
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
