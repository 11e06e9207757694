"""The stopwatch of a GPU: CUDA events inside a replayed CUDA graph, so that no time of the host is measured.

Only what is not `captured` is launched between the events, to be timed with its launches.
"""

import ctypes
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import pynvml

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import DeviceError
from gpu_engine.host.device import uuid_at
from gpu_engine.measure.cuda_errors import translated
from gpu_engine.measure.cuda_parts import CudaPartTimer
from gpu_engine.measure.stopwatch import now
from gpu_engine.records import Cache, DeviceInfo

COPY, READ, GATHER = "copy_probe<1>", "read_probe<4>", "gather_probe<4>"
"""The probes with the elements a thread that were fastest on an H200: a copy reaches 4.29 TB/s at 1, 4.06 at 8."""

BLOCK = 256
PROBES = CudaSource(__package__, "probes.cu", (COPY, READ, GATHER))

SAMPLE_S = 1e-3
"""A warm sample repeats the call for about this long: the resolution of events is under 0.1 % of it."""

REPEATS_MAX = 400
SHORTEST_S = 1e-7
"""No kernel is shorter: what it is divided by is not 0."""
NEVER = 0.5e300
"""A sum that no probe finds: it writes its sum if it equals this, so the compiler keeps the loads."""

WARM_SAMPLES = 3
COLD_SAMPLES = 5

TURN_S = 1e-2
"""No turn has further samples once its calls take so long: one of a call of 20 ms says as much as five."""

LONG_S = 0.1
"""The first run of what takes so long is a sample like any other: what it warms up is nothing beside that."""

RECORD_EXTERNAL = 1
"""CU_EVENT_RECORD_EXTERNAL: an event recorded while capturing becomes a node of the graph that can be timed."""


