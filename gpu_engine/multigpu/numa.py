"""Memory and threads of the host beside the devices that use them, where a host has several NUMA nodes.

The thread that first writes to a page decides on which node it lies. Source: MSREP paper, §4.2.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from gpu_engine.multigpu.base import Device

Allocate = Callable[[int, Any], Any]
"""(elements, dtype) → an array of the host with any content."""


def thread_beside(device: Device) -> ThreadPoolExecutor:
    """A thread on the processors of a device's node, or on any where the node is not known to have some for it."""
    return ThreadPoolExecutor(1, initializer=_stay_on, initargs=(device.cpus,))


def allocator(devices: Sequence[Device]) -> Allocate:
    """What allocates arrays from which devices copy at the full rate of their links.

    Of devices on several nodes each has an equal piece of an array in the memory beside it, in the order of devices.
    """
    if len({device.node for device in devices}) == 1:
        return devices[0].allocate_host
    return partial(_spread, tuple(devices))


def _spread(devices: Sequence[Device], size: int, dtype: Any) -> Any:
    array = np.empty(size, dtype)
    with ExitStack() as threads:
        for i, device in enumerate(devices):
            piece = array[i * size // len(devices) : (i + 1) * size // len(devices)]
            threads.enter_context(thread_beside(device)).submit(piece.fill, 0).result()
    devices[0].pin(array)
    return array


def _stay_on(cpus: Sequence[int]) -> None:
    # A container may be confined to some of them.
    allowed = os.sched_getaffinity(0) & set(cpus)
    if allowed:
        os.sched_setaffinity(0, allowed)
