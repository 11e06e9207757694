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
    kept = _kept(inputs, call, write)
    if kept > KEPT_BYTES:
        raise KernelError(f"refused: {CALLS} calls keep {kept} bytes that they allocate; allocate in prepare")


def _kept(inputs: Sequence[Any], call: Callable[[], None], write: Callable[[Any], None]) -> int:
    """Bytes that the calls after the first two hold; to collect garbage takes long, and is done in doubt alone."""
    tracemalloc.start()
    try:
        before = _held(inputs[:2], call, write)
        kept = _held(inputs[2:], call, write) - before
        if kept > KEPT_BYTES:
            gc.collect()
            kept = tracemalloc.get_traced_memory()[0] - before
        return kept
    finally:
        tracemalloc.stop()


def _held(inputs: Sequence[Any], call: Callable[[], None], write: Callable[[Any], None]) -> int:
    for x in inputs:
        write(x)
        call()
    return tracemalloc.get_traced_memory()[0]
