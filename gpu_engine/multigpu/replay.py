"""Replays: what several streams are to do again and again, captured once, so that little is left to the host."""

from collections.abc import Callable, Hashable, Sequence

from gpu_engine.multigpu.base import Device


class Replays:
    """What was captured on some streams, by any key."""

    def __init__(self, streams: Sequence[Device]) -> None:
        """The streams on which anything will be launched; one may be named twice."""
        self._first, *self._others = {id(stream): stream for stream in streams}.values()
        self._captured: dict[Hashable, Callable[[int], None]] = {}

    def launch(self, key: Hashable, function: Callable[[], None], times: int = 1) -> None:
        """Launches function() so many times; under one key it is the same function. See Device.capture."""
        if key not in self._captured:
            self._captured[key] = self._first.capture(self._others, function)
        self._captured[key](times)

    def clear(self) -> None:
        """Gives back all that was captured."""
        self._captured.clear()
