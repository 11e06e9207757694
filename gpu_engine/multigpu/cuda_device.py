"""CUDA devices: the GPUs of this process, each with a separate stream, and peer copies between them."""

import functools
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import cupy
import cupyx

from gpu_engine.errors import ParameterError
from gpu_engine.measure.cuda_errors import translated
from gpu_engine.multigpu.base import Device, Operations, fork, join
from gpu_engine.multigpu.cuda_operations import OPERATIONS, copy_words
from gpu_engine.multigpu.topology import discover

KERNEL_COPY_MAX = 2**20
"""Bytes up to which a kernel copies from a peer: it starts sooner in a CUDA graph than the copy engine."""

PORTABLE = 1
"""Flag cudaHostRegisterPortable: pinned for all GPUs."""


@functools.cache
def reaches(here: int, there: int) -> bool:
    """Return whether kernels of a GPU can read the memory of another one, by their ordinals."""
    return here == there or bool(cupy.cuda.runtime.deviceCanAccessPeer(here, there))


class CudaDevice:
    """GPU of this process with one stream; see Device."""

    virtual = False
    operations: Operations = OPERATIONS

    def __init__(self, ordinal: int, node: int = 0, cpus: tuple[int, ...] = ()) -> None:
        """Open the GPU with an ordinal of the CUDA runtime; raise DeviceError if CUDA fails."""
        self.name, self.node, self.cpus, self.ordinal = f"cuda:{ordinal}", node, cpus, ordinal
        self._device = cupy.cuda.Device(ordinal)
        self._copy_stream: CudaDevice | None = None
        with translated(), self._device:
            self._stream = cupy.cuda.Stream(non_blocking=True)

    def close(self) -> None:
        """Free the unused blocks of the memory pool."""
        with translated(), self._device:
            cupy.get_default_memory_pool().free_all_blocks()

    def allocate(self, size: int, dtype: Any) -> Any:
        """Allocate an array in the memory of the GPU; raise DeviceMemoryError."""
        with self._current():
            return cupy.empty(size, dtype)

    def allocate_host(self, size: int, dtype: Any) -> Any:
        """Allocate an array in pinned host memory."""
        with self._current():
            return cupyx.empty_pinned(size, dtype)

    def pin(self, host: Any) -> None:
        """Register the array as pinned memory, and unregister it when it is freed."""
        if host.nbytes:
            with self._current():
                cupy.cuda.runtime.hostRegister(host.ctypes.data, host.nbytes, PORTABLE)
            finalizer = weakref.finalize(host, cupy.cuda.runtime.hostUnregister, host.ctypes.data)
            # At the end of the process, CUDA may already be shut down.
            finalizer.atexit = False

    def copy_stream(self) -> "CudaDevice":
        """Return the second stream."""
        if self._copy_stream is None:
            self._copy_stream = type(self)(self.ordinal, self.node, self.cpus)
        return self._copy_stream

    def upload(self, host: Any, array: Any) -> None:
        """Launch array := host; only pinned memory is copied at the full rate of the link."""
        self._copy(array.data.ptr, host.ctypes.data, array.nbytes)

    def download(self, array: Any, host: Any) -> None:
        """Launch host := array."""
        self._copy(host.ctypes.data, array.data.ptr, array.nbytes)

    def fetch(self, peer: Any, array: Any) -> None:
        """Launch array := peer, over the link between the GPUs if they have one."""
        if 0 < array.nbytes <= KERNEL_COPY_MAX and reaches(self.ordinal, int(peer.data.device_id)):
            self.call(copy_words, peer, array)
        else:
            self._copy(array.data.ptr, peer.data.ptr, array.nbytes)

    def reaches(self, other: Device) -> bool:
        """Return whether kernels of this GPU can read the memory of the other device."""
        return isinstance(other, CudaDevice) and reaches(self.ordinal, other.ordinal)

    def call(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call function(*arguments) immediately with this stream as the current one."""
        with self._current():
            function(*arguments)

    def record_event(self) -> Any:
        """Record an event after all work launched so far."""
        with self._current():
            return self._stream.record(cupy.cuda.Event(disable_timing=True))

    def wait_event(self, event: Any) -> None:
        """Launch the wait on the GPU; the host does not wait."""
        with self._current():
            self._stream.wait_event(event)

    def capture(self, others: Sequence[Device], function: Callable[[], None]) -> Callable[[int], None]:
        """Capture a graph of all streams and return a function that launches it on this stream."""
        graph = self._graph(others, function)

        def launch(times: int) -> None:
            join(self, others)
            with translated(), self._device:
                for _ in range(times):
                    graph.launch(self._stream)
            fork(self, others)

        return launch

    def synchronize(self) -> None:
        """Wait for all launched work and raise its first error."""
        with translated():
            self._stream.synchronize()

    @contextmanager
    def _current(self) -> Iterator[None]:
        """Make this GPU and stream current, then restore the previous ones; `with stream` would not restore a `use`."""
        with translated(), self._device:
            before = cupy.cuda.get_current_stream()
            self._stream.use()
            try:
                yield
            finally:
                before.use()

    def _graph(self, others: Sequence[Device], function: Callable[[], None]) -> Any:
        with self._current():
            self._stream.begin_capture()
            try:
                fork(self, others)
                function()
                join(self, others)
            except BaseException:
                # End the incomplete capture, so that the stream can be used again.
                with suppress(cupy.cuda.runtime.CUDARuntimeError):
                    self._stream.end_capture()
                raise
            return self._stream.end_capture()

    def _copy(self, to: int, source: int, nbytes: int) -> None:
        if nbytes:
            with translated(), self._device:
                # Addresses are unified, so that CUDA knows which are on the host.
                cupy.cuda.runtime.memcpyAsync(to, source, nbytes, cupy.cuda.runtime.memcpyDefault, self._stream.ptr)


@contextmanager
def cuda_devices(count: int, kind: type[CudaDevice] = CudaDevice) -> Iterator[tuple[CudaDevice, ...]]:
    """Open the first `count` GPUs of this process, ordered by NUMA node, with peer access if the host allows it.

    kind  class of the devices

    Raises ParameterError if fewer GPUs are visible.
    """
    available = cupy.cuda.runtime.getDeviceCount()
    if not 1 <= count <= available:
        raise ParameterError(f"Cannot use {count} GPUs: {available} are visible. Choose 1 to {available} devices.")
    buses = {str(ordinal): cupy.cuda.runtime.deviceGetPCIBusId(ordinal) for ordinal in range(count)}
    nodes = discover(buses).nodes
    devices = tuple(kind(int(ordinal), node.number, node.cpus) for node in nodes for ordinal in node.devices)
    _enable_peers(count)
    try:
        yield devices
    finally:
        for device in devices:
            device.close()


def _enable_peers(count: int) -> None:
    """Enable direct copies between GPUs; where this is not possible, CUDA copies through the host."""
    runtime = cupy.cuda.runtime
    for here in range(count):
        with cupy.cuda.Device(here):
            for there in range(count):
                if here != there and runtime.deviceCanAccessPeer(here, there):
                    # Enabling it twice raises an error.
                    with suppress(runtime.CUDARuntimeError):
                        runtime.deviceEnablePeerAccess(there)
