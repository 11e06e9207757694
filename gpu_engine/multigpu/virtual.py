"""Virtual devices: threads of this CPU that stand for GPUs, each with copies of its part and a stream of its own.

What they compute and how the strategies treat them is real; their times say nothing of a GPU. Each computes in one
thread without the interpreter's lock, so that as many run at once as there are cores.
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
    """A thread that does what is launched, in order; see Device."""

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
        """Ends its threads."""
        self._stream.shutdown()
        if self._copy_stream is not None:
            self._copy_stream.close()

    def allocate(self, size: int, dtype: Any) -> Any:
        """An array in the memory of this host; raises DeviceMemoryError."""
        try:
            return np.empty(size, dtype)
        except MemoryError as error:
            raise DeviceMemoryError(f"The host has too little free memory for {self.name}: {error}.") from error

    def allocate_host(self, size: int, dtype: Any) -> Any:
        """An array like any other."""
        return self.allocate(size, dtype)

    def pin(self, host: Any) -> None:
        """It is so already."""

    def copy_stream(self) -> "VirtualDevice":
        """A second thread."""
        if self._copy_stream is None:
            self._copy_stream = type(self)(self.name, self.node)
        return self._copy_stream

    def upload(self, host: Any, array: Any) -> None:
        """Launches a copy."""
        self._launch(np.copyto, array, host)

    def download(self, array: Any, host: Any) -> None:
        """Launches a copy."""
        self._launch(np.copyto, host, array)

    def fetch(self, peer: Any, array: Any) -> None:
        """Launches a copy."""
        self._launch(np.copyto, array, peer)

    def reaches(self, other: Device) -> bool:
        """All memory is that of this host."""
        return other.virtual

    def call(self, function: Callable[..., None], *arguments: Any) -> None:
        """Launches function(*arguments)."""
        self._launch(function, *arguments)

    def record_event(self) -> Future[None]:
        """What was launched last."""
        if self._launched:
            return self._launched[-1]
        idle: Future[None] = Future()
        idle.set_result(None)
        return idle

    def wait_event(self, event: Future[None]) -> None:
        """Launches the waiting; an event is older than what waits for it: no two devices wait for each other."""
        self._launch(event.result)

    def capture(self, others: Sequence[Device], function: Callable[[], None]) -> Callable[[int], None]:
        """Calls `function` each time."""

        def launch(times: int) -> None:
            join(self, others)
            for _ in range(times):
                function()
            fork(self, others)

        return launch

    def synchronize(self) -> None:
        """Waits for all launched work; raises its first error."""
        launched, self._launched = self._launched, []
        errors = [error for future in launched if (error := future.exception()) is not None]
        if errors:
            raise errors[0]

    def _launch(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._launched.append(self._stream.submit(function, *arguments))


@contextmanager
def virtual_devices(topology: Topology) -> Iterator[tuple[VirtualDevice, ...]]:
    """A virtual device for each device of the topology, node by node; their threads end with the block."""
    with ExitStack() as stack:
        devices = []
        for node in topology.nodes:
            for name in node.devices:
                devices.append(VirtualDevice(name, node.number))
                stack.callback(devices[-1].close)
        yield tuple(devices)
