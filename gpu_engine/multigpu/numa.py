"""NUMA placement: host memory and threads on the nodes of the devices that use them, or elsewhere.

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
"""Function (elements, dtype) → uninitialized host array."""

Placement = Literal["none", "one", "interleaved", "beside"]
"""Placement of the host arrays that devices read.

none         where they were created
one          on the NUMA node of the first device
interleaved  alternating over all nodes with devices
beside       an equal piece per device on its node, in the order of the devices
"""

BLOCK_BYTES = 2**21
"""Bytes per block of interleaved memory: a huge page, which always lies on one node."""


def thread_beside(device: Device) -> ThreadPoolExecutor:
    """Return a thread that runs on the NUMA node of a device, or on any processor if the node is unknown."""
    return ThreadPoolExecutor(1, initializer=_stay_on, initargs=(device.cpus,))


@dataclass(frozen=True, slots=True)
class HostMemory:
    """Placed host memory; equal objects describe equal placements.

    nodes    NUMA nodes of the pieces
    devices  devices on whose nodes the pieces are first written, in order or, if interleaved, alternating
    """

    interleaved: bool
    nodes: tuple[int, ...]
    devices: tuple[Device, ...] = field(compare=False)

    def allocate(self, size: int, dtype: Any) -> Any:
        """Allocate zeros in pinned memory, which devices copy at the full rate of their links."""
        array = np.empty(size, dtype)
        for device, piece in zip(self.devices, self._pieces(array), strict=True):
            with thread_beside(device) as thread:
                thread.submit(_clear, piece).result()
        self.devices[0].pin(array)
        return array

    def _pieces(self, array: Any) -> list[list[Any]]:
        """Return the views that are first written on the node of each device."""
        count = len(self.devices)
        if not self.interleaved:
            return [[array[i * array.size // count : (i + 1) * array.size // count]] for i in range(count)]
        data = array.view(np.uint8)
        # Pages start at multiples of their size in memory, not in the array.
        first = -array.ctypes.data % BLOCK_BYTES
        blocks = [data[:first], *(data[begin : begin + BLOCK_BYTES] for begin in range(first, data.size, BLOCK_BYTES))]
        return [blocks[i::count] for i in range(count)]


def host_memory(placement: Placement, devices: Sequence[Device], host: Sequence[Device]) -> HostMemory | None:
    """Return the memory of a placement, or None for `none` and for hosts with one NUMA node.

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
    """Return whether the devices are on several NUMA nodes, so that placements differ."""
    return len({device.node for device in devices}) > 1


def _clear(pieces: Sequence[Any]) -> None:
    for piece in pieces:
        piece.fill(0)


def _stay_on(cpus: Sequence[int]) -> None:
    # A container may only be allowed to use some of them.
    allowed = os.sched_getaffinity(0) & set(cpus)
    if allowed:
        os.sched_setaffinity(0, allowed)
