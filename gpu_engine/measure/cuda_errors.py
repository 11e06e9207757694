"""Converts errors of CUDA and NVML to errors of this package."""

from collections.abc import Iterator
from contextlib import contextmanager

import cupy

from gpu_engine.errors import DeviceError, DeviceLostError, DeviceMemoryError
from gpu_engine.host.nvml import pynvml

LOST = {
    100: "no device",
    101: "invalid device",
    214: "uncorrectable ECC error",
    220: "uncorrectable NVLink error",
    700: "illegal address",
    702: "launch timeout",
    710: "assert",
    714: "hardware stack error",
    715: "illegal instruction",
    716: "misaligned address",
    717: "invalid address space",
    718: "invalid program counter",
    719: "launch failure",
    999: "unknown",
}
"""Error numbers of runtime and driver after which the process can no longer use the device."""


@contextmanager
def translated() -> Iterator[None]:
    """Convert errors in the block to DeviceMemoryError, DeviceLostError, or DeviceError."""
    try:
        yield
    except cupy.cuda.memory.OutOfMemoryError as error:
        cupy.get_default_memory_pool().free_all_blocks()
        raise DeviceMemoryError(f"The GPU has too little free memory: {error}.") from error
    except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError) as error:
        raise (DeviceLostError if error.status in LOST else DeviceError)(f"The GPU reported {error}.") from error
    except pynvml.NVMLError_GpuIsLost as error:
        raise DeviceLostError(f"The GPU reported {error}.") from error
