"""What memory a product takes while it runs, or keeps after it."""

import gc
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

from gpu_engine.errors import KernelError
from gpu_engine.measure.stopwatch import Stopwatch

CALLS = 8
"""Products over which what they keep is added up."""

KEPT_BYTES = 2**14
"""Python itself keeps a little; an x of two thousand elements is more."""


def watch(stopwatch: Stopwatch, call: Callable[[], None], inputs: Sequence[Any], write: Callable[[Any], None]) -> None:
    """Raises KernelError where a call allocates memory of a GPU, or keeps memory of the host that it takes.

    inputs  2 + CALLS x on the host, which `write` brings before the call: what is remembered of each grows

    On a CPU temporaries are allowed: their time is in the product's. In a graph they would be given to others.
    """
    write(inputs[0])
    call()
    if stopwatch.backend == "cuda":
        taken = stopwatch.peak_bytes(call)
        if taken:
            raise KernelError(f"refused: a call allocates {taken} bytes on the GPU; allocate in prepare")
    tracemalloc.start()
    try:
        before, after = (_held(some, call, write) for some in (inputs[:2], inputs[2:]))
    finally:
        tracemalloc.stop()
    if after - before > KEPT_BYTES:
        raise KernelError(f"refused: {CALLS} calls keep {after - before} bytes that they allocate; allocate in prepare")


def _held(inputs: Sequence[Any], call: Callable[[], None], write: Callable[[Any], None]) -> int:
    """Bytes that Python holds after calls with these."""
    for x in inputs:
        write(x)
        call()
    gc.collect()
    return tracemalloc.get_traced_memory()[0]
