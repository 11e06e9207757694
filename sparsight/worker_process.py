"""The worker beside a server: a child process that lives no longer than the server does."""

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
"""A worker that has not put its job back into the queue by then is killed."""

PAUSE_S = 2.0
PAUSE_MAX_S = 60.0
"""Shortest and longest pause before a worker that has ended is started again: twice as long each time that it ended
within the longest.
"""


def end_with(parent: int) -> None:
    """Has the kernel end this process with the parent that started it; raises UnavailableError where that is gone."""
    try:
        there = end_with_parent(parent, signal.SIGTERM)
    except OSError as error:
        raise UnavailableError(f"Cannot tie this process to its parent: {error.strerror}.") from error
    if not there:
        raise UnavailableError(f"The process {parent} that asked for this worker has ended.")


class WorkerProcess:
    """`sparsight worker` as a child: started again when it dies, ended when this process is, however that ends."""

    def __init__(
        self,
        command: Sequence[str] = (),
        stopping: threading.Event | None = None,
        clock: Callable[[], float] = time.monotonic,
        drain_s: float = 0.0,
    ) -> None:
        """command  empty: `sparsight worker`; stopping  is waited on between two workers; clock  in seconds;
        drain_s  how long a worker that is told to stop may wait for its jobs
        """
        self._stop_s = STOP_S + drain_s
        self._command = command or (sys.executable, "-P", "-m", "sparsight", "worker", "--parent", str(os.getpid()))
        self._clock = clock
        self._stopping = stopping or threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._supervise, name="worker", daemon=True)

    def start(self) -> None:
        """Starts the worker and returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the worker and waits until it is gone; a signal in the meantime has it wait for no job."""
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
                # Its own process group: a Ctrl-C in the terminal is for us to pass on, in order.
                self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, process_group=0)
            started = self._clock()
            code = self._process.wait()
            if self._stopping.is_set():
                return
            if self._clock() - started > PAUSE_MAX_S:
                pause_s = PAUSE_S
            log.error("The worker ended with %d; another one starts in %g s.", code, pause_s)
            self._stopping.wait(pause_s)
            pause_s = min(2 * pause_s, PAUSE_MAX_S)
