"""Errors of CUDA as errors of this package."""

from collections.abc import Iterator
from contextlib import contextmanager

import cupy

from gpu_engine.errors import DeviceError, DeviceLostError, DeviceMemoryError

LOST = frozenset({"cudaErrorIllegalAddress", "cudaErrorLaunchFailure", "cudaErrorAssert", "cudaErrorECCUncorrectable"})
"""Errors after which a process gets nothing more from a device."""


@contextmanager
def translated() -> Iterator[None]:
    """Runs a block; CUDA errors become DeviceMemoryError, DeviceLostError or DeviceError."""
    try:
        yield
    except cupy.cuda.memory.OutOfMemoryError as error:
        cupy.get_default_memory_pool().free_all_blocks()
        raise DeviceMemoryError(f"The GPU has too little free memory: {error}.") from error
    except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError) as error:
        lost = any(name in str(error) for name in LOST)
        raise (DeviceLostError if lost else DeviceError)(f"The GPU reported {error}.") from error
