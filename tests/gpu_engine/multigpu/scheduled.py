"""Devices without threads: what is launched is done when somebody waits, in any order that the marks allow."""

import random
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from gpu_engine.cpms import Segmented
from gpu_engine.multigpu.virtual import VirtualDevice
from gpu_engine.verify import POISON


class Order:
    """Which stream goes on next: drawn anew at each step, some streams far more often than others."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.streams: list[ScheduledDevice] = []
        self.fetched_bytes = 0

    def device(self, name: str) -> "ScheduledDevice":
        """A device whose streams take part."""
        return ScheduledDevice(name, order=self)

    def run(self) -> None:
        """Does all that was launched; fails where every stream waits for another."""
        while waiting := [stream for stream in self.streams if stream.todo]:
            ready = [stream for stream in waiting if stream.ready()]
            assert ready, "The streams wait for each other."
            self.random.choices(ready, [stream.weight for stream in ready])[0].step()


class ScheduledDevice(VirtualDevice):
    """A virtual device with poisoned memory; bytes that it fetches from others are counted."""

    def __init__(self, name: str, node: int = 0, *, order: Order) -> None:
        super().__init__(name, node)
        self.order = order
        self.weight = order.random.choice([1, 30, 1000])
        self.todo: list[tuple[Future[Any], Callable[[], Any], Future[Any] | None]] = []
        self.owned: list[Any] = []
        order.streams.append(self)

    def side(self) -> "ScheduledDevice":
        if not isinstance(self._side, ScheduledDevice):
            self._side = ScheduledDevice(self.name, self.node, order=self.order)
            self._side.owned = self.owned
        return self._side

    def allocate(self, size: int, dtype: Any) -> Any:
        array = super().allocate(size, dtype)
        array[:] = POISON if array.dtype.kind == "f" else -1 if array.dtype.kind == "i" else 0x5A5A
        self.owned.append(array)
        return array

    def fetch(self, peer: Any, array: Any) -> None:
        assert any(array.base is mine or array is mine for mine in self.owned)
        if not any(peer.base is mine or peer is mine for mine in self.owned):
            self.order.fetched_bytes += peer.nbytes
        super().fetch(peer, array)

    def fetch_segments(self, peer: Segmented, values: slice, k: int, vector: Segmented) -> None:
        self.order.fetched_bytes += (values.stop - values.start) * k * vector.units.itemsize
        super().fetch_segments(peer, values, k, vector)

    def wait(self, mark: Future[Any]) -> None:
        self._push(lambda: None, mark)

    def synchronize(self) -> None:
        self.order.run()
        super().synchronize()

    def ready(self) -> bool:
        """Whether the next piece of work waits for nothing."""
        mark = self.todo[0][2]
        return mark is None or mark.done()

    def step(self) -> None:
        """Does the next piece of work."""
        done, work, _ = self.todo.pop(0)
        done.set_result(work())

    def _launch(self, work: Any, *arguments: Any) -> None:
        self._push(partial(work, *arguments), None)

    def _push(self, work: Callable[[], Any], mark: Future[Any] | None) -> None:
        done: Future[Any] = Future()
        self._launched.append(done)
        self.todo.append((done, work, mark))


def scheduled_devices(count: int, seed: int = 0) -> tuple[ScheduledDevice, ...]:
    """So many devices of one order."""
    order = Order(seed)
    return tuple(order.device(f"virtual:{i}") for i in range(count))
