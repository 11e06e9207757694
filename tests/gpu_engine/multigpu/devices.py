"""Devices for tests: what they allocate is poisoned, and they keep a log of what is launched."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from gpu_engine.multigpu.virtual import VirtualDevice
from gpu_engine.verify import POISON


class LoggingDevice(VirtualDevice):
    """A virtual device whose memory holds POISON, or −1; `log` has (launch, thread of the host that launched it)."""

    def __init__(self, name: str, node: int = 0) -> None:
        super().__init__(name, node)
        self.log: list[tuple[str, int]] = []

    def allocate(self, size: int, dtype: Any) -> Any:
        array = super().allocate(size, dtype)
        array[:] = POISON if array.dtype.kind == "f" else -1 if array.dtype.kind == "i" else 0x5A
        return array

    def _launch(self, work: Any, *arguments: Any) -> None:
        self.log.append((work.__name__.strip("_"), threading.get_ident()))
        super()._launch(work, *arguments)

    def launches(self) -> list[str]:
        """What was launched since the last call."""
        names = [name for name, _ in self.log]
        self.log.clear()
        return names


@contextmanager
def logging_devices(count: int, nodes: tuple[int, ...] = ()) -> Iterator[tuple[LoggingDevice, ...]]:
    """So many devices, all on node 0 unless `nodes` says where each is."""
    with ExitStack() as stack:
        devices = tuple(LoggingDevice(f"virtual:{i}", nodes[i] if nodes else 0) for i in range(count))
        for device in devices:
            stack.callback(device.close)
        yield devices
