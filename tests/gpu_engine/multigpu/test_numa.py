"""Pieces of memory are first written, and threads run, on the processors beside their devices."""

import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpu_engine.multigpu.cut import cut_by_entries, cut_group
from gpu_engine.multigpu.from_host.spmv import DistributedMatrix
from gpu_engine.multigpu.from_host.strategies import find_strategy
from gpu_engine.multigpu.numa import Placement, host_memory, thread_beside
from gpu_engine.multigpu.partition import Span, StoredMatrix, find_partitioning
from gpu_engine.multigpu.workload import WorkloadData
from tests.battery import BATTERY
from tests.gpu_engine.multigpu.devices import LoggingDevice
from tests.gpu_engine.multigpu.from_host.test_spmv import no_clock


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


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch, processors: Processors) -> list[tuple[int, int, set[int]]]:
    """(first element, past the last, processors) of what is filled, of arrays in one piece of memory."""
    found: list[tuple[int, int, set[int]]] = []

    class Fresh(np.ndarray[Any, Any]):
        def fill(self, value: Any) -> None:
            begin = (self.ctypes.data - start) // 4
            found.append((begin, begin + self.nbytes // 4, processors.getaffinity(0)))
            super().fill(value)

    room = np.ones(64, np.int32)
    # So that the first of the blocks of 16 bytes begins with the third element.
    begin = -room.ctypes.data // 4 % 4 + 2
    fresh = room[begin : begin + 10].view(Fresh)
    start = fresh.ctypes.data
    monkeypatch.setattr("gpu_engine.multigpu.numa.np.empty", lambda size, dtype: fresh)
    monkeypatch.setattr("gpu_engine.multigpu.numa.BLOCK_BYTES", 16)
    return found


@pytest.mark.parametrize(
    ("placement", "expected"),
    [
        ("one", [(0, 10, {0, 1})]),
        # The processor 99 is not one of this container.
        ("beside", [(0, 3, {0, 1}), (3, 6, {0, 1}), (6, 10, {4, 5})]),
        ("interleaved", [(0, 2, {0, 1}), (6, 10, {0, 1}), (2, 6, {4, 5})]),
    ],
)
def test_each_piece_is_first_written_on_its_node(
    placement: Placement, expected: list[Any], placed: tuple[Placed, ...], written: list[Any]
) -> None:
    memory = host_memory(placement, placed, placed)
    assert memory is not None
    array = memory.allocate(10, np.int32)
    assert written == expected
    assert [id(each) for each in placed[0].pinned] == [id(array)]
    assert array.tolist() == [0] * 10


def test_placements_are_the_same_memory_where_they_do_not_differ(placed: tuple[Placed, ...]) -> None:
    first = placed[:2]
    assert host_memory("beside", first, first) is host_memory("one", first, first) is None, "a host of one node"
    assert host_memory("none", placed, placed) is None, "where they were made"
    one, beside, both = (
        host_memory(*chosen, placed) for chosen in (("one", placed), ("beside", first), ("beside", placed))
    )
    assert one == beside != both, "two devices of one node have nothing to share among nodes"
    assert hash(one) == hash(beside)


def test_copies_of_a_matrix_are_made_once_a_memory(placed: tuple[Placed, ...]) -> None:
    data = WorkloadData(BATTERY["band"](), host=placed)
    none, one, again, beside = (
        data.placed("pCSR", *chosen)
        for chosen in (("none", placed), ("one", placed), ("beside", placed[:2]), ("beside", placed))
    )
    assert none.stored is data.stored("pCSR")
    assert one is again
    for arrays in (one, beside):
        assert not np.shares_memory(arrays.stored.values, none.stored.values)
        for name in ("major", "minor", "values"):
            np.testing.assert_array_equal(getattr(arrays.stored, name), getattr(none.stored, name))
        np.testing.assert_array_equal(arrays.x, none.x)
    data.stored("pCOO")
    assert data.placed("pCSR", "one", placed) is not one, "of the last partitioning alone"


def test_a_thread_stays_where_it_may(processors: Processors) -> None:
    for cpus, expected in (((4, 5, 99), {4, 5}), ((), set(range(8))), ((99,), set(range(8)))):
        device = Placed("virtual:0", 0, cpus)
        with thread_beside(device) as thread:
            assert thread.submit(os.sched_getaffinity, 0).result() == expected
        device.close()


@pytest.mark.parametrize(("strategy", "affinity"), [("p*", False), ("p*-opt", True), ("p*-opt", False), ("p*", True)])
def test_threads_copy_from_the_processors_beside_a_device_where_they_are_to(
    strategy: str, affinity: bool, placed: tuple[Placed, ...], processors: Processors
) -> None:
    stored = find_partitioning("pCSR").store(BATTERY["band"]())
    chosen = replace(find_strategy(strategy), affinity=affinity)
    with DistributedMatrix(stored, placed, chosen, no_clock()) as matrix:
        matrix.multiply(np.ones(stored.n_cols), np.empty(stored.n_rows), no_clock())
    beside = [{0, 1}, {0, 1}, {4, 5}]
    expected = beside if affinity else [set(range(8))] * 3
    assert [device.seen for device in placed] == [{frozenset(cpus)} for cpus in expected]


def test_a_thread_of_each_node_cuts_among_its_devices(
    placed: tuple[Placed, ...], processors: Processors, monkeypatch: pytest.MonkeyPatch
) -> None:
    cutters: list[tuple[int, set[int]]] = []

    def cut(stored: StoredMatrix, groups: Sequence[int], number: int) -> tuple[Span, ...]:
        cutters.append((number, processors.getaffinity(0)))
        return cut_group(stored, groups, number)

    monkeypatch.setattr("gpu_engine.multigpu.from_host.spmv.cut_group", cut)
    stored = find_partitioning("pCSR").store(BATTERY["band"]())
    with DistributedMatrix(stored, placed, find_strategy("p*-opt"), no_clock()) as matrix:
        assert matrix.spans == cut_by_entries(stored, (2, 1))
    assert sorted(cutters) == [(0, {0, 1}), (1, {4, 5})]
