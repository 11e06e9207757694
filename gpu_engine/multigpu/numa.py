"""Memory and threads of the host where it has several NUMA nodes: beside the devices that use them, or not.

The thread that first writes to a page decides on which node it lies. Source: MSREP paper, §4.2 and §5.6.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from gpu_engine.multigpu.base import Device

Allocate = Callable[[int, Any], Any]
"""(elements, dtype) → an array of the host with any content."""

Placement = Literal["none", "one", "interleaved", "beside"]
"""Where arrays lie that devices read: where they were made; all on the node of the first device; by turns on all nodes
with devices; of each device an equal piece on its node, in the order of devices.
"""

BLOCK_BYTES = 2**21
"""Of memory that is interleaved: a huge page, which lies on one node as a whole."""


def thread_beside(device: Device) -> ThreadPoolExecutor:
    """A thread on the processors of a device's node, or on any where the node is not known to have some for it."""
    return ThreadPoolExecutor(1, initializer=_stay_on, initargs=(device.cpus,))


@dataclass(frozen=True, slots=True)
class HostMemory:
    """Memory as a placement has it; equal ones are the same memory.

    nodes    where it lies
    devices  beside which its pieces are first written, one after the other or, if interleaved, by turns
    """

    interleaved: bool
    nodes: tuple[int, ...]
    devices: tuple[Device, ...] = field(compare=False)

    def allocate(self, size: int, dtype: Any) -> Any:
        """An array of zeros, from which devices copy at the full rate of their links."""
        array = np.empty(size, dtype)
        for device, piece in zip(self.devices, self._pieces(array), strict=True):
            with thread_beside(device) as thread:
                thread.submit(_clear, piece).result()
        self.devices[0].pin(array)
        return array

    def _pieces(self, array: Any) -> list[list[Any]]:
        """What is written beside each device: views."""
        count = len(self.devices)
        if not self.interleaved:
            return [[array[i * array.size // count : (i + 1) * array.size // count]] for i in range(count)]
        data = array.view(np.uint8)
        # Pages begin at multiples of their size in memory, not in the array.
        first = -array.ctypes.data % BLOCK_BYTES
        blocks = [data[:first], *(data[begin : begin + BLOCK_BYTES] for begin in range(first, data.size, BLOCK_BYTES))]
        return [blocks[i::count] for i in range(count)]


def host_memory(placement: Placement, devices: Sequence[Device], host: Sequence[Device]) -> HostMemory | None:
    """Memory for devices of a host; None where it was made, and where all memory is beside all devices.

    host  all devices of the host that may be used
    """
    if placement == "none" or not on_several_nodes(host):
        return None
    if placement == "interleaved":
        one_each = tuple({device.node: device for device in reversed(host)}.values())[::-1]
        return HostMemory(True, tuple(device.node for device in one_each), one_each)
    beside = tuple(devices) if placement == "beside" and on_several_nodes(devices) else (devices[0],)
    return HostMemory(False, tuple(device.node for device in beside), beside)


def on_several_nodes(devices: Sequence[Device]) -> bool:
    """Whether there is any difference between placements."""
    return len({device.node for device in devices}) > 1


def _clear(pieces: Sequence[Any]) -> None:
    for piece in pieces:
        piece.fill(0)


def _stay_on(cpus: Sequence[int]) -> None:
    # A container may be confined to some of them.
    allowed = os.sched_getaffinity(0) & set(cpus)
    if allowed:
        os.sched_setaffinity(0, allowed)
