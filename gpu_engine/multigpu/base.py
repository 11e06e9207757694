"""Device: the contract of everything that can hold and multiply a part, which is memory, copies, calls and events.

Operations is what a device computes, one table for CPUs (cpu_operations.py) and one for GPUs (cuda_operations.py).
Ranks and their values are in segments or in fp64; a device writes the ranks of its own pages. Arithmetic is fp64, and
sums are those of the values as they were stored. Source: CPMS PageRank paper, Algorithm 1 and §IV.

ChunkProducts is what a device does with a chunk that it was sent (cpu_chunks.py, cuda_chunks.py). Both read chunks as
they were packed. Rows are summed in an order that does not depend on how a chunk was sent: the product has the same
bits, packed or not.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from gpu_engine.cpms import Segmented
from gpu_engine.formats.base import array_module
from gpu_engine.multigpu.chunk import SentChunk
from gpu_engine.multigpu.partition import Part, Partitioning, Span


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
    operations: "Operations"

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


class ChunkProducts(Protocol):
    """Functions for arrays of one device; each launches on the current stream, or computes in one thread of a CPU."""

    def room(self, device: Device, chunk_entries: int, pointer: Any) -> Any:
        """What products of chunks of up to so many entries need beside their arrays, one after the other."""
        ...

    def multiply(self, sent: SentChunk, room: Any, x: Any, y: Any, share: Any) -> None:
        """y := A·x of the chunk's rows, float64 [rows]; of a first row that began in an earlier chunk share[0] instead.

        y is left as it is there; rows that go on after the chunk get what it has of them.
        """
        ...

    def mark(self, device: Device) -> Any:
        """An event behind all that was launched on the device, for others and for `wait`."""
        ...

    def wait(self, event: Any) -> None:
        """Waits on the host, which has its core for others meanwhile."""
        ...


class Update(NamedTuple):
    """new := damping · totals + base[0] on the pages of a device, from p in `read` segments, kept in `write`."""

    p: Any
    new: Any
    own: slice
    dangling: Any
    read: int
    write: int
    damping: float
    base: Any
    norm: str


@dataclass(frozen=True, slots=True)
class Operations:
    """Functions of arrays of one device, for `Device.call`: on a GPU they launch, on a CPU they compute in one thread.

    Those of a product or an iteration allocate nothing on a GPU, so that they can be captured.

    prepare   (partitioning, part, n_cols) → what `multiply` takes for a part that is multiplied often; for `returned`
    multiply  (partitioning, part or what was prepared, x, partial): partial := A_i·x, every element written.
              x has what the part's columns number: where columns are cut the segment of these; partial is the segment
              of the part's rows where rows are cut, else all rows
    rewrite   (partitioning, span, raw, local): what `partition.rewrite` does
    add       (total, more, lines): total[lines] := total[lines] + more, each line once; without lines on all
    combine   (y, sums, alpha, beta): y := α·sums + β·y; β = 0 does not read y; sums are lost
    gather    (vector, positions, k, packed): elements with these numbers, int32; where k is not None they are in
              segments: the first k, one segment after the other
    unpack    (packed, values, k, vector): the inverse for a range of values in segments, which leaves the others
    copy      (peer, values, k, vector, place): the first k segments of a range of values of a vector that the device
              reaches, to another one from `place` on; that and their first differ by whole groups
    fill      (p, value, k): a value into all ranks, in k segments or fp64
    finish    (totals, update, sums): the new ranks of a device's pages from what flows to them, which is lost;
              sums: γ (squared in L2) and the rank of dangling pages, as kept
    scale     (p, own, dangling, factor, k, totals, sums): p := factor · p on a device's pages, truncated to k segments;
              sums: Σ|p| and the rank of dangling pages; totals is room
    follow    (links, values, p, k, totals): what flows along the links to each page, from k segments of values and
              ranks; links are prepared
    to_ieee, to_segments  (vector): between segments and fp64 in the same memory
    copy_own  (p, own, k, found): the ranks of a device's pages, in k segments or fp64
    chunks    what is done with chunks of a part
    n_sums    elements of `sums`: the two that are found, and room
    """

    prepare: Callable[[Partitioning, Part, int], Any]
    multiply: Callable[[Partitioning, Any, Any, Any], None]
    rewrite: Callable[[Partitioning, Span, Any, Any], None]
    add: Callable[[Any, Any, Any], None]
    combine: Callable[[Any, Any, float, float], None]
    gather: Callable[[Any, Any, int | None, Any], None]
    unpack: Callable[[Any, slice, int, Segmented], None]
    copy: Callable[[Segmented, slice, int, Segmented, int], None]
    fill: Callable[[Any, float, int], None]
    finish: Callable[[Any, Update, Any], None]
    scale: Callable[[Segmented, slice, Any, float, int, Any, Any], None]
    follow: Callable[[Any, Segmented, Segmented, int, Any], None]
    to_ieee: Callable[[Segmented], None]
    to_segments: Callable[[Segmented], None]
    copy_own: Callable[[Any, slice, int, Any], None]
    chunks: ChunkProducts
    n_sums: int


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
