"""Pieces of memory are first written, and threads run, on the processors beside their devices."""

import os
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gpu_engine.multigpu.numa import allocator, thread_beside
from gpu_engine.multigpu.partition import find_partitioning
from gpu_engine.multigpu.spmv import DistributedMatrix, find_strategy
from tests.battery import BATTERY
from tests.gpu_engine.multigpu.devices import LoggingDevice
from tests.gpu_engine.multigpu.test_spmv import no_clock


class Processors:
    """Eight of them; which ones each thread is confined to."""

    def __init__(self) -> None:
        self.thread = threading.local()

    def getaffinity(self, _process: int) -> set[int]:
        return getattr(self.thread, "cpus", set(range(8)))

    def setaffinity(self, _process: int, cpus: set[int]) -> None:
        self.thread.cpus = set(cpus)


@pytest.fixture
def processors(monkeypatch: pytest.MonkeyPatch) -> Processors:
    found = Processors()
    monkeypatch.setattr(os, "sched_getaffinity", found.getaffinity)
    monkeypatch.setattr(os, "sched_setaffinity", found.setaffinity)
    return found


class Placed(LoggingDevice):
    """On a node with processors; `seen` has those on which its copies were launched, `pinned` what it was to pin."""

    def __init__(self, name: str, node: int, cpus: tuple[int, ...]) -> None:
        super().__init__(name, node)
        self.cpus = cpus
        self.seen: set[frozenset[int]] = set()
        self.pinned: list[Any] = []

    def pin(self, host: Any) -> None:
        self.pinned.append(host)

    def upload(self, host: Any, array: Any) -> None:
        self.seen.add(frozenset(os.sched_getaffinity(0)))
        super().upload(host, array)


@pytest.fixture
def placed() -> Iterator[tuple[Placed, ...]]:
    """Two devices on node 0, one on node 1."""
    devices = (Placed("virtual:0", 0, (0, 1)), Placed("virtual:1", 0, (0, 1)), Placed("virtual:2", 1, (4, 5, 99)))
    yield devices
    for device in devices:
        device.close()


def test_each_piece_is_first_written_beside_its_device(
    placed: tuple[Placed, ...], processors: Processors, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[tuple[int, int, set[int]]] = []

    class Fresh(np.ndarray[Any, Any]):
        def fill(self, value: Any) -> None:
            begin = (self.ctypes.data - start) // self.itemsize
            written.append((begin, begin + self.size, processors.getaffinity(0)))
            super().fill(value)

    fresh = np.ones(10, np.int32).view(Fresh)
    start = fresh.ctypes.data
    monkeypatch.setattr("gpu_engine.multigpu.numa.np.empty", lambda size, dtype: fresh)
    array = allocator(placed)(10, np.int32)
    assert array is fresh
    # The processor 99 is not one of this container.
    assert written == [(0, 3, {0, 1}), (3, 6, {0, 1}), (6, 10, {4, 5})]
    assert [id(each) for each in placed[0].pinned] == [id(fresh)]
    assert array.tolist() == [0] * 10


def test_on_one_node_the_first_device_allocates(placed: tuple[Placed, ...]) -> None:
    assert allocator(placed[:2]) == placed[0].allocate_host


def test_a_thread_stays_where_it_may(processors: Processors) -> None:
    for cpus, expected in (((4, 5, 99), {4, 5}), ((), set(range(8))), ((99,), set(range(8)))):
        device = Placed("virtual:0", 0, cpus)
        with thread_beside(device) as thread:
            assert thread.submit(os.sched_getaffinity, 0).result() == expected
        device.close()


@pytest.mark.parametrize("strategy", ["p*", "p*-opt"])
def test_only_p_opt_copies_from_the_processors_beside_a_device(
    strategy: str, placed: tuple[Placed, ...], processors: Processors
) -> None:
    stored = find_partitioning("pCSR").store(BATTERY["band"]())
    with DistributedMatrix(stored, placed, find_strategy(strategy), no_clock()) as matrix:
        matrix.multiply(np.ones(stored.n_cols), np.empty(stored.n_rows), no_clock())
    beside = [{0, 1}, {0, 1}, {4, 5}]
    expected = beside if strategy == "p*-opt" else [set(range(8))] * 3
    assert [device.seen for device in placed] == [{frozenset(cpus)} for cpus in expected]
