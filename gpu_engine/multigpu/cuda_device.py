"""CUDA devices: the GPUs of this process, each with a stream of its own, and peer copies between them."""

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import cupy
import cupyx

from gpu_engine.errors import ParameterError
from gpu_engine.measure.cuda_errors import translated
from gpu_engine.multigpu.base import Device, Operations, fork, join
from gpu_engine.multigpu.cuda_operations import OPERATIONS
from gpu_engine.multigpu.topology import discover

PORTABLE = 1
"""cudaHostRegisterPortable: for all GPUs."""


class CudaDevice:
    """A GPU of this process and a stream of it; see Device."""

    virtual = False
    operations: Operations = OPERATIONS

    def __init__(self, ordinal: int, node: int = 0, cpus: tuple[int, ...] = ()) -> None:
        """The GPU that the CUDA runtime counts as `ordinal`; raises DeviceError where CUDA refuses."""
        self.name, self.node, self.cpus, self.ordinal = f"cuda:{ordinal}", node, cpus, ordinal
        self._device = cupy.cuda.Device(ordinal)
        self._copy_stream: CudaDevice | None = None
        with translated(), self._device:
            self._stream = cupy.cuda.Stream(non_blocking=True)

    def close(self) -> None:
        """Gives back what its pool holds unused."""
        with translated(), self._device:
            cupy.get_default_memory_pool().free_all_blocks()

    def allocate(self, size: int, dtype: Any) -> Any:
        """An array in the memory of the GPU; raises DeviceMemoryError."""
        with self._current():
            return cupy.empty(size, dtype)

    def allocate_host(self, size: int, dtype: Any) -> Any:
        """An array in pinned memory."""
        with self._current():
            return cupyx.empty_pinned(size, dtype)

    def pin(self, host: Any) -> None:
        """Registers the array, and gives that up when it is freed."""
        if host.nbytes:
            with self._current():
                cupy.cuda.runtime.hostRegister(host.ctypes.data, host.nbytes, PORTABLE)
            finalizer = weakref.finalize(host, cupy.cuda.runtime.hostUnregister, host.ctypes.data)
            # When the process ends, CUDA may have gone before.
            finalizer.atexit = False

    def copy_stream(self) -> "CudaDevice":
        """A second stream."""
        if self._copy_stream is None:
            self._copy_stream = type(self)(self.ordinal, self.node, self.cpus)
        return self._copy_stream

    def upload(self, host: Any, array: Any) -> None:
        """Launches a copy; at the full rate of the link from pinned memory alone."""
        self._copy(array.data.ptr, host.ctypes.data, array.nbytes)

    def download(self, array: Any, host: Any) -> None:
        """Launches a copy."""
        self._copy(host.ctypes.data, array.data.ptr, array.nbytes)

    def fetch(self, peer: Any, array: Any) -> None:
        """Launches a copy, over the link between the GPUs where there is one."""
        self._copy(array.data.ptr, peer.data.ptr, array.nbytes)

    def reaches(self, other: Device) -> bool:
        """Whether kernels here may read what lies there."""
        if not isinstance(other, CudaDevice) or other.ordinal == self.ordinal:
            return isinstance(other, CudaDevice)
        return bool(cupy.cuda.runtime.deviceCanAccessPeer(self.ordinal, other.ordinal))

    def call(self, function: Callable[..., None], *arguments: Any) -> None:
        """Calls it at once, with this stream as the current one."""
        with self._current():
            function(*arguments)

    def record_event(self) -> Any:
        """An event behind all that was launched."""
        with self._current():
            return self._stream.record(cupy.cuda.Event(disable_timing=True))

    def wait_event(self, event: Any) -> None:
        """Launches the waiting, on the GPU alone."""
        with self._current():
            self._stream.wait_event(event)

    def capture(self, others: Sequence[Device], function: Callable[[], None]) -> Callable[[int], None]:
        """A graph of all streams, launched on this one."""
        graph = self._graph(others, function)

        def launch(times: int) -> None:
            join(self, others)
            with translated(), self._device:
                for _ in range(times):
                    graph.launch(self._stream)
            fork(self, others)

        return launch

    def synchronize(self) -> None:
        """Waits for all launched work."""
        with translated():
            self._stream.synchronize()

    @contextmanager
    def _current(self) -> Iterator[None]:
        """This GPU and this stream as the current ones, and then those before: a `with stream` would forget a `use`."""
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
                # What broke off is no graph, and the stream is to be of use again.
                with suppress(cupy.cuda.runtime.CUDARuntimeError):
                    self._stream.end_capture()
                raise
            return self._stream.end_capture()

    def _copy(self, to: int, source: int, nbytes: int) -> None:
        if nbytes:
            with translated(), self._device:
                # Addresses are unified: CUDA knows on which side each lies.
                cupy.cuda.runtime.memcpyAsync(to, source, nbytes, cupy.cuda.runtime.memcpyDefault, self._stream.ptr)


@contextmanager
def cuda_devices(count: int, kind: type[CudaDevice] = CudaDevice) -> Iterator[tuple[CudaDevice, ...]]:
    """The first GPUs of this process, by NUMA node, which reach each other's memory where the host allows it.

    kind  of which they are made

    Raises ParameterError where CUDA shows fewer.
    """
    available = cupy.cuda.runtime.getDeviceCount()
    if not 1 <= count <= available:
        raise ParameterError(f"There are {available} GPUs for {count} parts; choose 1 to {available} devices.")
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
    """Lets GPUs copy from each other directly; where they cannot, CUDA copies by way of the host."""
    runtime = cupy.cuda.runtime
    for here in range(count):
        with cupy.cuda.Device(here):
            for there in range(count):
                if here != there and runtime.deviceCanAccessPeer(here, there):
                    # It may have been enabled before.
                    with suppress(runtime.CUDARuntimeError):
                        runtime.deviceEnablePeerAccess(there)
