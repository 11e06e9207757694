"""The contract of a device, by value, on a virtual one."""

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

from gpu_engine.errors import DeviceMemoryError
from gpu_engine.multigpu.cpu_operations import OPERATIONS
from gpu_engine.multigpu.cut import cut_by_entries
from gpu_engine.multigpu.partition import Span, find_partitioning, localize, part_of
from gpu_engine.multigpu.topology import simulated
from gpu_engine.multigpu.virtual import VirtualDevice, virtual_devices
from tests.battery import dense


@pytest.fixture
def pair() -> Iterator[tuple[VirtualDevice, ...]]:
    with virtual_devices(simulated((1, 1))) as devices:
        yield devices


def test_devices_of_a_topology_are_labelled_virtual() -> None:
    with virtual_devices(simulated((2, 0, 1))) as devices:
        assert [(d.name, d.node, d.virtual) for d in devices] == [
            ("virtual:0", 0, True),
            ("virtual:1", 0, True),
            ("virtual:2", 2, True),
        ]


def test_work_is_done_in_order(pair: tuple[VirtualDevice, ...]) -> None:
    device = pair[0]
    array, back = device.allocate(2, np.float64), np.zeros(2)
    device.upload(np.array([1.0, 2.0]), array)
    device.call(OPERATIONS.add, array, array, None)
    device.call(OPERATIONS.combine, array, np.array([1.0, 1.0]), 3.0, 10.0)
    device.download(array, back)
    device.upload(np.array([7.0, 7.0]), array)
    device.synchronize()
    assert back.tolist() == [23.0, 43.0]
    assert array.tolist() == [7.0, 7.0]


def test_a_device_waits_for_another_and_for_nobody_else(pair: tuple[VirtualDevice, ...]) -> None:
    first, second = pair
    gate: Future[None] = Future()
    source, copy = first.allocate(1, np.float64), second.allocate(1, np.float64)
    source[0], copy[0] = 1.0, 0.0
    first.wait_event(gate)
    first.upload(np.array([2.0]), source)
    before = copy.copy()
    second.fetch(source, copy)
    # Nothing holds the second device yet: it reads what the first has not written.
    second.synchronize()
    assert (before[0], copy[0]) == (0.0, 1.0)
    second.wait_event(first.record_event())
    second.fetch(source, copy)
    gate.set_result(None)
    second.synchronize()
    assert copy[0] == 2.0
    first.synchronize()


def test_a_mark_of_an_idle_device_is_passed(pair: tuple[VirtualDevice, ...]) -> None:
    pair[1].wait_event(pair[0].record_event())
    pair[1].synchronize()


def test_errors_are_raised_once_where_the_host_waits(pair: tuple[VirtualDevice, ...]) -> None:
    device = pair[0]
    device.upload(np.ones(3), device.allocate(2, np.float64))
    with pytest.raises(ValueError, match="broadcast"):
        device.synchronize()
    device.synchronize()


def test_beta_zero_does_not_read_y(pair: tuple[VirtualDevice, ...]) -> None:
    y = np.array([np.nan, np.inf])
    pair[0].call(OPERATIONS.combine, y, np.array([1.0, 2.0]), 2.0, 0.0)
    pair[0].synchronize()
    assert y.tolist() == [2.0, 4.0]


def test_more_memory_than_there_is_is_refused(pair: tuple[VirtualDevice, ...]) -> None:
    with pytest.raises(DeviceMemoryError, match=r"virtual:0"):
        pair[0].allocate(2**57, np.float64)


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        # Entries 2 … 5 in the order of rows: 3 and 4 of row 1, 5 and 6 of row 2.
        ("pCSR", [1.0, 10.0, 100.0], [430.0, 605.0]),
        ("pCOO", [1.0, 10.0, 100.0], [430.0, 605.0]),
        # The same in the order of columns: 2 and 3 of column 1, 4 and 6 of column 2.
        ("pCSC", [10.0, 100.0], [20.0, 430.0, 600.0]),
        ("pCOO-columns", [10.0, 100.0], [20.0, 430.0, 600.0]),
    ],
)
def test_a_part_is_multiplied(
    pair: tuple[VirtualDevice, ...], name: str, x: list[float], expected: list[float]
) -> None:
    partitioning = find_partitioning(name)
    stored = partitioning.store(dense([[1, 2, 0], [0, 3, 4], [5, 0, 6]]))
    span = Span(2, 6, 1, 3, start_flag=False)
    partial: Any = np.full(len(expected), np.nan)
    part = part_of(stored, span, localize(stored, span))
    pair[0].call(OPERATIONS.multiply, partitioning, part, np.array(x), partial)
    pair[0].synchronize()
    assert partial.tolist() == expected


@pytest.mark.parametrize("name", ["pCSR", "pCOO"])
def test_lines_are_rewritten_in_place(pair: tuple[VirtualDevice, ...], name: str) -> None:
    partitioning = find_partitioning(name)
    stored = partitioning.store(dense([[1, 2, 0], [3, 3, 4], [5, 0, 6]]))
    for span in cut_by_entries(stored, (3,)):
        raw = stored.major_of(span).copy()
        pair[0].call(OPERATIONS.rewrite, partitioning, span, raw, raw)
        pair[0].synchronize()
        np.testing.assert_array_equal(raw, localize(stored, span))
