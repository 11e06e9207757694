"""Fleets: how many devices, on which nodes, and which are refused."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from gpu_engine.errors import ParameterError
from gpu_engine.multigpu.device_group import VIRTUAL_MAX, device_count, open_devices, spread
from gpu_engine.records import DeviceInfo

CPU = DeviceInfo("cpu", "cpu", "A CPU", 1, 1)
GPU = DeviceInfo("cuda:0", "cuda", "A GPU", 1, 1)
BOTH = DeviceInfo("cuda:all", "cuda", "2 × A GPU", 1, 1, "GPU-1,GPU-2")
GPUS: tuple[Any, ...] = ("first", "second")


@pytest.mark.parametrize(
    ("count", "nodes", "sizes"), [(4, 1, [4]), (4, 2, [2, 2]), (5, 2, [2, 3]), (1, 3, [0, 0, 1]), (7, 3, [2, 2, 3])]
)
def test_devices_are_spread_evenly(count: int, nodes: int, sizes: list[int]) -> None:
    assert list(spread(count, nodes)) == sizes


def test_virtual_devices_on_their_nodes() -> None:
    with open_devices(CPU, 3, nodes=2) as devices:
        assert [(d.name, d.node, d.virtual) for d in devices] == [
            ("virtual:0", 0, True),
            ("virtual:1", 1, True),
            ("virtual:2", 1, True),
        ]


def test_the_gpus_of_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (device_count(CPU), device_count(GPU), device_count(BOTH)) == (VIRTUAL_MAX, 1, 2)
    asked: list[tuple[int, str]] = []

    @contextmanager
    def cuda_devices(count: int, kind: str) -> Iterator[tuple[Any, ...]]:
        asked.append((count, kind))
        yield GPUS[:count]

    ours = SimpleNamespace(cuda_devices=cuda_devices, CudaDevice="sparsight")
    monkeypatch.setitem(sys.modules, "gpu_engine.multigpu.cuda_device", ours)
    others = SimpleNamespace(CusparseDevice="cuSPARSE's")
    monkeypatch.setitem(sys.modules, "gpu_engine.multigpu.cusparse_device", others)
    with open_devices(BOTH, 2) as devices:
        assert devices == GPUS
    with open_devices(BOTH, 1, kernel_library="cusparse") as devices:
        assert devices == GPUS[:1]
    with pytest.raises(ParameterError, match=r"3 devices: 2 GPUs"), open_devices(BOTH, 3):
        pass
    assert asked == [(2, "sparsight"), (1, "cuSPARSE's")]


def test_cusparse_does_not_multiply_on_a_cpu() -> None:
    with pytest.raises(ParameterError, match="needs a GPU"), open_devices(CPU, 2, kernel_library="cusparse"):
        pass


@pytest.mark.parametrize("count", [0, VIRTUAL_MAX + 1])
def test_a_group_has_at_least_one_device_and_no_more_than_there_are(count: int) -> None:
    refused = pytest.raises(ParameterError, match=f"{count} devices: {VIRTUAL_MAX} simulated")
    with refused, open_devices(CPU, count):
        pass
