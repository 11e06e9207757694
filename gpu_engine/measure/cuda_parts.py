"""CudaPartTimer: parts that the host launches one by one on a GPU, between two events each."""

from collections.abc import Callable
from typing import Any

import cupy

from gpu_engine.measure.cuda_errors import translated


class CudaPartTimer:
    """Does parts on a stream and tells the seconds of each, with its launch where the device waits for that."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._events: list[tuple[Any, Any]] = []

    def __call__(self, part: Callable[[], None]) -> None:
        """Does a part."""
        begin = self._stream.record(cupy.cuda.Event())
        part()
        self._events.append((begin, self._stream.record(cupy.cuda.Event())))

    def seconds(self) -> list[float]:
        """Seconds of each part so far, in order; waits for all of them."""
        with translated():
            self._stream.synchronize()
            return [cupy.cuda.get_elapsed_time(begin, end) * 1e-3 for begin, end in self._events]
