"""Device: the contract of everything that can hold and multiply a part, which is memory, copies, calls and events."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import numpy as np

from gpu_engine.formats.base import array_module
from gpu_engine.multigpu.operations import Operations


class Device(Protocol):
    """A device with memory of its own and a stream; `copy_stream` is the same device with another stream.

    Copies, calls and waits put work on the stream, in order, and return at once: one host thread can keep all devices
    busy. They never allocate, so that they can be captured into a graph, and do not change which device is current for
    the caller. Any host thread may call, one at a time for each device.
    Arrays are those of the device unless they are named `host`; those on the host may neither be written nor freed
    before `synchronize`, which is also where errors of launched work are raised.

    name        `cuda:0` …, `virtual:0` …
    virtual     whether it is a part of this CPU that stands for a GPU
    node        the NUMA node that it hangs on
    cpus        the processors of that node; none: any
    operations  what it can be called to compute
    """

    name: str
    virtual: bool
    node: int
    cpus: tuple[int, ...]
    operations: Operations

    def allocate(self, size: int, dtype: Any) -> Any:
        """An array of that many elements with any content, at once; raises DeviceMemoryError."""
        ...

    def allocate_host(self, size: int, dtype: Any) -> Any:
        """An array of the host with any content to which the device copies at the full rate of their link."""
        ...

    def pin(self, host: Any) -> None:
        """Makes an array of the host, for as long as it lives, one to which devices copy at the full rate."""
        ...

    def copy_stream(self) -> "Device":
        """A second stream of this device, always the same one: what is launched there goes on beside this one's work.

        Arrays are common to both; `record_event` and `wait_event` order the two streams like those of two devices.
        """
        ...

    def upload(self, host: Any, array: Any) -> None:
        """Launches array := host."""
        ...

    def download(self, array: Any, host: Any) -> None:
        """Launches host := array."""
        ...

    def fetch(self, peer: Any, array: Any) -> None:
        """Launches array := peer, an array of another device or of this one; `wait_event` for what writes it first."""
        ...

    def reaches(self, other: "Device") -> bool:
        """Whether what is called here may read what lies on the other device."""
        ...

    def call(self, function: Callable[..., None], *arguments: Any) -> None:
        """Launches function(*arguments), which itself launches on the current stream alone, or computes on a CPU.

        A GPU has it called at once, with this stream as the current one; a virtual device calls it in its thread.
        """
        ...

    def record_event(self) -> Any:
        """An event of the stream, behind all that was launched so far, for another device to wait for."""
        ...

    def wait_event(self, event: Any) -> None:
        """Has all that is launched from here on wait until another device has passed the event."""
        ...

    def capture(self, others: Sequence["Device"], function: Callable[[], None]) -> Callable[[int], None]:
        """What function() launches on this stream and others, as a function that launches it so many times in a row.

        It begins when all is done that was launched on these streams before, and they go on when it has ended. A GPU
        calls `function` once, now, and does nothing yet; a virtual device calls it each time. So `function` must wait
        for no events but its own, and leave all that it uses as it was; its events say nothing to those outside.
        """
        ...

    def synchronize(self) -> None:
        """Waits for all launched work; raises what it did wrong."""
        ...


def fork(first: Device, others: Sequence[Device]) -> None:
    """Has others wait for all that was launched on the first."""
    begin = first.record_event()
    for other in others:
        other.wait_event(begin)


def join(first: Device, others: Sequence[Device]) -> None:
    """Has the first wait for all that was launched on the others."""
    for other in others:
        first.wait_event(other.record_event())


def returned(device: Device, function: Callable[..., Any], *arguments: Any) -> Any:
    """What function(*arguments) returns when the device calls it; waits for it."""
    found: list[Any] = []

    def call() -> None:
        found.append(function(*arguments))

    device.call(call)
    device.synchronize()
    return found[0]


def put(device: Device, source: Any, array: Any) -> None:
    """Copies what lies on the host or on a GPU to an array of the device of the same size; waits for it."""
    if isinstance(source, np.ndarray):
        device.upload(source, array)
    else:
        with where(source):
            # What made it was launched on the current stream there.
            array_module(source).cuda.get_current_stream().synchronize()
        device.fetch(source, array)
    # Callers free what they made for this copy alone.
    device.synchronize()


def where(array: Any) -> AbstractContextManager[Any]:
    """A block in which the GPU on which an array lies is the current one; nothing changes for one of the host."""
    return nullcontext() if isinstance(array, np.ndarray) else array.device


def copied(device: Device, source: Any) -> Any:
    """A copy on a device of an array, which lies on the host or on a GPU; waits for it."""
    array = device.allocate(source.size, source.dtype)
    put(device, source, array)
    return array
