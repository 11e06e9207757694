"""Worker of `sparsight serve`: a child process that ends with the server and is restarted after a crash."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence

from gpu_engine.errors import UnavailableError
from server.processes import end_with_parent

log = logging.getLogger(__name__)

STOP_S = 30.0
"""Seconds after which a worker that has not returned its job to the queue is killed."""

PAUSE_S = 2.0
"""Pause before the first restart of a worker, in seconds."""

PAUSE_MAX_S = 60.0
"""Maximum pause before a restart, in seconds; the pause doubles if a worker ran for less than this."""


def end_with(parent: int) -> None:
    """Let the kernel end this process with its parent; raise UnavailableError if the parent has already ended."""
    try:
        is_running = end_with_parent(parent, signal.SIGTERM)
    except OSError as error:
        raise UnavailableError(f"Cannot bind this worker to its parent process: {error.strerror}.") from error
    if not is_running:
        raise UnavailableError(f"Process {parent}, which started this worker, has ended.")


class WorkerProcess:
    """Child process `sparsight worker`: restarted after a crash, and ended with this process in any case."""

    def __init__(
        self,
        command: Sequence[str] = (),
        stopping: threading.Event | None = None,
        clock: Callable[[], float] = time.monotonic,
        drain_s: float = 0.0,
    ) -> None:
        """Prepare the process; `start` starts it.

        command   command line; empty: `sparsight worker`
        stopping  event that ends the pause before a restart
        clock     monotonic clock in seconds
        drain_s   seconds for which a stopping worker may wait for its jobs
        """
        self._stop_s = STOP_S + drain_s
        self._command = command or (sys.executable, "-P", "-m", "sparsight", "worker", "--parent", str(os.getpid()))
        self._clock = clock
        self._stopping = stopping or threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._supervise, name="worker", daemon=True)

    def start(self) -> None:
        """Start the worker and return immediately."""
        self._thread.start()

    def stop(self) -> None:
        """End the worker and wait for its exit; a further Ctrl-C stops waiting for its jobs."""
        with self._lock:
            self._stopping.set()
            process = self._process
        if process is None:
            return
        try:
            self._end(process, self._stop_s)
        except KeyboardInterrupt:
            self._end(process, STOP_S)
        self._thread.join()

    @staticmethod
    def _end(process: subprocess.Popen[bytes], patience_s: float) -> None:
        process.terminate()
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()

    def _supervise(self) -> None:
        pause_s = PAUSE_S
        while True:
            with self._lock:
                if self._stopping.is_set():
                    return
                # A separate process group: Ctrl-C reaches only this process, which stops the worker in order.
                self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, process_group=0)
            started = self._clock()
            code = self._process.wait()
            if self._stopping.is_set():
                return
            if self._clock() - started > PAUSE_MAX_S:
                pause_s = PAUSE_S
            log.error("Worker exited with status %d; restarting in %g s.", code, pause_s)
            self._stopping.wait(pause_s)
            pause_s = min(2 * pause_s, PAUSE_MAX_S)
