"""CpuStopwatch: timing on a CPU with perf_counter_ns around the kernel."""

import itertools
import random
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import DeviceMemoryError
from gpu_engine.host.jit import numba
from gpu_engine.measure.stopwatch import now
from gpu_engine.records import Cache, DeviceInfo

SAMPLE_S = 4e-3
"""Seconds of one warm sample, which repeats the call so that the cost of the clock does not count."""

SAMPLES = 3
"""Maximum number of samples per turn; a round stores their median."""

FLUSHES = 3
"""Number of timed flushes; the fastest counts, because other processes may slow one down."""

PLACEABLE_BYTES = 2**24
"""Most bytes of arrays that are copied to another place before a turn."""

BALLAST_MAX = 2**17
"""Most numbers that are allocated before the arrays of a turn, to shift their place."""

TURN_S = 3e-2
"""Seconds after which a turn takes no further sample; flushing 300 MB takes longer than most SpMVs."""


class CpuStopwatch:
    """Stopwatch of the host; it flushes the cache by rewriting a buffer of twice the last-level cache."""

    backend: str = "cpu"
    xp: Any = np

    def __init__(self, device: DeviceInfo) -> None:
        self.cache_bytes = device.cache_bytes
        self.memory_bytes = device.memory_bytes
        self.largest_footprint = max(4 * device.cache_bytes, 2**28)
        self._flush_buffer = np.zeros(2 * device.cache_bytes // 8)
        # Filled once: a custom kernel that sets another one is refused.
        self._flush_s: list[float] = []
        self._random = random.Random(0)

    def close(self) -> None:
        """Free the flush buffer."""
        self._flush_buffer = np.zeros(0)

    def environment(self) -> dict[str, str]:
        """Return the environment that affects times: versions of Numba and NumPy, threads."""
        return {
            "numba": numba.__version__,
            "numpy": np.__version__,
            "threads": str(numba.get_num_threads()),
            "threading": str(numba.threading_layer()),  # type: ignore[attr-defined]
        }

    def upload(self, matrix: CsrMatrix) -> CsrMatrix:
        """Copy the matrix to plain memory, because a memory-mapped file would be read while the clock runs."""
        return CsrMatrix(
            matrix.n_rows,
            matrix.n_cols,
            np.array(matrix.indptr),
            np.array(matrix.indices),
            np.array(matrix.values),
        )

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Convert a MemoryError in the block to DeviceMemoryError."""
        try:
            yield
        except MemoryError as error:
            raise DeviceMemoryError(f"The host has too little free memory: {error}.") from error

    def synchronize(self) -> None:
        """Do nothing, because the CPU kernels run synchronously."""

    @property
    def placeable_bytes(self) -> float:
        """Most bytes of arrays that `elsewhere` places: copying more would take longer than measuring."""
        return PLACEABLE_BYTES

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Hold memory of random size meanwhile, so that new arrays lie at another place."""
        ballast = np.ones(self._random.randrange(BALLAST_MAX))
        yield
        del ballast

    def take_back(self) -> None:
        """Do nothing, because a host has no streams."""

    def prepare(
        self,
        call: Callable[[], None],
        cache: Cache,
        before: Callable[[], None] | None = None,
        captured: bool = True,  # noqa: ARG002 (a host replays nothing)
    ) -> Callable[[], list[float]]:
        """Return a function that takes a few samples of a call in a cache state, in seconds per call."""
        if before is not None:
            return lambda: [sum(self.time_parts([call], before))]
        call()
        once = self.time_once(call)[1]
        if cache == "cold":
            cold = _samples(self._seconds_of_flush() + once)
            return lambda: self._cold(call, cold)
        repeats = max(1, round(SAMPLE_S / max(once, 1e-7)))
        warm = _samples(repeats * once)
        return lambda: self._warm(call, repeats, warm)

    def _warm(self, call: Callable[[], None], repeats: int, count: int) -> list[float]:
        call()
        samples = []
        for _ in range(count):
            begin = time.perf_counter_ns()
            for _ in range(repeats):
                call()
            samples.append((time.perf_counter_ns() - begin) / repeats / 1e9)
        return samples

    def _cold(self, call: Callable[[], None], count: int) -> list[float]:
        samples = []
        for _ in range(count):
            self._flush()
            begin = time.perf_counter_ns()
            call()
            samples.append((time.perf_counter_ns() - begin) / 1e9)
        return samples

    def _flush(self) -> None:
        """Rewrite the buffer with all threads, because each core has a private cache."""
        _rewrite(self._flush_buffer, numba.get_num_threads())

    def _seconds_of_flush(self) -> float:
        if not self._flush_s:
            # The first flush compiles, and maps the pages of the buffer.
            self._flush()
            self._flush_s.append(min(self.time_once(self._flush)[1] for _ in range(FLUSHES)))
        return self._flush_s[0]

    def can_capture(self, call: Callable[[], None]) -> bool:  # noqa: ARG002 (a host replays nothing)
        """Return True."""
        return True

    def time_parts(self, parts: Sequence[Callable[[], None]], before: Callable[[], None]) -> list[float]:
        """Return the seconds of each of several consecutive calls, run once after `before`."""
        before()
        return [self.time_once(part)[1] for part in parts]

    def part_timer(self) -> None:
        """Return None: a host is busy with the verification of results."""

    def now(self) -> float:
        """Return the seconds of the host clock since an arbitrary start."""
        return now()

    def time_once(self, work: Callable[[], Any]) -> tuple[Any, float]:
        """Return the result of `work` and its seconds."""
        begin = time.perf_counter_ns()
        result = work()
        return result, (time.perf_counter_ns() - begin) / 1e9

    def peak_bytes(self, work: Callable[[], Any]) -> int:
        """Return the peak memory of `work` in bytes, including its result."""
        tracemalloc.start()
        try:
            result = work()
            peak = tracemalloc.get_traced_memory()[1]
            del result
        finally:
            tracemalloc.stop()
        return peak

    def clock_hz(self) -> float | None:
        """Return None: the clock rate of a CPU is not read."""
        return None

    def energy_j(self, _: Callable[[], None], __: float, ___: Callable[[], None] | None = None) -> float | None:
        """Return None: a CPU has no energy counter that this process may read."""
        return None

    def bandwidth(self, footprint: int) -> tuple[float, float]:
        """Return (copy, read) in bytes/s at a footprint in bytes, with all threads; the best of several passes."""
        threads = numba.get_num_threads()
        source = np.ones(max(footprint // 16, threads))
        target = np.zeros_like(source)
        bounds = [source.size * part // threads for part in range(threads + 1)]
        parts = [slice(begin, end) for begin, end in itertools.pairwise(bounds)]
        passes = max(3, min(200, 2**28 // max(footprint, 1)))
        with ThreadPoolExecutor(threads) as pool:
            copy = self._best(lambda: list(pool.map(lambda part: np.copyto(target[part], source[part]), parts)), passes)
        both = np.ones(max(footprint // 8, threads))
        read = self._best(lambda: _sum(both, threads), passes)
        return 2 * source.nbytes / copy, both.nbytes / read

    def _best(self, call: Callable[[], Any], passes: int) -> float:
        call()
        return min(self.time_once(call)[1] for _ in range(passes))

    def gather(self, matrix: CsrMatrix, x: Any) -> Callable[[], None]:
        """Return a call that streams indices and values and gathers x, without row work."""
        parts = numba.get_num_threads()
        sums = np.empty(parts)
        return lambda: _gather(matrix.indices, matrix.values, x, sums)


def _samples(seconds: float) -> int:
    """Return the number of samples per turn if one sample takes `seconds`."""
    return max(1, min(SAMPLES, round(TURN_S / max(seconds, 1e-7))))


@numba.njit(parallel=True, cache=True)
def _rewrite(values: Any, parts: int) -> None:
    for part in numba.prange(parts):
        for index in range(values.size * part // parts, values.size * (part + 1) // parts):
            values[index] += 1.0


@numba.njit(parallel=True, cache=True, fastmath=True)
def _sum(values: Any, parts: int) -> float:
    total = 0.0
    for part in numba.prange(parts):
        inner = 0.0
        for index in range(values.size * part // parts, values.size * (part + 1) // parts):
            inner += values[index]
        total += inner
    return total


@numba.njit(parallel=True, cache=True)
def _gather(indices: Any, values: Any, x: Any, sums: Any) -> None:
    """Gather with four partial sums, because gather instructions of the compiler are slower."""
    parts = sums.size
    for part in numba.prange(parts):
        begin, end = values.size * part // parts, values.size * (part + 1) // parts
        s0 = s1 = s2 = s3 = 0.0
        whole = begin + (end - begin) // 4 * 4
        for entry in range(begin, whole, 4):
            s0 += values[entry] * x[indices[entry]]
            s1 += values[entry + 1] * x[indices[entry + 1]]
            s2 += values[entry + 2] * x[indices[entry + 2]]
            s3 += values[entry + 3] * x[indices[entry + 3]]
        for entry in range(whole, end):
            s0 += values[entry] * x[indices[entry]]
        sums[part] = (s0 + s1) + (s2 + s3)
