"""Simulated devices: CPU threads in place of GPUs, each with a copy of its partition and a separate stream.

Their results and the behavior of the strategies are real; their timings say nothing about GPUs. Each computes in one
thread without the interpreter lock, so that as many run in parallel as the CPU has cores.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from gpu_engine.errors import DeviceMemoryError
from gpu_engine.multigpu.base import Device, Operations, fork, join
from gpu_engine.multigpu.cpu_operations import OPERATIONS
from gpu_engine.multigpu.topology import Topology


class VirtualDevice:
    """Simulated device: a thread that runs launched work in order; see Device."""

    virtual = True
    cpus: tuple[int, ...] = ()
    operations: Operations = OPERATIONS

    def __init__(self, name: str, node: int = 0) -> None:
        self.name = name
        self.node = node
        self._stream = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._launched: list[Future[None]] = []
        self._copy_stream: VirtualDevice | None = None

    def close(self) -> None:
        """End the threads."""
        self._stream.shutdown()
        if self._copy_stream is not None:
            self._copy_stream.close()

    def allocate(self, size: int, dtype: Any) -> Any:
        """Allocate an array in the memory of this host; raise DeviceMemoryError."""
        try:
            return np.empty(size, dtype)
        except MemoryError as error:
            raise DeviceMemoryError(
                f"Not enough free memory on the host for {self.name}: {error}. Use a smaller matrix or fewer devices."
            ) from error

    def allocate_host(self, size: int, dtype: Any) -> Any:
        """Allocate an array in the memory of this host; raise DeviceMemoryError."""
        return self.allocate(size, dtype)

    def pin(self, host: Any) -> None:
        """Do nothing, because copies on a CPU need no pinned memory."""

    def copy_stream(self) -> "VirtualDevice":
        """Return the second thread."""
        if self._copy_stream is None:
            self._copy_stream = type(self)(self.name, self.node)
        return self._copy_stream

    def upload(self, host: Any, array: Any) -> None:
        """Launch array := host."""
        self._launch(np.copyto, array, host)

    def download(self, array: Any, host: Any) -> None:
        """Launch host := array."""
        self._launch(np.copyto, host, array)

    def fetch(self, peer: Any, array: Any) -> None:
        """Launch array := peer."""
        self._launch(np.copyto, array, peer)

    def reaches(self, other: Device) -> bool:
        """Return whether the other device is simulated too; all of them share the memory of this host."""
        return other.virtual

    def call(self, function: Callable[..., None], *arguments: Any) -> None:
        """Launch function(*arguments) in the thread."""
        self._launch(function, *arguments)

    def record_event(self) -> Future[None]:
        """Return the future of the work launched last."""
        if self._launched:
            return self._launched[-1]
        idle: Future[None] = Future()
        idle.set_result(None)
        return idle

    def wait_event(self, event: Future[None]) -> None:
        """Launch the wait; events are older than the work that waits for them, so that devices cannot deadlock."""
        self._launch(event.result)

    def capture(self, others: Sequence[Device], function: Callable[[], None]) -> Callable[[int], None]:
        """Return a function that calls `function` on every launch."""

        def launch(times: int) -> None:
            join(self, others)
            for _ in range(times):
                function()
            fork(self, others)

        return launch

    def synchronize(self) -> None:
        """Wait for all launched work and raise its first error."""
        launched, self._launched = self._launched, []
        errors = [error for future in launched if (error := future.exception()) is not None]
        if errors:
            raise errors[0]

    def _launch(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._launched.append(self._stream.submit(function, *arguments))


@contextmanager
def virtual_devices(topology: Topology) -> Iterator[tuple[VirtualDevice, ...]]:
    """Open one simulated device per device of the topology, node by node; their threads end with the block."""
    with ExitStack() as stack:
        devices = []
        for node in topology.nodes:
            for name in node.devices:
                devices.append(VirtualDevice(name, node.number))
                stack.callback(devices[-1].close)
        yield tuple(devices)
