"""Worker: keeps a dispatcher running and leaves no process behind, whatever dies.

The worker is a subreaper: the processes of a dead dispatcher (Ray's, and the one that measures) become its children,
and it kills them before it starts the next dispatcher. A dispatcher whose worker dies is killed by the kernel.
"""

import ctypes
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

log = logging.getLogger(__name__)

COMMAND = (sys.executable, "-P", "-m", "server.jobs.dispatcher")
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
STOP_S = 20.0
"""How long a dispatcher may take to give its jobs back before it is killed."""

RESTART_S = 1.0
EXIT_OCCUPIED = 3
"""Exit status of a dispatcher where another one serves this home; starting again would not help."""

_libc = ctypes.CDLL(None, use_errno=True)


def supervise(command: Sequence[str] = COMMAND) -> int:
    """Runs dispatchers, one after another, until SIGTERM or SIGINT; call it in the main thread of a process.

    Returns the exit status: not 0 where another worker serves this home.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    stop = threading.Event()
    child: list[subprocess.Popen[bytes]] = []

    def on_signal(*_: object) -> None:
        stop.set()
        for process in child:
            process.terminate()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    while not stop.is_set():
        with tempfile.TemporaryDirectory(prefix="sparsight-", ignore_cleanup_errors=True) as folder:
            process = _start([*command, folder])
            child[:] = [process]
            if stop.is_set():
                process.terminate()
            status = _wait(process, stop)
            kill_children()
        if status == EXIT_OCCUPIED:
            return status
        if not stop.is_set():
            log.error("the dispatcher ended with status %d; it is started again", status)
            stop.wait(RESTART_S)
    return 0


def kill_children() -> None:
    """Kills every child of this process, and the children that those leave to it."""
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
    """Ids of this process's children, zombies included."""
    me = os.getpid()
    return [int(pid) for task in Path(f"/proc/{me}/task").iterdir() for pid in (task / "children").read_text().split()]


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    me = os.getpid()

    def die_with_parent() -> None:
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != me:
            os._exit(1)

    # Its own session: a Ctrl-C at the terminal reaches the worker alone, which passes it on in order.
    return subprocess.Popen(command, preexec_fn=die_with_parent, start_new_session=True)


def _wait(process: "subprocess.Popen[bytes]", stop: threading.Event) -> int:
    """Waits for the dispatcher; once told to stop, for no longer than it may take."""
    while not stop.is_set():
        try:
            return process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            continue
    try:
        return process.wait(timeout=STOP_S)
    except subprocess.TimeoutExpired:
        log.error("the dispatcher does not stop; it is killed")
        process.kill()
        return process.wait()


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) failed")


if __name__ == "__main__":
    sys.exit(supervise())
