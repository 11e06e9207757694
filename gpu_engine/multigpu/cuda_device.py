"""CUDA devices: the GPUs of this process, each with a stream of its own, and peer copies between them.

Products of parts that are multiplied once take their arrays as they came; `prepare` cuts those that are multiplied
often into the tiles of formats/split.py, our fastest kernel on plain CSR.
"""

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import cupy
import cupyx
import numpy as np

from gpu_engine import cpms
from gpu_engine.cpms import Segmented
from gpu_engine.cpms.layout import group_size
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import KernelError, ParameterError
from gpu_engine.formats import coo, csc, split
from gpu_engine.formats.base import Kernel
from gpu_engine.formats.coo import CooLayout
from gpu_engine.formats.csc import CscLayout
from gpu_engine.formats.csr import smart
from gpu_engine.formats.csr.layout import CsrLayout
from gpu_engine.formats.split import SplitLayout
from gpu_engine.measure.cuda_errors import translated
from gpu_engine.multigpu.base import Device, PreparedPart, fork, join
from gpu_engine.multigpu.merge import combine
from gpu_engine.multigpu.partition import Part, Partitioning, Span
from gpu_engine.multigpu.topology import discover

BLOCK, VALUES = 256, 16
"""Threads of a block, and values of which one copies the segments from a peer: with 32-bit segments four words."""

SEGMENTS = CudaSource(
    __package__,
    "segments.cu",
    tuple(f"{kernel}<{segments}>" for kernel in ("pack", "unpack", "copy_segments") for segments in cpms.SEGMENTS),
)
PORTABLE = 1
"""cudaHostRegisterPortable: for all GPUs."""

EVERY = np.uint64(0)
"""The null pointer, instead of numbers of lines."""

PACK_BYTES, LINES = 16, {4: "int", 8: "long long"}
"""Bytes of the largest load of a thread; the types of line numbers and pointers by their bytes."""

