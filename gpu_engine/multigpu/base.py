"""Device: the contract of everything that can hold and multiply a part."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from gpu_engine.cpms import Segmented
from gpu_engine.multigpu.partition import Part, Partitioning, Span


class PreparedPart(Protocol):
    """A part as its device multiplies it: the part itself, or what `Device.prepare` made of it."""

    @property
    def span(self) -> Span:
        """Where the part lies."""
        ...

    def with_values(self, values: Any) -> "PreparedPart":
        """The same entries with other values, an array of the device."""
        ...


class Device(Protocol):
    """A device with memory of its own and a stream; `copy_stream` is the same device with another stream.

    Launches (all methods but `allocate`, `copy_stream` and `record_event`) put work on the stream, in order, and return
    at once: one host thread can keep all devices busy. They never allocate, so that they can be captured into a graph,
    and do not change which device is current for the caller. Any host thread may call, one at a time for each device.
    Arrays are those of the device unless they are named `host`; those on the host may neither be written nor freed
    before `synchronize`, which is also where errors of launched work are raised.

    name     `cuda:0` …, `virtual:0` …
    virtual  whether it is a part of this CPU that stands for a GPU
    node     the NUMA node that it hangs on
    cpus     the processors of that node; none: any
    """

    name: str
    virtual: bool
    node: int
    cpus: tuple[int, ...]

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

    def rewrite(self, partitioning: Partitioning, span: Span, raw: Any, local: Any) -> None:
        """Launches what `partition.rewrite` does: local := `major` of a part, from its slice of the whole's."""
        ...

    def prepare(self, partitioning: Partitioning, part: Part, n_cols: int) -> PreparedPart:
        """What `multiply` takes for a part that is multiplied often.

        Allocates, and waits for what it does; shares the arrays of the part.
        """
        ...

    def multiply(self, partitioning: Partitioning, part: Any, x: Any, partial: Any) -> None:
        """Launches partial := A_i·x, every element written.

        part     a part, or what `prepare` made of it
        x        float64, all of it where rows are cut, else the segment of the part's columns
        partial  float64, the segment of the part's rows where rows are cut, else all rows
        """
        ...

    def add(self, total: Any, more: Any, lines: Any = None) -> None:
        """Launches total := total + more, or total[lines] := total[lines] + more where lines are named, each once."""
        ...

    def combine(self, y: Any, sums: Any, alpha: float, beta: float) -> None:
        """Launches y := α·sums + β·y; β = 0 does not read y; sums are lost."""
        ...

    def pack(self, vector: Segmented, values: slice, k: int, packed: Any) -> None:
        """Launches what `segments.pack` does: packed := the first k segments of a range of values."""
        ...

    def unpack(self, packed: Any, values: slice, k: int, vector: Segmented) -> None:
        """Launches the inverse, which leaves the other segments."""
        ...

    def reaches(self, other: "Device") -> bool:
        """Whether `fetch_segments` can read from the other device."""
        ...

    def fetch_segments(self, peer: Segmented, values: slice, k: int, vector: Segmented) -> None:
        """Launches the copy of the first k segments of a range of values to the same elements of the device's vector.

        peer  the vector of a device that this one reaches; `wait_event` for what writes it first
        """
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
