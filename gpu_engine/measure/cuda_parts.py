"""CudaPartTimer: times parts that the host launches one by one on a GPU, each between two events."""

from collections.abc import Callable
from typing import Any

import cupy

from gpu_engine.measure.cuda_errors import translated


class CudaPartTimer:
    """A timer of parts on a stream; the seconds include the launch if the device waits for it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._events: list[tuple[Any, Any]] = []

    def __call__(self, part: Callable[[], None]) -> None:
        """Run a part and time it."""
        begin = self._stream.record(cupy.cuda.Event())
        part()
        self._events.append((begin, self._stream.record(cupy.cuda.Event())))

    def seconds(self) -> list[float]:
        """Wait for all parts and return their seconds, in order."""
        with translated():
            self._stream.synchronize()
            return [cupy.cuda.get_elapsed_time(begin, end) * 1e-3 for begin, end in self._events]