class CudaStopwatch:
    """Times calls on one GPU; the cache is flushed by rewriting a buffer of twice the L2."""

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
            self._driver = ctypes.CDLL("libcuda.so.1")
            pynvml.nvmlInit()
            self._nvml = pynvml.nvmlDeviceGetHandleByUUID(device.uuids[0])

    def close(self) -> None:
        """Gives back the stream and all pooled memory."""
        pynvml.nvmlShutdown()
        del self._flush_buffer
        cupy.cuda.Stream.null.use()
        cupy.get_default_memory_pool().free_all_blocks()

    def environment(self) -> dict[str, str]:
        """What a time depends on beside the kernel."""
        runtime = cupy.cuda.runtime.runtimeGetVersion()
        compiler = cupy.cuda.nvrtc.getVersion()
        return {
            "cupy": cupy.__version__,
            "CUDA runtime": f"{runtime // 1000}.{runtime % 1000 // 10}",
            "NVRTC": f"{compiler[0]}.{compiler[1]}",
        }

    def guard(self) -> Any:
        """Runs a block; CUDA errors become DeviceMemoryError, DeviceLostError or DeviceError."""
        return translated()

    def upload(self, matrix: CsrMatrix) -> CsrMatrix:
        """The matrix on this GPU."""
        return matrix.on(cupy)

    def synchronize(self) -> None:
        """Waits for all launched work; what it did wrong is raised here."""
        with translated():
            self._device.synchronize()

    def take_back(self) -> None:
        """Makes its stream the current one again."""
        self._stream.use()

    def prepare(
        self, call: Callable[[], None], cache: Cache, before: Callable[[], None] | None = None, captured: bool = True
    ) -> Callable[[], list[float]]:
        """A slice: a function that takes a few samples of the call in that cache state, in seconds per call."""
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
        graph, events = self._capture([None] * samples, call, repeats)
        return lambda: self._replay(graph, events, repeats)

    def _once(self, call: Callable[[], None]) -> float:
        """Seconds of a call, replayed once; at least SHORTEST_S."""
        return max(*self._replay(*self._capture([None], call, 1), 1), SHORTEST_S)

    def _launched(self, before: Callable[[], None], call: Callable[[], None]) -> float:
        """Seconds of a call that the host launches to an idle device, from its begin to the end of its last kernel."""
        before()
        # While the device still rewrote its cache, the host would be launching ahead of the clock.
        self.synchronize()
        begin, end = self._stream.record(cupy.cuda.Event()), cupy.cuda.Event()
        call()
        self._stream.record(end).synchronize()
        return float(cupy.cuda.get_elapsed_time(begin, end)) * 1e-3

    def _prepare_after(self, before: Callable[[], None], call: Callable[[], None]) -> Callable[[], list[float]]:
        """The same with something untimed before each sample; what `call` does to the host happens only once."""
        before()
        graph, events = self._capture([None], call, 1)
        first = self._replay(graph, events, 1)
        kept = [first] if first[0] >= LONG_S else []

        def sample() -> list[float]:
            if kept:
                return kept.pop()
            before()
            return self._replay(graph, events, 1)

        return sample

    def time_parts(self, parts: Sequence[Callable[[], None]], before: Callable[[], None]) -> list[float]:
        """Seconds of each of some calls in a row, once, after `before`: events between them in one graph."""
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

    def _flush(self) -> None:
        self._flush_buffer.data.memset_async(1, self._flush_buffer.nbytes)

    def _capture(self, steps: list[Any], call: Callable[[], None], repeats: int) -> tuple[Any, list[tuple[Any, Any]]]:
        """A graph of the steps: a function runs untimed, None is a sample of `repeats` calls between two events."""
        if cupy.cuda.get_current_stream() != self._stream:
            raise DeviceError("A call left another CUDA stream current: a graph would miss all that follows it.")
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
                f"The driver does not record events in graphs (error {status}); it needs CUDA 11.1 or newer."
            )

    def _replay(self, graph: Any, events: list[tuple[Any, Any]], repeats: int) -> list[float]:
        with translated():
            graph.launch(self._stream)
            self._stream.synchronize()
            return [cupy.cuda.get_elapsed_time(begin, end) * 1e-3 / repeats for begin, end in events]

    def part_timer(self) -> CudaPartTimer:
        """What times parts between two events each."""
        return CudaPartTimer(self._stream)

    def now(self) -> float:
        """Seconds on the clock of the host, since any moment."""
        return now()

    def time_once(self, work: Callable[[], Any]) -> tuple[Any, float]:
        """The result of `work` and its seconds on the host's clock, the device's work included."""
        self.synchronize()
        begin = time.perf_counter_ns()
        result = work()
        self.synchronize()
        return result, (time.perf_counter_ns() - begin) / 1e9

    def peak_bytes(self, work: Callable[[], Any]) -> int:
        """Most device memory that `work` held at a time, in bytes, its result included."""
        with _PeakHook() as hook:
            result = work()
            self.synchronize()
            del result
        return int(hook.peak)

    def clock_hz(self) -> float | None:
        """The SM clock now."""
        with translated():
            return float(pynvml.nvmlDeviceGetClockInfo(self._nvml, pynvml.NVML_CLOCK_SM)) * 1e6

    def energy_j(
        self, call: Callable[[], None], seconds: float, before: Callable[[], None] | None = None
    ) -> float | None:
        """Joules per call from the total-energy counter over about `seconds` of calls; None where there is none.

        What runs before each call is measured apart and taken off.
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
        """Joules of a call: those of as many times `before` and the call, less those of `before` alone.

        None where the counter, which stands still for up to 0.1 s, was read too early to see the calls.
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
        """(copy, read) in bytes/s at a footprint in bytes: a kernel that copies on the device, and one that reads."""
        values, out = cupy.ones(footprint // 8), cupy.empty(1)
        half, pairs = values.size // 2, values.size // 2
        copy = probe(COPY, half // 2, values[:half], values[half:])
        read = probe(READ, pairs, values, cupy.float64(NEVER), out)
        copy_s, read_s = (min(self.prepare(call, "warm")()) for call in (copy, read))
        return 2 * 16 * (half // 2) / copy_s, 16 * pairs / read_s

    def gather(self, matrix: CsrMatrix, x: Any) -> Callable[[], None]:
        """A call that streams indices and values and gathers x, without row work."""
        return probe(GATHER, matrix.nnz, matrix.indices, matrix.values, x, cupy.float64(NEVER), cupy.empty(1))


def _repeats(once: float, seconds: float) -> int:
    """How many calls of that length take about so long, as many as a graph may hold at most."""
    return max(1, min(REPEATS_MAX, round(seconds / once)))


def probe(name: str, n: int, *arguments: Any) -> Callable[[], None]:
    """A call of the probe of that name over n elements."""
    items = int(name.partition("<")[2].removesuffix(">"))
    kernel, blocks = PROBES.function(name), -(-n // (BLOCK * items))
    return lambda: kernel((blocks,), (BLOCK,), (cupy.int64(n), *arguments))


class _PeakHook(cupy.cuda.MemoryHook):  # type: ignore[misc]
    """Counts what the memory pool hands out."""

    name = "PeakHook"

    def __init__(self) -> None:
        self.held = self.peak = 0

    def malloc_postprocess(self, **call: Any) -> None:
        self.held += call["mem_size"]
        self.peak = max(self.peak, self.held)

    def free_preprocess(self, **call: Any) -> None:
        self.held -= call["mem_size"]


def _ordinal(uuid: str) -> int:
    """The runtime's number of the GPU with that UUID (`GPU-…`)."""
    for ordinal in range(cupy.cuda.runtime.getDeviceCount()):
        if uuid_at(cupy.cuda.runtime.deviceGetPCIBusId(ordinal)) == uuid:
            return ordinal
    raise DeviceError(f"The GPU {uuid} is not visible to this process; check CUDA_VISIBLE_DEVICES.")
