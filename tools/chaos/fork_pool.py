"""Services as forks of one process with all imports, so that a killed part restarts at once.

`python -m tools.chaos.fork_pool` reads lines of JSON: a part (`server` or `worker`), its environment, and its log. It
answers each with the id of the forked process, which ends with it. The forks run the code of the service, except that
the dispatcher starts measuring processes itself, without Ray, and that samples and pauses are short.
"""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn

from ray import cloudpickle

from gpu_engine.measure import cpu
from server.jobs import dispatcher, dispatcher_lock, worker
from server.jobs.engine import Engine, ProcessDiedError, Stream, StreamEndError
from server.jobs.task import Failure, StudyTask, run_study
from server.processes import end_with_parent
from server.settings import Settings
from sparsight.serve import serve
from tools.chaos.workloads import CPU, compile_kernels

PAUSE_S = 0.05
SAMPLE_S = 1e-4
"""Seconds per sample: too short for a useful time, but jobs are short."""

END = "end"
PIDS_MAX = 4096
"""Upper limit of open files of a process."""


def fork(name: str, life: Callable[[], object], keep: int = -1) -> int:
    """Return the id of a child of that name, which ends with this process and keeps file `keep` and the first three."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.closerange(3, keep if keep > 3 else 3)
        os.closerange(max(keep + 1, 3), PIDS_MAX)
        Path("/proc/self/comm").write_text(name)
        if end_with_parent(parent, signal.SIGKILL):
            life()
            status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


class ForkedDispatcher:
    """A forked dispatcher with the part of the interface of Popen that the worker uses."""

    def __init__(self, folder: str) -> None:
        self._status: int | None = None
        self.pid = fork("dispatcher", lambda: _dispatch(folder))

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status, as Popen.wait does."""
        deadline = time.monotonic() + (timeout or 0.0)
        while self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
            elif timeout is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("dispatcher", timeout)
            else:
                time.sleep(PAUSE_S / 5)
        return self._status

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self._send(signal.SIGKILL)

    def _send(self, number: int) -> None:
        if self._status is None:
            os.kill(self.pid, number)


class ForkingEngine(Engine):
    """Engine that starts processes without Ray: a nursery, forked before any thread starts, forks them."""

    def start(self) -> None:
        """Start the nursery."""
        ours, theirs = socket.socketpair()
        self._lock = threading.Lock()
        self._nursery = fork("nursery", lambda: _nurse(theirs), theirs.fileno())
        theirs.close()
        self._line = ours

    def cluster(self) -> None:
        """Do nothing: there is no cluster."""

    def stop(self) -> None:
        """Kill the nursery."""
        os.kill(self._nursery, signal.SIGKILL)
        os.waitpid(self._nursery, 0)
        self._line.close()

    def submit(self, task: StudyTask) -> "ForkedStream":
        """Start a process for the task; return its stream."""
        ours, theirs = Pipe()
        with self._lock, theirs:
            socket.send_fds(self._line, [b"."], [theirs.fileno()])
        ours.send_bytes(cloudpickle.dumps(task))  # type: ignore[no-untyped-call]
        try:
            return ForkedStream(ours, ours.recv())
        except (EOFError, OSError):
            raise ProcessDiedError("process died") from None


class ForkedStream(Stream):
    """Messages of one process."""

    def __init__(self, line: "Connection[Any, Any]", pid: int) -> None:
        self._line = line
        self._pid = pid

    def take(self, timeout_s: float) -> Any:
        """Return the next message, or None after the timeout."""
        if not self._line.poll(timeout_s):
            return None
        try:
            message = self._line.recv()
        except (EOFError, OSError):
            raise ProcessDiedError("process died") from None
        if message == END:
            raise StreamEndError
        with suppress(OSError):
            self._line.send(None)
        return message

    def end(self) -> None:
        """Kill the process."""
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        self._line.close()


def _nurse(line: socket.socket) -> None:
    """Fork a process for each connection received."""
    # The kernel reaps the children.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        data, (descriptor, *_), _, _ = socket.recv_fds(line, 1, 1)
        if not data:
            return
        fork("measure", lambda number=descriptor: _measure(number), descriptor)  # type: ignore[misc]
        os.close(descriptor)


def _measure(number: int) -> None:
    line: Connection[Any, Any] = Connection(number)
    line.send(os.getpid())
    pickled = line.recv_bytes()
    try:
        for record in run_study("", pickled):
            line.send(record)
            # Continue when the record was received.
            line.recv()
    except Exception as error:
        line.send(Failure("internal", f"The process could not run the study: {error}", trace=traceback.format_exc()))
        line.recv()
    line.send(END)


def _dispatch(folder: str) -> NoReturn:
    os.setsid()
    sys.argv[1:] = [folder]
    sys.exit(dispatcher.main(devices=[CPU]))


def _work() -> None:
    worker._start = lambda command: ForkedDispatcher(command[-1])  # type: ignore[assignment,return-value]
    worker.RESTART_S = worker.REFUSED_S = dispatcher_lock.LOCK_S = PAUSE_S
    dispatcher.Engine = ForkingEngine  # type: ignore[attr-defined]
    worker.supervise()


def _serve() -> None:
    serve(Settings(), with_worker=False, announce=lambda _: None)


LIVES = {"server": _serve, "worker": _work}


def _live(part: str, environment: Mapping[str, str], log: str) -> None:
    os.environ.clear()
    os.environ.update(environment)
    # It was cached during the imports, for another environment.
    tempfile.tempdir = None
    words = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for number in (1, 2):
        os.dup2(words, number)
    os.close(words)
    LIVES[part]()


def main() -> None:
    """Fork a process per line of input until it ends; the children end with this process."""
    cpu.SAMPLE_S = SAMPLE_S
    compile_kernels()
    # Permanent objects are not garbage: a collection in a fork would copy all of them.
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        order = json.loads(line)
        sys.stdout.write(f"{fork(order['part'], partial(_live, **order))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
