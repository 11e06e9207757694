"""CudaStopwatch: timing on a GPU with CUDA events in a replayed CUDA graph, so that no host time is measured.

Calls that are not `captured` are launched between the events, so that their times include the launches.
"""

import ctypes
import itertools
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import cupy
import pynvml

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import DeviceError, KernelError
from gpu_engine.host.device import uuid_at
from gpu_engine.measure.cuda_arena import CudaArena
from gpu_engine.measure.cuda_errors import translated
from gpu_engine.measure.cuda_parts import CudaPartTimer
from gpu_engine.measure.stopwatch import now
from gpu_engine.records import Cache, DeviceInfo

COPY, READ, GATHER = "copy_probe<1>", "read_probe<4>", "gather_probe<4>"
"""Probes, with the elements per thread that were fastest on an H200: a copy reaches 4.29 TB/s at 1, 4.06 at 8."""

BLOCK = 256
PROBES = CudaSource(__package__, "probes.cu", (COPY, READ, GATHER))

SAMPLE_S = 1e-3
"""Seconds of one warm sample, which repeats the call; the resolution of events is below 0.1 % of it."""

REPEATS_MAX = 400
SHORTEST_S = 1e-7
"""Lower bound for the seconds of a kernel, so that no division by 0 occurs."""
NEVER = 0.5e300
"""Impossible sum: a probe writes its sum if it equals this, so that the compiler keeps the loads."""

WARM_SAMPLES = 3
COLD_SAMPLES = 5

TURN_S = 1e-2
"""Seconds after which a turn takes no further sample; one sample of a 20 ms call is as good as five."""

LONG_S = 0.1
"""Seconds of a call from which on its first run counts as a sample, because warm-up is negligible."""

RECORD_EXTERNAL = 1
"""CU_EVENT_RECORD_EXTERNAL: an event recorded while capturing becomes a node of the graph that can be timed."""