ENTRIES = CudaSource(
    __package__,
    "entries.cu",
    (
        *("add_entries", "add_lines"),
        *(f"rewrite_lines<{LINES[size]}, {pack}>" for size in LINES for pack in (PACK_BYTES // size, 1)),
    ),
)


@dataclass(frozen=True, slots=True)
class TiledPart:
    """A part of rows cut into tiles, for many products."""

    span: Span
    layout: SplitLayout

    def with_values(self, values: Any) -> "TiledPart":
        """The same tiles of other values."""
        return replace(self, layout=replace(self.layout, matrix=replace(self.layout.matrix, values=values)))


class CudaDevice:
    """A GPU of this process and a stream of it; see Device."""

    virtual = False

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

    def rewrite(self, partitioning: Partitioning, span: Span, raw: Any, local: Any) -> None:
        """Launches what `partition.rewrite` does, at the speed of a copy."""
        info, kind = np.iinfo(raw.dtype), raw.dtype.type
        limits = (info.min, info.max, span.first)
        if partitioning.compressed:
            limits = (span.start, span.end, span.start)
        pack = PACK_BYTES // raw.itemsize
        if (raw.data.ptr | local.data.ptr) % PACK_BYTES:
            pack = 1
        if raw.size:
            with self._current():
                kernel = ENTRIES.function(f"rewrite_lines<{LINES[raw.itemsize]}, {pack}>")
                arguments = (cupy.int64(raw.size), raw, *map(kind, limits), local)
                kernel((-(-raw.size // (BLOCK * pack)),), (BLOCK,), arguments)

    def prepare(self, partitioning: Partitioning, part: Part, n_cols: int) -> PreparedPart:
        """Cuts a part of CSR into tiles; another one as it is. Allocates, and waits."""
        if partitioning.axis != "rows" or not partitioning.compressed:
            return part
        with self._current():
            return TiledPart(part.span, SplitLayout.from_csr(_csr(part, n_cols)))

    def multiply(self, partitioning: Partitioning, part: Any, x: Any, partial: Any) -> None:
        """Launches the product of the part."""
        with self._current():
            if partial.size:
                _multiply(partitioning, part, x, partial)

    def add(self, total: Any, more: Any, lines: Any = None) -> None:
        """Launches total := total + more, of all lines or of some."""
        if more.size:
            with self._current():
                arguments = (cupy.int64(more.size), EVERY if lines is None else lines, more, total)
                ENTRIES.function("add_lines")((-(-more.size // BLOCK),), (BLOCK,), arguments)

    def combine(self, y: Any, sums: Any, alpha: float, beta: float) -> None:
        """Launches y := α·sums + β·y."""
        with self._current():
            combine(y, sums, alpha, beta)

    def pack(self, vector: Segmented, values: slice, k: int, packed: Any) -> None:
        """Launches `segments.pack`."""
        self._segments("pack", vector, values, k, packed)

    def unpack(self, packed: Any, values: slice, k: int, vector: Segmented) -> None:
        """Launches `segments.unpack`."""
        self._segments("unpack", vector, values, k, packed)

    def reaches(self, other: Device) -> bool:
        """Whether kernels here may read what lies there."""
        if not isinstance(other, CudaDevice) or other.ordinal == self.ordinal:
            return isinstance(other, CudaDevice)
        return bool(cupy.cuda.runtime.deviceCanAccessPeer(self.ordinal, other.ordinal))

    def fetch_segments(self, peer: Segmented, values: slice, k: int, vector: Segmented) -> None:
        """Launches a kernel that reads the memory of the peer."""
        count = values.stop - values.start
        if count:
            extent = (cupy.int64(values.start), cupy.int64(values.stop), cupy.int32(k))
            with self._current():
                kernel = SEGMENTS.function(f"copy_segments<{vector.segments}>")
                kernel((-(-count // (BLOCK * VALUES)),), (BLOCK,), (*extent, peer.units, vector.units))

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

    def _segments(self, kernel: str, vector: Segmented, values: slice, k: int, packed: Any) -> None:
        count = values.stop - values.start
        if count:
            group_size(vector.segments)
            with self._current():
                arguments = (cupy.int64(values.start), cupy.int64(count), cupy.int32(k), vector.units, packed)
                SEGMENTS.function(f"{kernel}<{vector.segments}>")((-(-count // BLOCK),), (BLOCK,), arguments)


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


def _csr(part: Part, n_cols: int) -> CsrMatrix:
    return CsrMatrix(part.span.stop - part.span.first, n_cols, part.major, part.minor, part.values)


def _multiply(partitioning: Partitioning, part: Any, x: Any, y: Any) -> None:
    """The kernel for parts of that kind; each zeroes or writes all of y."""
    if isinstance(part, TiledPart):
        _launch(split.FORMAT.kernels[0], part.layout, x, y)
    elif not partitioning.compressed and partitioning.axis == "rows":
        _launch(coo.KERNEL, CooLayout(y.size, x.size, cupy.int32, part.major, part.minor, part.values), x, y)
    elif not partitioning.compressed:
        _add_entries(part, x, y)
    elif partitioning.axis == "rows":
        _launch(smart.KERNEL, CsrLayout(_csr(part, x.size)), x, y)
    else:
        _launch(csc.FORMAT.kernels[0], CscLayout(y.size, x.size, part.major, part.minor, part.values), x, y)


def _add_entries(part: Part, x: Any, y: Any) -> None:
    """Entries sorted by column, which the kernel of COO does not take."""
    y.data.memset_async(0, y.nbytes)
    count = part.values.size
    if count:
        arguments = (cupy.int64(count), part.minor, part.major, part.values, x, y)
        ENTRIES.function("add_entries")((-(-count // BLOCK),), (BLOCK,), arguments)


def _launch(kernel: Kernel, layout: Any, x: Any, y: Any) -> None:
    if kernel.cuda is None:
        raise KernelError(f"{kernel.variant} does not exist on a GPU.")
    kernel.cuda(layout, x, y)
