"""Independent clock: timing that custom code cannot manipulate, and detection of its background threads."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

LOOK_S = 2e-3
"""Seconds of one observation of the process while it should be idle."""

BUSY_SHARE = 0.05
"""Share of processor time from which on an observation counts as work; it is small because a machine may be busy."""

TASKS = Path("/proc/self/task")
"""Directory in which Linux lists the threads of this process."""

LOOKS = 200
"""Consecutive observations of work that count; threads of a parallel library spin for a while after their work."""

PATIENCE = 50
"""Maximum number of checks for a delayed event."""


def bound_clock() -> Callable[[], float]:
    """Return a clock, in seconds, that later replacements in `time` or in this package do not affect."""
    ticks = time.perf_counter_ns
    return lambda: ticks() / 1e9


def works_on() -> bool:
    """Return whether threads of this process compute in the background for more than about 0.4 s."""
    return all(_busy() for _ in range(LOOKS))


def wait_until(happened: Callable[[], bool]) -> bool:
    """Return whether a condition becomes true within about 0.1 s."""
    for _ in range(PATIENCE):
        if happened():
            return True
        time.sleep(LOOK_S)
    return False


def _busy() -> bool:
    begin, worked = time.monotonic(), time.process_time() - time.thread_time()
    time.sleep(LOOK_S)
    others = time.process_time() - time.thread_time() - worked
    return others > BUSY_SHARE * (time.monotonic() - begin) or _runs()


def _runs() -> bool:
    """Return whether another thread runs, or would if it got a processor."""
    this_thread = str(threading.get_native_id())
    return any(_state(task) == "R" for task in TASKS.glob("*") if task.name != this_thread)


def _state(task: Path) -> str:
    """Return the state letter of a thread, which follows the name in parentheses; empty if the thread has ended."""
    try:
        return (task / "stat").read_text(encoding="utf-8", errors="replace").rpartition(") ")[2][:1]
    except OSError:
        return ""
