"""Clocks that foreign code does not reach by replacing names, and what threads do that nobody waits for."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

LOOK_S = 2e-3
"""A look at what the process does while nothing is asked of it takes about so long."""

BUSY_SHARE = 0.05
"""Processor time over time from which on a look found somebody at work: on a busy machine nobody gets much."""

TASKS = Path("/proc/self/task")
"""Where Linux lists the threads of this process."""

LOOKS = 200
"""So many looks in a row have to: threads of a parallel library wait busily for a while after their work."""

PATIENCE = 50
"""So many looks wait for what may come late."""


def bound_clock() -> Callable[[], float]:
    """Seconds since any moment, by a clock that what is replaced in `time` or in this package later does not change."""
    ticks = time.perf_counter_ns
    return lambda: ticks() / 1e9


def works_on() -> bool:
    """Whether threads of this process compute while nobody asks them to: for a third of a second and more."""
    return all(_busy() for _ in range(LOOKS))


def comes_true(happened: Callable[[], bool]) -> bool:
    """Whether something happens within a short while."""
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
    """Whether another thread runs, or would if it got a processor."""
    own = str(threading.get_native_id())
    return any(_state(task) == "R" for task in TASKS.glob("*") if task.name != own)


def _state(task: Path) -> str:
    """The letter behind the name, which is in parentheses; of a thread that has ended none."""
    try:
        return (task / "stat").read_text(encoding="utf-8", errors="replace").rpartition(") ")[2][:1]
    except OSError:
        return ""
