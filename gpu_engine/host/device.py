"""Lists the devices of this host with the operating system and NVML, without importing CuPy or using a GPU."""

import os
import platform
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from gpu_engine.errors import UnknownDeviceError
from gpu_engine.host.nvml import pynvml
from gpu_engine.records import BACKENDS, Backend, DeviceInfo

DEVICE_HELP = "cpu, cuda:0 …, cuda:all, or auto: the first GPU (scaling: all GPUs), or the CPU without a GPU"
CACHE_FALLBACK_BYTES = 32 * 2**20
DEVICE_FILES = Path("/dev")

TOGETHER = "cuda:all"
"""Id of the device that consists of all GPUs of the host."""


def list_devices() -> tuple[DeviceInfo, ...]:
    """Return the CPU, every GPU that CUDA_VISIBLE_DEVICES allows, and all GPUs together if there are several."""
    gpus = _gpus()
    return (cpu_device(), *gpus, *_together(gpus))


def gpu_uuids() -> frozenset[str]:
    """Return the UUIDs of the available GPUs."""
    return frozenset(gpu.uuid for gpu in _gpus())


def uuid_at(bus_id: str) -> str:
    """Return the UUID of the GPU at a PCI address such as `0000:65:00.0`.

    CuPy truncates the UUID of the runtime at its first zero byte, which one GPU in seventeen has.
    """
    pynvml.nvmlInit()
    try:
        return _text(pynvml.nvmlDeviceGetUUID(pynvml.nvmlDeviceGetHandleByPciBusId(bus_id.encode())))
    finally:
        pynvml.nvmlShutdown()


def find_device(name: str, several: bool = False, backends: Collection[Backend] = BACKENDS) -> DeviceInfo:
    """Return the device with an id; raises UnknownDeviceError that lists the available devices.

    `auto` is the first GPU if `backends` includes GPUs, else the CPU; with `several`, all GPUs together if there are
    several.
    """
    known = list_devices()
    if name == "auto":
        gpus = [device for device in known if device.backend == "cuda" and "cuda" in backends]
        return next((gpu for gpu in gpus if several and gpu.is_several), gpus[0] if gpus else known[0])
    for device in known:
        if device.id == name:
            return device
    ids = ", ".join(device.id for device in known)
    raise UnknownDeviceError(f"Unknown device {name!r}. Available devices: {ids} (or auto).")


def cpu_device() -> DeviceInfo:
    """Return the CPU of this host, without asking NVML."""
    cores = len(os.sched_getaffinity(0))
    return DeviceInfo(
        id="cpu",
        backend="cpu",
        name=_cpu_name(),
        memory_bytes=_cpu_memory(),
        cache_bytes=_cpu_cache(),
        details={"cores": str(cores), "system": f"{platform.system()} {platform.release()}"},
    )


def _cpu_name() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _cpu_memory() -> int:
    """Return the physical memory in bytes, or the limit of the control group if that is lower."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):
        return min(physical, int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return physical


def _cpu_cache() -> int:
    """Return the size in bytes of the largest cache of the first core."""
    sizes = []
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        with suppress(OSError, ValueError):
            sizes.append(int(path.read_text(encoding="ascii").strip().removesuffix("K")) * 1024)
    return max(sizes, default=CACHE_FALLBACK_BYTES)


def _gpus() -> tuple[DeviceInfo, ...]:
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        # No driver, no GPU: a fact about this host, not a failure.
        return ()
    try:
        handles = _visible(_present([pynvml.nvmlDeviceGetHandleByIndex(index) for index in _responding()]))
        return tuple(_gpu(number, handle) for number, handle in enumerate(handles))
    finally:
        pynvml.nvmlShutdown()


def _responding() -> Iterator[int]:
    """Yield the NVML indices of GPUs that respond; NVML also lists GPUs that have failed."""
    for index in range(pynvml.nvmlDeviceGetCount()):
        with suppress(pynvml.NVMLError):
            pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(index))
            yield index


def _together(gpus: Sequence[DeviceInfo]) -> Iterator[DeviceInfo]:
    """Yield all GPUs as one device if there are several."""
    if len(gpus) > 1:
        names = Counter(gpu.name for gpu in gpus)
        yield replace(
            gpus[0],
            id=TOGETHER,
            name=", ".join(f"{count} × {name}" for name, count in names.items()),
            memory_bytes=min(gpu.memory_bytes for gpu in gpus),
            uuid=",".join(gpu.uuid for gpu in gpus),
        )


def _present(handles: list[object]) -> list[object]:
    """Return the GPUs with device files, because in a container NVML may list all GPUs of the host.

    Without such files, as on Windows, all GPUs count.
    """
    files = {path.name for path in DEVICE_FILES.glob("nvidia[0-9]*")}
    return [h for h in handles if not files or f"nvidia{pynvml.nvmlDeviceGetMinorNumber(h)}" in files]


def _visible(handles: list[object]) -> list[object]:
    """Return the GPUs in CUDA_VISIBLE_DEVICES, in its order: indices (in PCI order) or UUIDs."""
    selection = os.environ.get("CUDA_VISIBLE_DEVICES")
    if selection is None:
        return handles
    by_name = {str(index): handle for index, handle in enumerate(handles)}
    by_name |= {_text(pynvml.nvmlDeviceGetUUID(handle)): handle for handle in handles}
    names = [name.strip() for name in selection.split(",")]
    return [by_name[name] for name in names if name in by_name]


def _gpu(number: int, handle: object) -> DeviceInfo:
    major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(handle)
    version = pynvml.nvmlSystemGetCudaDriverVersion_v2()
    return DeviceInfo(
        id=f"cuda:{number}",
        backend="cuda",
        name=_text(pynvml.nvmlDeviceGetName(handle)),
        memory_bytes=int(pynvml.nvmlDeviceGetMemoryInfo(handle).total),
        # NVML does not report it; the bench reads it from the runtime when it opens the device.
        cache_bytes=0,
        uuid=_text(pynvml.nvmlDeviceGetUUID(handle)),
        details={
            "compute capability": f"{major}.{minor}",
            "driver": _text(pynvml.nvmlSystemGetDriverVersion()),
            "CUDA of the driver": f"{version // 1000}.{version % 1000 // 10}",
        },
    )


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
