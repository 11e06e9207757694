"""Worker: keep a dispatcher running, and leave no process behind if anything dies.

The worker is a subreaper: the processes of a dead dispatcher (Ray's, and the measuring one) become its children, and it
kills them before it starts the next dispatcher. If the worker dies, the kernel kills its dispatcher.
"""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from gpu_engine.errors import SparsightError
from server.jobs import engine_start
from server.jobs.engine_start import StartReport
from server.private_folders import worker_folder
from server.processes import adopt_orphans, end_with_parent

log = logging.getLogger(__name__)

COMMAND = (sys.executable, "-P", "-m", "server.jobs.dispatcher")
STOP_S = 20.0
"""Seconds that a stopping dispatcher may take to return its jobs before it is killed."""

RESTART_S = 1.0
REFUSED_S = 10.0
"""Seconds before the next start after a dispatcher ended by itself with a reason."""


def supervise(
    command: Sequence[str] = COMMAND, drain_s: float = 0.0, on_failed_start: Callable[[str], None] = lambda _: None
) -> None:
    """Run dispatchers, one after another, until SIGTERM or SIGINT. Call it in the main thread of a process.

    drain_s          seconds that a stopping dispatcher waits for its jobs; a second signal ends the wait
    on_failed_start  is called with the reason of each failed engine start

    Raises UnavailableError if its temporary folder cannot be created.
    """
    adopt_orphans()
    stop = threading.Event()
    child: list[subprocess.Popen[bytes]] = []

    def on_signal(*_: object) -> None:
        stop.set()
        for process in child:
            process.terminate()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    while not stop.is_set():
        try:
            with worker_folder() as folder:
                launched_s = time.monotonic()
                process = _start([*command, str(folder)])
                child[:] = [process]
                if stop.is_set():
                    process.terminate()
                read_start = partial(engine_start.read, folder, launched_s)
                status = _wait(process, stop, STOP_S + drain_s, read_start)
                reason = engine_start.failure(read_start(), status)
                kill_children()
        except SparsightError as error:
            on_failed_start(error.message)
            raise
        if not stop.is_set():
            log.error("dispatcher exited with status %d; restarting it", status)
            if reason:
                on_failed_start(reason)
            stop.wait(REFUSED_S if status > 0 or reason else RESTART_S)


def kill_children() -> None:
    """Kill every child of this process, and the children that they leave to it."""
    while children := _children():
        for pid in children:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        for pid in children:
            try:
                os.waitpid(pid, 0)
            except ChildProcessError:
                continue


def _children() -> list[int]:
    """Return the ids of this process's children, including zombies."""
    me = os.getpid()
    return [int(pid) for task in Path(f"/proc/{me}/task").iterdir() for pid in (task / "children").read_text().split()]


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    me = os.getpid()

    def die_with_parent() -> None:
        if not end_with_parent(me, signal.SIGKILL):
            os._exit(1)

    # Its own session, so that Ctrl-C only reaches the worker, which shuts down in order.
    return subprocess.Popen(command, preexec_fn=die_with_parent, start_new_session=True)


def _wait(
    process: "subprocess.Popen[bytes]", stop: threading.Event, stop_s: float, read_start: Callable[[], StartReport]
) -> int:
    """Wait for the dispatcher. Kill it if its start is overdue, or if it does not stop in time."""
    while not stop.is_set():
        try:
            return process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            if read_start().is_overdue:
                log.error("the engine start takes too long; killing its dispatcher")
                process.kill()
                return process.wait()
    try:
        return process.wait(timeout=stop_s)
    except subprocess.TimeoutExpired:
        log.error("dispatcher did not stop in time; killing it")
        process.kill()
        return process.wait()


if __name__ == "__main__":
    supervise()
