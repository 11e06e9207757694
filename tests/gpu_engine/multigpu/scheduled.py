"""Devices without threads: what is launched is done when somebody waits, in any order that the events allow.

They capture as GPUs do: nothing is done meanwhile, events from before may not be waited for, and what is replayed is
what was launched, whatever has changed since in those that launched it.
"""

import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from gpu_engine.multigpu.base import Device, fork, join
from gpu_engine.multigpu.virtual import VirtualDevice
from gpu_engine.verify import POISON

CHANGED = pytest.mark.full("gpu_engine/multigpu/*", "tests/gpu_engine/multigpu/*")
"""More of the same, where a change may have made it worth while."""


def seeds(most: int, always: int = 24) -> list[Any]:
    """Seeds of orders: the first ones always, all of them where a source has changed."""
    return [seed if seed < always else pytest.param(seed, marks=CHANGED) for seed in range(most)]


@dataclass(frozen=True, slots=True)
class Launch:
    """Work of a stream, done once `event` is, if there is one."""

    stream: "ScheduledDevice"
    done: Future[Any]
    work: Callable[[], Any]
    event: Future[Any] | None


class Order:
    """Which stream goes on next: drawn anew at each step, some streams far more often than others."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.streams: list[ScheduledDevice] = []
        self.fetched_bytes = 0
        self.capturing: list[Launch] | None = None
        # Actors wait in threads of their own, several at a time.
        self.running = threading.RLock()

    def count(self, nbytes: int) -> None:
        """Adds to the bytes that were fetched."""
        self.fetched_bytes += nbytes

    def device(self, name: str) -> "ScheduledDevice":
        """A device whose streams take part."""
        return ScheduledDevice(name, order=self)

    def run(self) -> None:
        """Does all that was launched; fails where every stream waits for another."""
        with self.running:
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
        self.todo: list[Launch] = []
        self.owned: list[Any] = []
        order.streams.append(self)

    def copy_stream(self) -> "ScheduledDevice":
        if not isinstance(self._copy_stream, ScheduledDevice):
            self._copy_stream = ScheduledDevice(self.name, self.node, order=self.order)
            self._copy_stream.owned = self.owned
        return self._copy_stream

    def allocate(self, size: int, dtype: Any) -> Any:
        array = super().allocate(size, dtype)
        array[:] = POISON if array.dtype.kind == "f" else -1 if array.dtype.kind == "i" else 0x5A5A
        self.owned.append(array)
        return array

    def fetch(self, peer: Any, array: Any) -> None:
        assert any(array.base is mine or array is mine for mine in self.owned)
        if not any(peer.base is mine or peer is mine for mine in self.owned):
            self._launch(self.order.count, peer.nbytes)
        super().fetch(peer, array)

    def call(self, function: Callable[..., None], *arguments: Any) -> None:
        if function is self.operations.copy:
            peer, values, k, *_ = arguments
            self._launch(self.order.count, (values.stop - values.start) * k * peer.units.itemsize)
        super().call(function, *arguments)

    def record_event(self) -> Future[Any]:
        if self.order.capturing is None:
            return super().record_event()
        self._push(lambda: None, None)
        return self.order.capturing[-1].done

    def wait_event(self, event: Future[Any]) -> None:
        if self.order.capturing is not None:
            assert any(launch.done is event for launch in self.order.capturing), "It waits for what was before."
        self._push(lambda: None, event)

    def capture(self, others: Sequence[Device], work: Callable[[], None]) -> Callable[[int], None]:
        captured = self.order.capturing = []
        fork(self, others)
        work()
        join(self, others)
        self.order.capturing = None
        used = {id(self), *map(id, others)}
        assert all(id(launch.stream) in used for launch in captured), "A stream takes part that was not named."

        def launch(times: int) -> None:
            join(self, others)
            for _ in range(times):
                again = {each.done: Future[Any]() for each in captured}
                for each in captured:
                    each.stream.push(Launch(each.stream, again[each.done], each.work, each.event and again[each.event]))
            fork(self, others)

        return launch

    def synchronize(self) -> None:
        self.order.run()
        super().synchronize()

    def ready(self) -> bool:
        """Whether the next piece of work waits for nothing."""
        event = self.todo[0].event
        return event is None or event.done()

    def step(self) -> None:
        """Does the next piece of work."""
        launch = self.todo.pop(0)
        launch.done.set_result(launch.work())

    def push(self, launch: Launch) -> None:
        """Puts it behind all that was launched before."""
        self._launched.append(launch.done)
        self.todo.append(launch)

    def _launch(self, work: Any, *arguments: Any) -> None:
        self._push(partial(work, *arguments), None)

    def _push(self, work: Callable[[], Any], event: Future[Any] | None) -> None:
        launch = Launch(self, Future(), work, event)
        if self.order.capturing is None:
            self.push(launch)
        else:
            self.order.capturing.append(launch)


def scheduled_devices(count: int, seed: int = 0) -> tuple[ScheduledDevice, ...]:
    """So many devices of one order."""
    order = Order(seed)
    return tuple(order.device(f"virtual:{i}") for i in range(count))
