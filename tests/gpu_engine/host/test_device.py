"""Which GPUs are found, with an NVML of four on one host."""

from pathlib import Path
from typing import Any

import pytest

from gpu_engine.errors import UnknownDeviceError
from gpu_engine.host import device
from gpu_engine.host.device import find_device, gpu_uuids, list_devices

GPUS = range(4)
BUSES = tuple(f"0000:{place}:00.0".encode() for place in ("1b", "43", "9d", "df"))


class FourGpus:
    """NVML as the module sees it: a handle is an index, and GPU i has the device file nvidia(3 - i).

    lost  the GPUs that fell off the bus
    """

    NVMLError = RuntimeError
    lost: tuple[int, ...] = ()

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802 (NVML's names)
        return len(GPUS)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetHandleByPciBusId(self, bus_id: bytes) -> int:  # noqa: N802
        return BUSES.index(bus_id)

    def nvmlDeviceGetMinorNumber(self, handle: int) -> int:  # noqa: N802
        return 3 - handle

    def nvmlDeviceGetUUID(self, handle: int) -> bytes:  # noqa: N802
        return f"GPU-{handle}".encode()

    def nvmlDeviceGetName(self, handle: int) -> str:  # noqa: N802
        return f"A GPU {handle}"

    def nvmlDeviceGetCudaComputeCapability(self, _: int) -> tuple[int, int]:  # noqa: N802
        return 9, 0

    def nvmlSystemGetCudaDriverVersion_v2(self) -> int:  # noqa: N802
        return 13000

    def nvmlSystemGetDriverVersion(self) -> str:  # noqa: N802
        return "580.1"

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:  # noqa: N802
        if handle in self.lost:
            raise self.NVMLError("GPU is lost")
        return type("Memory", (), {"total": 10})


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A function that lists the GPUs as (id, UUID) for these device files and CUDA_VISIBLE_DEVICES."""

    def of(files: tuple[str, ...], visible: str | None = None) -> list[tuple[str, str]]:
        for path in tmp_path.iterdir():
            path.unlink()
        for name in files:
            (tmp_path / name).touch()
        if visible is None:
            monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        else:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        return [(d.id, d.uuid) for d in list_devices() if d.backend == "cuda" and not d.is_several]

    monkeypatch.setattr(device, "pynvml", FourGpus())
    monkeypatch.setattr(device, "DEVICE_FILES", tmp_path)
    return of


def test_without_device_files_all_that_nvml_lists(found: Any) -> None:
    assert found(()) == [(f"cuda:{i}", f"GPU-{i}") for i in GPUS]
    assert found(("nvidiactl", "nvidia-uvm")) == [(f"cuda:{i}", f"GPU-{i}") for i in GPUS]


def test_a_container_has_the_gpus_whose_files_it_has(found: Any) -> None:
    assert found(("nvidiactl", "nvidia2", "nvidia0")) == [("cuda:0", "GPU-1"), ("cuda:1", "GPU-3")]
    assert find_device("auto").uuid == "GPU-1"


def test_visible_devices_are_counted_among_those_present(found: Any) -> None:
    files = ("nvidia0", "nvidia1", "nvidia3")
    assert found(files, "2,0") == [("cuda:0", "GPU-3"), ("cuda:1", "GPU-0")]
    assert found(files, "GPU-2, GPU-1") == [("cuda:0", "GPU-2")]
    assert found(files, "") == []


def test_a_gpu_is_found_by_its_place_on_the_bus(found: Any) -> None:
    """Its UUID as CuPy has it ends at the first zero byte."""
    assert [device.uuid_at(bus.decode()) for bus in BUSES] == [f"GPU-{i}" for i in GPUS]


def test_an_unknown_device_is_refused_with_the_known_ones(found: Any) -> None:
    found(("nvidia0",), None)
    with pytest.raises(UnknownDeviceError, match=r"cpu, cuda:0 \(or auto\)"):
        find_device("cuda:1")


def test_several_gpus_are_one_more_device(found: Any) -> None:
    found(("nvidia0", "nvidia1"))
    (both,) = (d for d in list_devices() if d.is_several)
    assert (both.id, both.uuid, both.uuids) == ("cuda:all", "GPU-2,GPU-3", ("GPU-2", "GPU-3"))
    assert both.name == "1 × A GPU 2, 1 × A GPU 3"
    assert (find_device("auto").id, find_device("auto", several=True).id) == ("cuda:0", "cuda:all")
    found(("nvidia0",))
    assert not any(d.is_several for d in list_devices())
    assert find_device("auto", several=True).id == "cuda:0"
    found((), "")
    assert find_device("auto", several=True).id == "cpu"


def test_a_gpu_that_fell_off_the_bus_is_no_device_and_the_others_stay(
    found: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FourGpus, "lost", (1,))
    assert found(()) == [("cuda:0", "GPU-0"), ("cuda:1", "GPU-2"), ("cuda:2", "GPU-3")]
    assert gpu_uuids() == {"GPU-0", "GPU-2", "GPU-3"}
