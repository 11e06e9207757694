"""CudaArena: memory of a GPU in which new arrays lie at random places."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import cupy

from gpu_engine.measure.placements import ARENA_BYTES, ARENA_SHARE, FILLED, Places


class CudaArena:
    """Memory of the current GPU in which new arrays lie at random places; allocated at the first use."""

    def __init__(self) -> None:
        self._bytes = int(min(ARENA_BYTES, ARENA_SHARE * cupy.cuda.runtime.memGetInfo()[0]))
        self._random = random.Random(0)
        self._memory: Any = None

    @property
    def fitting_bytes(self) -> float:
        """Most bytes that one placement may take."""
        return FILLED * self._bytes

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Place all arrays that the block allocates; they are valid until the next placement."""
        if self._memory is None:
            self._memory = cupy.cuda.alloc(self._bytes)
        places, pool = Places(self._bytes, self._random), cupy.get_default_memory_pool()

        def allocate(nbytes: int) -> Any:
            place = places.take(nbytes)
            return pool.malloc(nbytes) if place is None else self._memory + place

        with cupy.cuda.using_allocator(allocate):
            yield

    def release(self) -> None:
        """Free the memory."""
        self._memory = None
