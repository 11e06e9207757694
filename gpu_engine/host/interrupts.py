"""Ctrl-C that is heard once before it ends anything."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def heard_once(tell: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Within the block the first Ctrl-C calls `tell`, and makes what is handed out true; any further one interrupts.

    Only in the main thread.
    """
    heard = False

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal heard
        if heard:
            signal.default_int_handler(number, frame)
        heard = True
        tell()

    before = signal.signal(signal.SIGINT, hear)
    try:
        yield lambda: heard
    finally:
        signal.signal(signal.SIGINT, before)
