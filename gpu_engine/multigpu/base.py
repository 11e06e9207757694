"""Device protocol: memory, copies, calls, and events of everything that can hold and multiply a partition.

Operations lists what a device computes: one table for CPUs (cpu_operations.py), one for GPUs (cuda_operations.py).
Ranks and their values are stored in segments or in fp64; a device writes the ranks of the pages that it owns.
Arithmetic is fp64, on the values as stored. Source: CPMS PageRank paper, Algorithm 1 and §IV.

ChunkProducts lists what a device computes with a received chunk (cpu_chunks.py, cuda_chunks.py). Both read chunks as
packed. The order in which a row is summed does not depend on packing, so that the result is bitwise the same.
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
    """Device with its memory and one stream; `copy_stream` is the same device with a second stream.

    Copies, calls, and waits are put on the stream in order and return immediately, so that one host thread can keep
    all devices busy. They never allocate, so that they can be captured into a graph, and they do not change the current
    device of the caller. Any host thread may call, one at a time per device.
    Arrays lie on the device, except those named `host`. A host array must not be written or freed before `synchronize`,
    which also raises the errors of launched work.

    name        `cuda:0` …, `virtual:0` …
    virtual     whether it is a simulated device, a CPU thread in place of a GPU
    node        NUMA node of the device
    cpus        processors of that node; empty: any
    operations  functions that `call` can launch
    """

    name: str
    virtual: bool
    node: int
    cpus: tuple[int, ...]
    operations: "Operations"

    def allocate(self, size: int, dtype: Any) -> Any:
        """Allocate an uninitialized array immediately; raise DeviceMemoryError."""
        ...

    def allocate_host(self, size: int, dtype: Any) -> Any:
        """Allocate an uninitialized host array that the device can copy at the full rate of the link."""
        ...

    def pin(self, host: Any) -> None:
        """Pin a host array for its lifetime, so that devices copy it at the full rate of the link."""
        ...

    def copy_stream(self) -> "Device":
        """Return the second stream of this device, always the same one; its work overlaps with this stream.

        Both streams share all arrays; `record_event` and `wait_event` order them like the streams of two devices.
        """
        ...

    def upload(self, host: Any, array: Any) -> None:
        """Launch array := host."""
        ...

    def download(self, array: Any, host: Any) -> None:
        """Launch host := array."""
        ...

    def fetch(self, peer: Any, array: Any) -> None:
        """Launch array := peer, an array of this or another device; first `wait_event` for the work that writes it."""
        ...

    def reaches(self, other: "Device") -> bool:
        """Return whether functions called on this device can read the memory of the other one."""
        ...

    def call(self, function: Callable[..., None], *arguments: Any) -> None:
        """Launch function(*arguments), which launches only on the current stream, or computes on a CPU.

        A GPU calls it immediately with this stream as the current one; a simulated device calls it in its thread.
        """
        ...

    def record_event(self) -> Any:
        """Record an event after all work launched so far, for another device to wait for."""
        ...

    def wait_event(self, event: Any) -> None:
        """Let all later work of this stream wait until another device has passed the event."""
        ...

    def capture(self, others: Sequence["Device"], function: Callable[[], None]) -> Callable[[int], None]:
        """Return a function that launches, a given number of times in a row, the work of function() on these streams.

        A launch starts after all earlier work of these streams, and later work waits for it. A GPU calls `function`
        once, now, without running anything; a simulated device calls it on every launch. Therefore `function` must only
        wait for its own events and must not change the state that it uses; its events are invalid outside of it.
        """
        ...

    def synchronize(self) -> None:
        """Wait for all launched work and raise its first error."""
        ...


class ChunkProducts(Protocol):
    """Functions on arrays of one device; each launches on the current stream, or computes in one thread of a CPU."""

    def room(self, device: Device, chunk_entries: int, pointer: Any) -> Any:
        """Allocate the workspace that SpMVs of chunks with at most `chunk_entries` nonzeros share."""
        ...

    def multiply(self, sent: SentChunk, room: Any, x: Any, y: Any, share: Any) -> None:
        """Compute y := A·x for the rows of a chunk, float64 [rows].

        The partial sum of a first row that starts in an earlier chunk goes to share[0], and its y stays unchanged. A
        last row that continues in the next chunk gets its partial sum.
        """
        ...

    def mark(self, device: Device) -> Any:
        """Record an event after all work launched on the device, for other devices and for `wait`."""
        ...

    def wait(self, event: Any) -> None:
        """Block the host thread until the event, without using a core."""
        ...


class Update(NamedTuple):
    """Arguments of one rank update: new := damping · totals + base[0], from p in `read` to new in `write` segments."""

    p: Any
    new: Any
    owned: slice
    dangling: Any
    read: int
    write: int
    damping: float
    base: Any
    norm: str


class SolveRows(NamedTuple):
    """Vectors of the owned rows of a device in CG: float64 [rows].

    p, s, w   direction, A·p, and A·r
    x, r      iterate, and its residual
    partials  workspace of N_PARTIALS numbers
    """

    p: Any
    s: Any
    w: Any
    x: Any
    r: Any
    partials: Any


class SolveSteps(Protocol):
    """Steps of CG on one device; each launches on the current stream, or computes in one thread of a CPU."""

    N_PARTIALS: int

    def advance(self, rows: SolveRows, sums: Any, before: Any, after: Any) -> None:
        """Update p, s, x, and r.

        sums    r·r and r·w of each device in turn
        before  γ and α of the iteration before, 0 in the first one, and 1 after a breakdown; after: the same for the
                next iteration
        """
        ...

    def targets(self, arrays: Sequence[Any]) -> Any:
        """Return arrays of SUMS numbers, on this or on reachable devices, in the form that `project` takes."""
        ...

    def project(self, rows: SolveRows, targets: Any, squares: bool) -> None:
        """Compute r·r and r·w and write them to all targets; squares: also r·r, which `advance` computes otherwise."""
        ...


@dataclass(frozen=True, slots=True)
class Operations:
    """Functions on arrays of one device, for `Device.call`: on a GPU they launch, on a CPU they compute in one thread.

    The functions of an SpMV or an iteration allocate nothing on a GPU, so that they can be captured.

    prepare   (partitioning, part, n_cols): return the form of a partition for repeated `multiply`; for `call_and_wait`
    multiply  (partitioning, part or prepared part, x, partial): partial := A_i·x, every element written.
              Partitioned by rows: x has all columns, partial the rows of the partition. By columns: x has the columns
              of the partition, partial all rows
    bind_columns  (part, n_cols, k): return (x, partial) ↦ partial := A_i·x for a CSR partition and k columns: both row
              major, as arrays of one dimension; for `call_and_wait`
    rewrite   (partitioning, span, raw, local): the same as `partition.rewrite`
    add       (total, summand, lines): total[lines] += summand, each line once; lines = None: all lines
    combine   (y, sums, alpha, beta): y := α·sums + β·y; β = 0 does not read y; sums are overwritten
    gather    (vector, positions, k, packed): packed := vector[positions], positions int32. With k, the vector is in
              segments, and packed gets the first k, one segment after the other
    unpack    (packed, values, k, vector): inverse of `gather` for a range of values in segments; other segments stay
    copy      (peer, values, k, vector, place): copy the first k segments of a range of values of a reachable vector to
              another one, starting at `place`; place and the first value differ by a multiple of the group size
    fill      (p, value, k): set all ranks, in k segments or fp64
    finish_ranks  (totals, update, sums): new ranks of the owned pages from their in-link sums, which are overwritten;
              sums: γ (squared for L2) and the rank of dangling pages, of the stored values
    scale     (p, owned, dangling, factor, k, totals, sums): p := factor · p on the owned pages, truncated to k
              segments; sums: Σ|p| and the rank of dangling pages; totals is workspace
    sum_in_links  (links, values, p, k, totals): weighted sum over the in-links of each page, from k segments of values
              and ranks; links are prepared
    to_ieee, to_segments  (vector): convert between segments and fp64 in place
    copy_owned  (p, owned, k, ranks): ranks := the ranks of the owned pages, in k segments or fp64
    chunks    functions for chunks of a partition
    solve     steps of CG
    n_sums    elements of `sums`: the two results, and workspace
    """

    prepare: Callable[[Partitioning, Part, int], Any]
    multiply: Callable[[Partitioning, Any, Any, Any], None]
    bind_columns: Callable[[Part, int, int], Callable[[Any, Any], None]]
    rewrite: Callable[[Partitioning, Span, Any, Any], None]
    add: Callable[[Any, Any, Any], None]
    combine: Callable[[Any, Any, float, float], None]
    gather: Callable[[Any, Any, int | None, Any], None]
    unpack: Callable[[Any, slice, int, Segmented], None]
    copy: Callable[[Segmented, slice, int, Segmented, int], None]
    fill: Callable[[Any, float, int], None]
    finish_ranks: Callable[[Any, Update, Any], None]
    scale: Callable[[Segmented, slice, Any, float, int, Any, Any], None]
    sum_in_links: Callable[[Any, Segmented, Segmented, int, Any], None]
    to_ieee: Callable[[Segmented], None]
    to_segments: Callable[[Segmented], None]
    copy_owned: Callable[[Any, slice, int, Any], None]
    chunks: ChunkProducts
    solve: SolveSteps
    n_sums: int


def fork(first: Device, others: Sequence[Device]) -> None:
    """Let the other streams wait for all work launched on the first."""
    event = first.record_event()
    for other in others:
        other.wait_event(event)


def join(first: Device, others: Sequence[Device]) -> None:
    """Let the first stream wait for all work launched on the others."""
    for other in others:
        first.wait_event(other.record_event())


def call_and_wait(device: Device, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call function(*arguments) on a device, wait for it, and return its result."""
    results: list[Any] = []

    def call() -> None:
        results.append(function(*arguments))

    device.call(call)
    device.synchronize()
    return results[0]


def put(device: Device, source: Any, array: Any) -> None:
    """Copy an array of the host or of a GPU to a device array of the same size, and wait for the copy."""
    if isinstance(source, np.ndarray):
        device.upload(source, array)
    else:
        with device_of(source):
            # The current stream of that GPU may still be computing the array.
            array_module(source).cuda.get_current_stream().synchronize()
        device.fetch(source, array)
    # The caller may free the source after this call.
    device.synchronize()


def device_of(array: Any) -> AbstractContextManager[Any]:
    """Return a context manager that makes the GPU of an array the current one; it does nothing for host arrays."""
    return nullcontext() if isinstance(array, np.ndarray) else array.device


def copy_to(device: Device, source: Any) -> Any:
    """Return a copy on a device of an array of the host or of a GPU, and wait for it."""
    array = device.allocate(source.size, source.dtype)
    put(device, source, array)
    return array
