"""Device groups: the devices that share a matrix, opened together; how many there are."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from gpu_engine.errors import ParameterError
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.topology import simulated
from gpu_engine.multigpu.virtual import virtual_devices
from gpu_engine.records import DeviceInfo

ProductName = Literal["sparsight", "cusparse"]
"""Whose kernels multiply the parts."""

VIRTUAL_MAX = 64
"""Virtual devices of a CPU: each takes two threads."""


def device_count(device: DeviceInfo) -> int:
    """One GPU, or all those of a device of several; of a CPU as many as VIRTUAL_MAX; of a cluster those it has."""
    if device.hosts:
        return sum(device.hosts)
    return VIRTUAL_MAX if device.backend == "cpu" else max(1, len(device.uuids))


@contextmanager
def open_devices(
    device: DeviceInfo, count: int, nodes: int = 1, kernel_library: ProductName = "sparsight"
) -> Iterator[tuple[Device, ...]]:
    """So many devices of the kind of `device`: the first GPUs of this process, or virtual ones of this CPU.

    nodes    NUMA nodes over which virtual devices are spread; GPUs hang where they do
    product  whose kernels multiply

    Raises ParameterError where there are fewer devices, or cuSPARSE is to multiply on a CPU.
    """
    available = device_count(device)
    if not 1 <= count <= available:
        what = "virtual devices" if device.backend == "cpu" else "GPUs"
        raise ParameterError(
            f"{count} devices are to share the matrix; there are {available} {what}. Choose 1 to {available}."
        )
    if device.backend == "cpu":
        if kernel_library == "cusparse":
            raise ParameterError("cuSPARSE multiplies on a GPU alone; choose our products, or a device with a GPU.")
        with virtual_devices(simulated(spread(count, nodes))) as devices:
            yield devices
        return
    from gpu_engine.multigpu.cuda_device import CudaDevice, cuda_devices
    from gpu_engine.multigpu.cusparse_device import CusparseDevice

    with cuda_devices(count, {"sparsight": CudaDevice, "cusparse": CusparseDevice}[kernel_library]) as gpus:
        yield gpus


def spread(count: int, nodes: int) -> Sequence[int]:
    """How many of the devices hang on each node: equal numbers, but for one."""
    return [(node + 1) * count // nodes - node * count // nodes for node in range(nodes)]
