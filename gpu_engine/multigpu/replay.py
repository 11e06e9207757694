"""Captured work of several streams that is launched repeatedly with little work of the host."""

from collections.abc import Callable, Hashable, Sequence

from gpu_engine.multigpu.base import Device


class Replays:
    """Captured work on a set of streams, by key."""

    def __init__(self, streams: Sequence[Device]) -> None:
        """Register the streams that captured work uses; duplicates are allowed."""
        self._first, *self._others = {id(stream): stream for stream in streams}.values()
        self._captured: dict[Hashable, Callable[[int], None]] = {}

    def launch(self, key: Hashable, function: Callable[[], None], times: int = 1) -> None:
        """Launch the work of function() `times` times; equal keys mean equal functions. See Device.capture."""
        if key not in self._captured:
            self._captured[key] = self._first.capture(self._others, function)
        self._captured[key](times)

    def clear(self) -> None:
        """Free all captured work."""
        self._captured.clear()
