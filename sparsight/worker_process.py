"""The worker beside a server: a child process that lives no longer than the server does."""

import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading

from gpu_engine.errors import UnavailableError
from server.jobs.worker import EXIT_OCCUPIED

log = logging.getLogger(__name__)

STOP_S = 30.0
"""A worker that has not put its job back into the queue by then is killed."""

RESTART_S = 2.0
PR_SET_PDEATHSIG = 1


def end_with(parent: int) -> None:
    """Has the kernel end this process with the parent that started it; raises UnavailableError where that is gone."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0) != 0:
        raise UnavailableError(f"Cannot tie this process to its parent: {os.strerror(ctypes.get_errno())}.")
    if os.getppid() != parent:
        raise UnavailableError(f"The process {parent} that asked for this worker has ended.")


class WorkerProcess:
    """`sparsight worker` as a child: started again when it dies, ended when this process is, however that ends."""

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._supervise, name="worker", daemon=True)

    def start(self) -> None:
        """Starts the worker and returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the worker and waits until it is gone."""
        with self._lock:
            self._stopping.set()
            process = self._process
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
        self._thread.join()

    def _supervise(self) -> None:
        command = [sys.executable, "-P", "-m", "sparsight", "worker", "--parent", str(os.getpid())]
        while True:
            with self._lock:
                if self._stopping.is_set():
                    return
                # Its own process group: a Ctrl-C in the terminal is for us to pass on, in order.
                self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, process_group=0)
            code = self._process.wait()
            if code == EXIT_OCCUPIED:
                log.warning("Another worker serves this home; this server leaves the jobs to it.")
                return
            if not self._stopping.is_set():
                log.error("The worker ended with %d; another one starts.", code)
                self._stopping.wait(RESTART_S)
