"""A bound launch: what the driver reads of its arguments, told by a stand-in of the driver."""

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpu_engine.cuda.bound_launch import bind_arguments

cuda = pytest.importorskip("cupy").cuda

KERNEL = SimpleNamespace(kernel=SimpleNamespace(ptr=7))
TYPES: tuple[Any, ...] = (
    ctypes.c_void_p,
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_double,
    ctypes.c_int64,
    ctypes.c_void_p,
)


def at(pointer: int) -> Any:
    """A vector of a GPU."""
    return SimpleNamespace(data=SimpleNamespace(ptr=pointer))


ARGUMENTS = (at(4096), np.int32(-3), None, np.float64(0.1), np.int64(2**40), None)


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """(function, blocks, threads, bytes of shared memory, stream, arguments) of every launch."""
    found: list[Any] = []

    def launch(function: int, *numbers: int) -> None:
        blocks, _, _, threads, _, _, shared_mem, stream, places, _ = numbers
        pointers = (ctypes.c_void_p * len(TYPES)).from_address(places)
        read = [kind.from_address(pointer or 0).value for kind, pointer in zip(TYPES, pointers, strict=True)]
        found.append((function, blocks, threads, shared_mem, stream, read))

    monkeypatch.setattr(cuda.driver, "launchKernel", launch)
    monkeypatch.setattr(cuda, "get_current_stream", lambda: SimpleNamespace(ptr=99))
    return found


def test_the_driver_reads_what_stays_and_the_vectors_of_each_call(launches: list[Any]) -> None:
    call = bind_arguments(KERNEL, 5, 128, ARGUMENTS, 1024)
    call(at(8192), at(2**47))
    call(at(16), at(32))
    assert launches == [
        (7, 5, 128, 1024, 99, [4096, -3, 8192, 0.1, 2**40, 2**47]),
        (7, 5, 128, 1024, 99, [4096, -3, 16, 0.1, 2**40, 32]),
    ]


@pytest.mark.parametrize("count", [1, 3])
def test_as_many_vectors_as_places(launches: list[Any], count: int) -> None:
    call = bind_arguments(KERNEL, 1, 1, (np.int32(0), None, None))
    with pytest.raises(ValueError, match="zip"):
        call(*[at(8)] * count)
    assert launches == []


@pytest.mark.parametrize(("capability", "early"), [("90", True), ("100", True), ("89", False)])
def test_what_follows_is_launched_early_by_gpus_that_can(
    capability: str, early: bool, launches: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []

    def start(config: Any, function: Any, places: Any, extra: None) -> int:
        launch = config._obj
        attribute = launch.attributes[0]
        read = ctypes.c_void_p.from_address(places[2]).value
        shape = tuple(launch.blocks), tuple(launch.threads), launch.shared_mem, launch.stream
        started.append((function.value, *shape, launch.count, attribute.id, attribute.value, read, extra))
        return 0

    monkeypatch.setattr(cuda, "Device", lambda: SimpleNamespace(compute_capability=capability))
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(cuLaunchKernelEx=start))
    bind_arguments(KERNEL, 5, 128, ARGUMENTS, 64, follows=True)(at(8192), at(16))
    assert started == ([(7, (5, 1, 1), (128, 1, 1), 64, 99, 1, 6, 1, 8192, None)] if early else [])
    assert bool(launches) != early
