"""Memory checks of a custom kernel: memory that a call allocates on the GPU, or keeps on the host."""

import gc
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

from gpu_engine.errors import KernelError
from gpu_engine.measure.stopwatch import Stopwatch

CALLS = 8
"""Number of calls over which the kept_bytes memory is added up."""

KEPT_BYTES = 2**14
"""Allowed bytes, because Python itself keeps a little; an x of two thousand elements exceeds it."""


def watch(stopwatch: Stopwatch, call: Callable[[], None], inputs: Sequence[Any], write: Callable[[Any], None]) -> None:
    """Raise KernelError if a call allocates GPU memory or keeps host memory.

    inputs  2 + CALLS vectors x on the host, which `write` writes before each call; results stored per x add up

    On a CPU temporaries are allowed, because their time counts. In a CUDA graph their memory could be reused by others.
    """
    write(inputs[0])
    call()
    if stopwatch.backend == "cuda":
        allocated = stopwatch.peak_bytes(call)
        if allocated:
            raise KernelError(f"rejected: a call allocates {allocated} bytes on the GPU; allocate in prepare")
    kept_bytes = _kept_bytes(inputs, call, write)
    if kept_bytes > KEPT_BYTES:
        raise KernelError(f"rejected: {CALLS} calls keep {kept_bytes} bytes that they allocate; allocate in prepare")


def _kept_bytes(inputs: Sequence[Any], call: Callable[[], None], write: Callable[[Any], None]) -> int:
    """Return the bytes that the calls after the first two keep; garbage is collected only if they exceed KEPT_BYTES."""
    tracemalloc.start()
    try:
        before = _traced_bytes(inputs[:2], call, write)
        kept_bytes = _traced_bytes(inputs[2:], call, write) - before
        if kept_bytes > KEPT_BYTES:
            gc.collect()
            kept_bytes = tracemalloc.get_traced_memory()[0] - before
        return kept_bytes
    finally:
        tracemalloc.stop()


def _traced_bytes(inputs: Sequence[Any], call: Callable[[], None], write: Callable[[Any], None]) -> int:
    for x in inputs:
        write(x)
        call()
    return tracemalloc.get_traced_memory()[0]
