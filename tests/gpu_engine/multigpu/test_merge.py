"""Merging of partial results that are made up by hand."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.merge import MERGES, Merge, MergePlace, PartialResults, PartProduct, combine
from gpu_engine.multigpu.partition import Axis, Part, Span
from tests.gpu_engine.multigpu.devices import LoggingDevice, logging_devices

places = pytest.mark.parametrize("place", MERGES)


@pytest.fixture
def devices() -> Iterator[tuple[LoggingDevice, ...]]:
    with logging_devices(4) as found:
        yield found


def merge_of(
    devices: Sequence[Device],
    place: MergePlace,
    axis: Axis,
    lines: list[tuple[int, int, bool]],
    results: list[list[float]],
) -> Merge:
    """Of a part with these lines and this result on each device; y has five rows."""
    parts = [Part(Span(0, 0, first, stop, flag), None, None, None) for first, stop, flag in lines]
    products = [
        PartProduct(device, part, np.empty(0), np.array(result))
        for device, part, result in zip(devices, parts, results, strict=False)
    ]

    def each(work: Callable[[int], None]) -> None:
        for i in range(len(products)):
            work(i)

    return MERGES[place](PartialResults(products, axis, 5, each))


ROWS = [(0, 2, False), (1, 2, True), (1, 4, True), (4, 5, False)]
SEGMENTS = [[1.0, 2.0], [4.0], [8.0, 16.0, 32.0], [64.0]]
"""Row 1 lies in three parts: 2 + 4 + 8."""


@places
def test_segments_overlap_in_cut_rows(devices: Sequence[Device], place: MergePlace) -> None:
    merge, y = merge_of(devices, place, "rows", ROWS, SEGMENTS), np.full(5, np.nan)
    merge.load(y, 1.0, 0.0)
    merge.run(y, 1.0, 0.0)
    assert y.tolist() == [1.0, 14.0, 16.0, 32.0, 64.0]


@places
def test_beta_scales_a_cut_row_once(devices: Sequence[Device], place: MergePlace) -> None:
    merge, y = merge_of(devices, place, "rows", ROWS, SEGMENTS), np.array([1.0, 1.0, 2.0, 3.0, 5.0])
    merge.load(y, 0.5, -10.0)
    merge.run(y, 0.5, -10.0)
    assert y.tolist() == [-9.5, -3.0, -12.0, -14.0, -18.0]


@places
def test_whole_results_are_added(devices: Sequence[Device], place: MergePlace) -> None:
    results = [[1.0, 0.0, 2.0, 0.0, 0.0], [4.0, 0.0, 8.0, 0.0, 16.0], [0.0, 32.0, 64.0, 0.0, 0.0]]
    merge = merge_of(devices, place, "columns", [(0, 1, False), (1, 2, False), (2, 3, False)], results)
    y = np.array([1.0, 1.0, 2.0, 3.0, 5.0])
    merge.load(y, 0.5, 2.0)
    merge.run(y, 0.5, 2.0)
    assert y.tolist() == [4.5, 18.0, 41.0, 6.0, 18.0]


@places
def test_parts_without_rows_merge_nothing(devices: Sequence[Device], place: MergePlace) -> None:
    merge = merge_of(
        devices, place, "rows", [(0, 0, False), (0, 5, False), (4, 4, False)], [[], [1.0, 2.0, 3.0, 4.0, 5.0], []]
    )
    y = np.full(5, np.nan)
    merge.load(y, 1.0, 0.0)
    merge.run(y, 1.0, 0.0)
    assert y.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize(("axis", "lines"), [("rows", [(0, 2, False), (1, 5, True)]), ("columns", [(0, 1, False)] * 2)])
def test_a_device_waits_for_the_results_of_the_others(axis: Axis, lines: list[tuple[int, int, bool]]) -> None:
    """The second device writes its result only when everything has been launched on the first."""
    launched: Future[None] = Future()

    class First(LoggingDevice):
        def download(self, array: Any, host: Any) -> None:
            super().download(array, host)
            launched.set_result(None)

    def each(work: Callable[[int], None]) -> None:
        for i in range(2):
            work(i)

    first, second = First("virtual:0"), LoggingDevice("virtual:1")
    sizes = [stop - begin if axis == "rows" else 5 for begin, stop, _ in lines]
    results = [np.ones(sizes[0]), np.full(sizes[1], np.nan)]
    parts = [Part(Span(0, 0, *line), None, None, None) for line in lines]
    products = [
        PartProduct(d, part, np.empty(0), result)
        for d, part, result in zip((first, second), parts, results, strict=True)
    ]
    second.wait_event(launched)
    second.upload(np.full(sizes[1], 2.0), results[1])
    try:
        y = np.empty(5)
        MERGES["device"](PartialResults(products, axis, 5, each)).run(y, 1.0, 0.0)
    finally:
        first.close()
        second.close()
    assert y.tolist() == ([1.0, 3.0, 2.0, 2.0, 2.0] if axis == "rows" else [3.0] * 5)


@pytest.mark.parametrize(
    ("alpha", "beta", "expected"), [(1.0, 0.0, [1.0, 2.0]), (2.0, -1.0, [-8.0, -16.0]), (0.0, 1.0, [10.0, 20.0])]
)
def test_combine(alpha: float, beta: float, expected: list[float]) -> None:
    y = np.full(2, np.nan) if beta == 0.0 else np.array([10.0, 20.0])
    combine(y, np.array([1.0, 2.0]), alpha, beta)
    assert y.tolist() == expected


def test_room_is_made_for_what_is_used() -> None:
    """Of segments that are copied to their places the shares of cut rows alone pass through other memory."""
    sizes: list[int] = []

    class Counting(LoggingDevice):
        def allocate(self, size: int, dtype: Any) -> Any:
            sizes.append(size)
            return super().allocate(size, dtype)

    devices = [Counting(f"virtual:{i}") for i in range(4)]
    try:
        expected: tuple[tuple[MergePlace, int, int], ...] = (("host", 2, 7), ("device", 1, 5), ("gather", 6, 5))
        for place, without, scaled in expected:
            merge, y = merge_of(devices, place, "rows", ROWS, SEGMENTS), np.zeros(5)
            merge.load(y, 1.0, 0.0)
            merge.run(y, 1.0, 0.0)
            assert sum(sizes) == without, place
            sizes.clear()
            for _ in range(2):
                merge.load(y, 1.0, 1.0)
            assert sum(sizes) == scaled, place
            sizes.clear()
    finally:
        for device in devices:
            device.close()
