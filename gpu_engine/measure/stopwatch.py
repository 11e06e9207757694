"""Stopwatch: the interface of a back end for timing."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.records import Cache


def now() -> float:
    """Return the seconds of the host clock since an arbitrary start."""
    return time.perf_counter_ns() / 1e9


class PartTimer(Protocol):
    """A timer of parts that the host launches one by one.

    The device waits for the launch of each part, so parts should be long compared with a launch.
    """

    def __call__(self, part: Callable[[], None]) -> None:
        """Run a part and time it."""
        ...

    def seconds(self) -> list[float]:
        """Wait for all parts and return their seconds, in order."""
        ...


class Stopwatch(Protocol):
    """Arrays, samples, and probes of one open device.

    xp                 array module of the device: NumPy or CuPy
    cache_bytes        last-level cache
    memory_bytes       memory of the device
    largest_footprint  footprint in bytes that exceeds all caches, for the memory bandwidth
    """

    backend: str
    xp: Any
    cache_bytes: int
    memory_bytes: int
    largest_footprint: int

    def close(self) -> None:
        """Free the resources of the stopwatch."""

    def environment(self) -> dict[str, str]:
        """Return the environment that affects times: versions, threads."""
        ...

    def guard(self) -> AbstractContextManager[None]:
        """Return a context that converts exceptions of the back end to DeviceError or a subclass."""
        ...

    def upload(self, matrix: CsrMatrix) -> CsrMatrix:
        """Copy a host matrix to the device."""
        ...

    def synchronize(self) -> None:
        """Wait for all launched work and raise its errors."""

    @property
    def placeable_bytes(self) -> float:
        """Most bytes of arrays that `elsewhere` places."""
        ...

    def elsewhere(self) -> AbstractContextManager[None]:
        """Return a context in which new arrays lie at another place in memory, valid until the next one."""
        ...

    def take_back(self) -> None:
        """Restore state that other code may have replaced, such as the current stream of a GPU."""

    def prepare(
        self, call: Callable[[], None], cache: Cache, before: Callable[[], None] | None = None, captured: bool = True
    ) -> Callable[[], list[float]]:
        """Return a function that takes a few samples of a call in a cache state, in seconds per call.

        before    sets the state that the call starts from: runs before every call, untimed; warm only
        captured  whether the launches are replayed; else the host launches while the clock runs, and the
                  call waits for its work on other streams
        """
        ...

    def can_capture(self, call: Callable[[], None]) -> bool:
        """Return whether a call, which has run once, may be `captured`."""
        ...

    def time_parts(self, parts: Sequence[Callable[[], None]], before: Callable[[], None]) -> list[float]:
        """Return the seconds of each of several consecutive calls, run once after `before`."""
        ...

    def part_timer(self) -> "PartTimer | None":
        """Return a timer of parts that the host launches one by one; None if the host is busy meanwhile."""
        ...

    def now(self) -> float:
        """Return the seconds of the host clock, for work that several devices share."""
        ...

    def time_once(self, work: Callable[[], Any]) -> tuple[Any, float]:
        """Return the result of `work` and its seconds."""
        ...

    def peak_bytes(self, work: Callable[[], Any]) -> int:
        """Return the peak device memory of `work` in bytes, including its result."""
        ...

    def clock_hz(self) -> float | None:
        """Return the present clock rate of the multiprocessors in Hz; None if it is not available."""
        ...

    def energy_j(
        self, call: Callable[[], None], seconds: float, before: Callable[[], None] | None = None
    ) -> float | None:
        """Return the joules per call over about `seconds` of calls; None if the device has no counter."""
        ...

    def bandwidth(self, footprint: int) -> tuple[float, float]:
        """Return (copy, read) in bytes/s at a footprint in bytes."""
        ...

    def gather(self, matrix: CsrMatrix, x: Any) -> Callable[[], None]:
        """Return a call that streams indices and values of the device matrix and gathers x, without row work."""
        ...
