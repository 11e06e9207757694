"""Stopwatch: what a backend brings to the bench."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.records import Cache


def now() -> float:
    """Seconds on the clock of the host, since any moment."""
    return time.perf_counter_ns() / 1e9


class PartTimer(Protocol):
    """Does parts that the host launches one by one, and then tells what each took.

    The device waits for the launch of each: for parts that are long beside that.
    """

    def __call__(self, part: Callable[[], None]) -> None:
        """Does a part."""
        ...

    def seconds(self) -> list[float]:
        """Seconds of each part so far, in order; waits for all of them."""
        ...


class Stopwatch(Protocol):
    """Arrays, slices of samples, and the probes behind the floors of one open device.

    xp                 array module of the device: NumPy or CuPy
    cache_bytes        last-level cache
    memory_bytes       memory of the device
    largest_footprint  a footprint that no cache serves, for the bandwidth of memory
    """

    backend: str
    xp: Any
    cache_bytes: int
    memory_bytes: int
    largest_footprint: int

    def close(self) -> None:
        """Gives back what the stopwatch holds."""

    def environment(self) -> dict[str, str]:
        """What a time depends on beside the kernel: versions, threads."""
        ...

    def guard(self) -> AbstractContextManager[None]:
        """Runs a block; the backend's own exceptions become DeviceError and its kin."""
        ...

    def upload(self, matrix: CsrMatrix) -> CsrMatrix:
        """The host matrix in the memory of the device."""
        ...

    def synchronize(self) -> None:
        """Waits for all launched work and raises what it did wrong."""

    def take_back(self) -> None:
        """Makes current again what foreign code may have replaced: the stream of a GPU."""

    def prepare(
        self, call: Callable[[], None], cache: Cache, before: Callable[[], None] | None = None, captured: bool = True
    ) -> Callable[[], list[float]]:
        """A slice: a function that takes a few samples of the call in that cache state, in seconds per call.

        before    makes the state that the call starts from: runs before every call and is not timed; warm only
        captured  whether what the call launches is replayed; else the host launches it while the clock runs, and the
                  call itself waits for what it launches on other streams
        """
        ...

    def time_parts(self, parts: Sequence[Callable[[], None]], before: Callable[[], None]) -> list[float]:
        """Seconds of each of some calls in a row, once, after `before`."""
        ...

    def part_timer(self) -> "PartTimer | None":
        """What times parts that the host launches one by one; None where the host has other work meanwhile."""
        ...

    def now(self) -> float:
        """Seconds on the clock of the host, since any moment: for work that several devices share."""
        ...

    def time_once(self, work: Callable[[], Any]) -> tuple[Any, float]:
        """The result of `work` and its seconds."""
        ...

    def peak_bytes(self, work: Callable[[], Any]) -> int:
        """Most memory of the device that `work` held at a time, its result included."""
        ...

    def clock_hz(self) -> float | None:
        """Clock of the multiprocessors now; None where it is not read."""
        ...

    def energy_j(
        self, call: Callable[[], None], seconds: float, before: Callable[[], None] | None = None
    ) -> float | None:
        """Joules per call over about `seconds` of calls; None where the device has no counter."""
        ...

    def bandwidth(self, footprint: int) -> tuple[float, float]:
        """(copy, read) in bytes/s at a footprint in bytes."""
        ...

    def gather(self, matrix: CsrMatrix, x: Any) -> Callable[[], None]:
        """A call that streams indices and values of the device matrix and gathers x, without row work."""
        ...
