"""Graceful interrupt: the first Ctrl-C requests a stop, the second one ends the program."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def catch_first_interrupt(notify: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Catch the first Ctrl-C in the block: call `notify`, and make the yielded function return True.

    A further Ctrl-C raises KeyboardInterrupt. Works only in the main thread.
    """
    is_interrupted = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal is_interrupted
        if is_interrupted:
            signal.default_int_handler(number, frame)
        is_interrupted = True
        notify()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: is_interrupted
    finally:
        signal.signal(signal.SIGINT, before)
