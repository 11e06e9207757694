"""Rates of links and of the host's memory, by value with a clock of the test's own."""

from typing import Any

import pytest

from gpu_engine.multigpu.from_host.link_bandwidth import TRIALS, LinkBandwidth
from gpu_engine.multigpu.from_host.spmv import PACKING
from gpu_engine.multigpu.partition import find_partitioning
from tests.battery import BATTERY
from tests.gpu_engine.multigpu.devices import logging_devices


def test_the_fastest_trial_counts_and_the_first_call_is_none() -> None:
    matrix = BATTERY["band"]()
    # Begin and end of three copies, then of three reads.
    times = iter([0.0, 8.0, 8.0, 10.0, 10.0, 14.0, 20.0, 24.0, 24.0, 25.0, 25.0, 28.0])
    copied: list[int] = []

    def clock() -> float:
        copied.append(sum(name == "copyto" for device in devices for name, _ in device.log))
        return next(times)

    with logging_devices(2) as devices:
        links = LinkBandwidth.measured(devices, find_partitioning("pCSR").store(matrix), clock)
    assert links == LinkBandwidth(8 * matrix.nnz / 2.0, 12 * matrix.nnz / 1.0)
    # Each call copies a piece to both devices.
    assert copied[: 2 * TRIALS] == [2, 4, 4, 6, 6, 8]


@pytest.mark.parametrize(
    ("links", "bounds"),
    [
        (LinkBandwidth(2.0, 4.0), {"distribute": 4.0, PACKING: 2.0, "merge": 1.0}),
        (LinkBandwidth(0.0, 4.0), {PACKING: 2.0}),
    ],
)
def test_phases_are_bound_by_what_their_bytes_cross(links: LinkBandwidth, bounds: dict[str, Any]) -> None:
    assert links.bounds({"distribute": 8, PACKING: 8, "compute": 3, "merge": 2}) == bounds
    assert links.bounds({"compute": 3}) == {}
