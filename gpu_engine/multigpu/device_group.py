"""Device groups: the number of devices that can share a matrix, and opening them together."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from gpu_engine.errors import ParameterError
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.topology import simulated
from gpu_engine.multigpu.virtual import virtual_devices
from gpu_engine.records import DeviceInfo

ProductName = Literal["sparsight", "cusparse"]
"""Library whose kernels multiply the partitions."""

VIRTUAL_MAX = 64
"""Maximum number of simulated devices of a CPU; each uses two threads."""


def device_count(device: DeviceInfo) -> int:
    """Return how many devices can share a matrix: the GPUs, VIRTUAL_MAX on a CPU, or all devices of a cluster."""
    if device.hosts:
        return sum(device.hosts)
    return VIRTUAL_MAX if device.backend == "cpu" else max(1, len(device.uuids))


@contextmanager
def open_devices(
    device: DeviceInfo, count: int, nodes: int = 1, kernel_library: ProductName = "sparsight"
) -> Iterator[tuple[Device, ...]]:
    """Open `count` devices: the first GPUs of this process, or simulated devices of this CPU.

    nodes           NUMA nodes over which simulated devices are spread; GPUs keep their nodes
    kernel_library  library whose kernels multiply the partitions

    Raises ParameterError if there are fewer devices, or for cuSPARSE on a CPU.
    """
    available = device_count(device)
    if not 1 <= count <= available:
        kind = "simulated devices" if device.backend == "cpu" else "GPUs"
        raise ParameterError(f"Cannot use {count} devices: {available} {kind} available. Choose 1 to {available}.")
    if device.backend == "cpu":
        if kernel_library == "cusparse":
            raise ParameterError("cuSPARSE needs a GPU. Choose kernel_library=sparsight, or a device with a GPU.")
        with virtual_devices(simulated(spread(count, nodes))) as devices:
            yield devices
        return
    from gpu_engine.multigpu.cuda_device import CudaDevice, cuda_devices
    from gpu_engine.multigpu.cusparse_device import CusparseDevice

    with cuda_devices(count, {"sparsight": CudaDevice, "cusparse": CusparseDevice}[kernel_library]) as gpus:
        yield gpus


def spread(count: int, nodes: int) -> Sequence[int]:
    """Return the number of devices per NUMA node; the numbers differ by at most one."""
    return [(node + 1) * count // nodes - node * count // nodes for node in range(nodes)]