class CudaStopwatch:
    """Stopwatch of one GPU; it flushes the cache by rewriting a buffer of twice the L2."""

    backend: str = "cuda"
    xp: Any = cupy

    def __init__(self, device: DeviceInfo) -> None:
        with translated():
            self._device = cupy.cuda.Device(_ordinal(device.uuids[0]))
            self._device.use()
            self._stream = cupy.cuda.Stream(non_blocking=True)
            self._stream.use()
            self.cache_bytes = int(self._device.attributes["L2CacheSize"])
            self.memory_bytes = int(self._device.mem_info[1])
            self.largest_footprint = max(16 * self.cache_bytes, 2**31)
            self._flush_buffer = cupy.zeros(2 * self.cache_bytes, dtype=cupy.uint8)
            self._arena = CudaArena()
            self._driver = ctypes.CDLL("libcuda.so.1")
            pynvml.nvmlInit()
            self._nvml = pynvml.nvmlDeviceGetHandleByUUID(device.uuids[0])

    def close(self) -> None:
        """Release the stream and all pooled memory."""
        pynvml.nvmlShutdown()
        del self._flush_buffer
        self._arena.release()
        cupy.cuda.Stream.null.use()
        cupy.get_default_memory_pool().free_all_blocks()

    def environment(self) -> dict[str, str]:
        """Return the environment that affects times: versions of CuPy, CUDA, and NVRTC."""
        runtime = cupy.cuda.runtime.runtimeGetVersion()
        compiler = cupy.cuda.nvrtc.getVersion()
        return {
            "cupy": cupy.__version__,
            "CUDA runtime": f"{runtime // 1000}.{runtime % 1000 // 10}",
            "NVRTC": f"{compiler[0]}.{compiler[1]}",
        }

    def guard(self) -> Any:
        """Return a context that converts CUDA errors to DeviceMemoryError, DeviceLostError, or DeviceError."""
        return translated()

    def upload(self, matrix: CsrMatrix) -> CsrMatrix:
        """Copy a host matrix to this GPU."""
        return matrix.on(cupy)

    def synchronize(self) -> None:
        """Wait for all launched work and raise its errors."""
        with translated():
            self._device.synchronize()

    @property
    def placeable_bytes(self) -> float:
        """Most bytes of arrays that `elsewhere` places."""
        return self._arena.fitting_bytes

    def elsewhere(self) -> AbstractContextManager[None]:
        """Return a context in which new arrays lie at a random place of an arena."""
        return self._arena.elsewhere()

    def take_back(self) -> None:
        """Make the stream of the stopwatch current again."""
        self._stream.use()

    def prepare(
        self, call: Callable[[], None], cache: Cache, before: Callable[[], None] | None = None, captured: bool = True
    ) -> Callable[[], list[float]]:
        """Return a function that takes a few samples of a call in a cache state, in seconds per call.

        Warm samples follow a flush and an untimed replay, so that the cache holds lines that were read. Lines that were
        just written, such as those of a conversion, are up to 1.8 times as fast on an H100 until they are evicted.
        """
        if before is not None:
            return self._prepare_after(before, call)
        call()
        self.synchronize()
        once = self._once(call) if captured else max(self._launched(lambda: None, call), SHORTEST_S)
        samples = max(1, min(COLD_SAMPLES if cache == "cold" else WARM_SAMPLES, round(TURN_S / once)))
        if not captured:
            flush = self._flush if cache == "cold" else lambda: None
            return lambda: [self._launched(flush, call) for _ in range(samples)]
        if cache == "cold":
            graph, events = self._capture([self._flush, None] * samples, call, 1)
            return lambda: self._replay(graph, events, 1)
        repeats = _repeats(once, SAMPLE_S)
        graph, events = self._capture([None], call, repeats)
        return lambda: self._warm(graph, events, repeats, samples)

    def _warm(self, graph: Any, events: list[tuple[Any, Any]], repeats: int, samples: int) -> list[float]:
        """Return samples of a graph of `repeats` calls; a call of a sample or longer warms up within itself."""
        if repeats > 1:
            self._flush()
            graph.launch(self._stream)
        return [seconds for _ in range(samples) for seconds in self._replay(graph, events, repeats)]

    def _once(self, call: Callable[[], None]) -> float:
        """Return the seconds of a call, replayed once; at least SHORTEST_S."""
        return max(*self._replay(*self._capture([None], call, 1), 1), SHORTEST_S)

    def _launched(self, before: Callable[[], None], call: Callable[[], None]) -> float:
        """Return the seconds of a call on an idle device, from its launch to the end of its last kernel."""
        before()
        # Otherwise the host would launch while the device still rewrites its cache, before the clock starts.
        self.synchronize()
        begin, end = self._stream.record(cupy.cuda.Event()), cupy.cuda.Event()
        call()
        self._stream.record(end).synchronize()
        return float(cupy.cuda.get_elapsed_time(begin, end)) * 1e-3

    def _prepare_after(self, before: Callable[[], None], call: Callable[[], None]) -> Callable[[], list[float]]:
        """Return a function that runs `before`, untimed, and takes a sample; host work of `call` runs only once."""
        before()
        graph, events = self._capture([None], call, 1)
        first = self._replay(graph, events, 1)
        first_sample = [first] if first[0] >= LONG_S else []

        def sample() -> list[float]:
            if first_sample:
                return first_sample.pop()
            self._flush()
            before()
            return self._replay(graph, events, 1)

        return sample

    def time_parts(self, parts: Sequence[Callable[[], None]], before: Callable[[], None]) -> list[float]:
        """Return the seconds of each of several consecutive calls after `before`, by events in one graph."""
        before()
        events = [cupy.cuda.Event() for _ in range(len(parts) + 1)]
        self._stream.begin_capture()
        try:
            self._record(events[0])
            for part, event in zip(parts, events[1:], strict=True):
                part()
                self._record(event)
        finally:
            graph = self._stream.end_capture()
        return self._replay(graph, list(itertools.pairwise(events)), 1)

    def can_capture(self, call: Callable[[], None]) -> bool:
        """Return whether a CUDA graph can replay a call: a library that waits for the device forbids it."""
        try:
            self._once(call)
        except (cupy.cuda.runtime.CUDARuntimeError, KernelError):
            return False
        return True

    def _flush(self) -> None:
        self._flush_buffer.data.memset_async(1, self._flush_buffer.nbytes)

    def _capture(self, steps: list[Any], call: Callable[[], None], repeats: int) -> tuple[Any, list[tuple[Any, Any]]]:
        """Return a graph of steps: functions run untimed, None is a sample of `repeats` calls between two events."""
        if cupy.cuda.get_current_stream() != self._stream:
            raise DeviceError(
                "A call left another CUDA stream current. Restore the stream, so that the graph captures all work."
            )
        events: list[tuple[Any, Any]] = []
        self._stream.begin_capture()
        try:
            for step in steps:
                if step is not None:
                    step()
                    continue
                pair = cupy.cuda.Event(), cupy.cuda.Event()
                self._record(pair[0])
                for _ in range(repeats):
                    call()
                self._record(pair[1])
                events.append(pair)
        finally:
            graph = self._stream.end_capture()
        return graph, events

    def _record(self, event: Any) -> None:
        status = self._driver.cuEventRecordWithFlags(
            ctypes.c_void_p(event.ptr), ctypes.c_void_p(self._stream.ptr), ctypes.c_uint(RECORD_EXTERNAL)
        )
        if status:
            raise DeviceError(
                f"The driver cannot record events in graphs (error {status}). Install a driver for CUDA 11.1 or newer."
            )

    def _replay(self, graph: Any, events: list[tuple[Any, Any]], repeats: int) -> list[float]:
        with translated():
            graph.launch(self._stream)
            self._stream.synchronize()
            return [cupy.cuda.get_elapsed_time(begin, end) * 1e-3 / repeats for begin, end in events]

    def part_timer(self) -> CudaPartTimer:
        """Return a timer of parts, each between two events."""
        return CudaPartTimer(self._stream)

    def now(self) -> float:
        """Return the seconds of the host clock since an arbitrary start."""
        return now()

    def time_once(self, work: Callable[[], Any]) -> tuple[Any, float]:
        """Return the result of `work` and its seconds on the host clock, including the work of the device."""
        self.synchronize()
        begin = time.perf_counter_ns()
        result = work()
        self.synchronize()
        return result, (time.perf_counter_ns() - begin) / 1e9

    def peak_bytes(self, work: Callable[[], Any]) -> int:
        """Return the peak device memory of `work` in bytes, including its result."""
        with _PeakHook() as hook:
            result = work()
            self.synchronize()
            del result
        return int(hook.peak)

    def clock_hz(self) -> float | None:
        """Return the present SM clock rate in Hz."""
        with translated():
            return float(pynvml.nvmlDeviceGetClockInfo(self._nvml, pynvml.NVML_CLOCK_SM)) * 1e6

    def energy_j(
        self, call: Callable[[], None], seconds: float, before: Callable[[], None] | None = None
    ) -> float | None:
        """Return the joules per call from the total-energy counter over about `seconds` of calls; None without one.

        The energy of `before` is measured separately and subtracted.
        """
        try:
            self._energy_mj()
        except pynvml.NVMLError_NotSupported:
            return None
        if before is not None:
            return self._energy_after(before, call, seconds)
        repeats = _repeats(self._once(call), seconds)
        graph, events = self._capture([None], call, repeats)
        launches = max(1, round(seconds / (self._replay(graph, events, repeats)[0] * repeats)))
        begin = self._energy_mj()
        with translated():
            for _ in range(launches):
                graph.launch(self._stream)
            self._stream.synchronize()
        return (self._energy_mj() - begin) * 1e-3 / (launches * repeats)

    def _energy_after(self, before: Callable[[], None], call: Callable[[], None], seconds: float) -> float | None:
        """Return the joules of a call: repeated runs of `before` and the call, minus equally many of `before`.

        None if the counter, which is updated only every 0.1 s, did not register the calls.
        """
        before()
        graph, events = self._capture([None], call, 1)
        times = max(1, round(seconds / self._replay(graph, events, 1)[0]))
        spent = []
        for runs in (True, False):
            begin = self._energy_mj()
            with translated():
                for _ in range(times):
                    before()
                    if runs:
                        graph.launch(self._stream)
                self._stream.synchronize()
            spent.append(self._energy_mj() - begin)
        return (spent[0] - spent[1]) * 1e-3 / times if spent[0] > spent[1] else None

    def _energy_mj(self) -> float:
        with translated():
            return float(pynvml.nvmlDeviceGetTotalEnergyConsumption(self._nvml))

    def bandwidth(self, footprint: int) -> tuple[float, float]:
        """Return (copy, read) in bytes/s at a footprint in bytes, of a copy kernel and a read kernel."""
        values, out = cupy.ones(footprint // 8), cupy.empty(1)
        half, pairs = values.size // 2, values.size // 2
        copy = probe(COPY, half // 2, values[:half], values[half:])
        read = probe(READ, pairs, values, cupy.float64(NEVER), out)
        copy_s, read_s = (min(self.prepare(call, "warm")()) for call in (copy, read))
        return 2 * 16 * (half // 2) / copy_s, 16 * pairs / read_s

    def gather(self, matrix: CsrMatrix, x: Any) -> Callable[[], None]:
        """Return a call that streams indices and values and gathers x, without row work."""
        return probe(GATHER, matrix.nnz, matrix.indices, matrix.values, x, cupy.float64(NEVER), cupy.empty(1))


def _repeats(once: float, seconds: float) -> int:
    """Return the number of calls that take about `seconds`, at most REPEATS_MAX."""
    return max(1, min(REPEATS_MAX, round(seconds / once)))


def probe(name: str, n: int, *arguments: Any) -> Callable[[], None]:
    """Return a call of a probe over n elements."""
    items = int(name.partition("<")[2].removesuffix(">"))
    kernel, blocks = PROBES.function(name), -(-n // (BLOCK * items))
    return lambda: kernel((blocks,), (BLOCK,), (cupy.int64(n), *arguments))


class _PeakHook(cupy.cuda.MemoryHook):  # type: ignore[misc]
    """Memory hook that records the peak of the pool, in bytes."""

    name = "PeakHook"

    def __init__(self) -> None:
        self.held = self.peak = 0

    def malloc_postprocess(self, **call: Any) -> None:
        self.held += call["mem_size"]
        self.peak = max(self.peak, self.held)

    def free_preprocess(self, **call: Any) -> None:
        self.held -= call["mem_size"]


def _ordinal(uuid: str) -> int:
    """Return the runtime's number of the GPU with that UUID (`GPU-…`)."""
    for ordinal in range(cupy.cuda.runtime.getDeviceCount()):
        if uuid_at(cupy.cuda.runtime.deviceGetPCIBusId(ordinal)) == uuid:
            return ordinal
    raise DeviceError(f"The GPU {uuid} is not visible to this process. Check CUDA_VISIBLE_DEVICES.")
