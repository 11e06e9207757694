"""Services as forks of one process that has imported everything: a part that was killed is there again at once.

`python -m tools.chaos.warm` reads lines of JSON: a part (`server` or `worker`), its environment and its log. It answers
each with the id of the process that it has forked, which ends with it. They run the code of the service, but that the
dispatcher starts the processes that measure by itself, without Ray, and that samples and pauses are short.
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
from tools.chaos.material import CPU, compile_kernels

PAUSE_S = 0.05
SAMPLE_S = 1e-4
"""Of no use as a time, but jobs are short."""

END = "end"
PIDS_MAX = 4096
"""More than any process here has files open."""


def fork(name: str, life: Callable[[], object], keep: int = -1) -> int:
    """Id of a child of that name, which ends with this process; of our open files it has `keep` and the first three."""
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
    """What the worker does with a Popen."""

    def __init__(self, folder: str) -> None:
        self._status: int | None = None
        self.pid = fork("dispatcher", lambda: _dispatch(folder))

    def wait(self, timeout: float | None = None) -> int:
        """As in Popen."""
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
        """As in Popen."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """As in Popen."""
        self._send(signal.SIGKILL)

    def _send(self, number: int) -> None:
        if self._status is None:
            os.kill(self.pid, number)


class ForkingEngine(Engine):
    """The dispatcher's own way to start processes: a nursery, forked before there are threads, forks them."""

    def start(self) -> None:
        """As in Engine."""
        ours, theirs = socket.socketpair()
        self._lock = threading.Lock()
        self._nursery = fork("nursery", lambda: _nurse(theirs), theirs.fileno())
        theirs.close()
        self._line = ours

    def cluster(self) -> None:
        """There is none."""

    def stop(self) -> None:
        """As in Engine."""
        os.kill(self._nursery, signal.SIGKILL)
        os.waitpid(self._nursery, 0)
        self._line.close()

    def submit(self, task: StudyTask) -> "ForkedStream":
        """As in Engine."""
        ours, theirs = Pipe()
        with self._lock, theirs:
            socket.send_fds(self._line, [b"."], [theirs.fileno()])
        ours.send_bytes(cloudpickle.dumps(task))  # type: ignore[no-untyped-call]
        try:
            return ForkedStream(ours, ours.recv())
        except (EOFError, OSError):
            raise ProcessDiedError("process died") from None


class ForkedStream(Stream):
    """What one process says."""

    def __init__(self, line: "Connection[Any, Any]", pid: int) -> None:
        self._line = line
        self._pid = pid

    def take(self, timeout_s: float) -> Any:
        """As in Stream."""
        if not self._line.poll(timeout_s):
            return None
        try:
            said = self._line.recv()
        except (EOFError, OSError):
            raise ProcessDiedError("process died") from None
        if said == END:
            raise StreamEndError
        with suppress(OSError):
            self._line.send(None)
        return said

    def end(self) -> None:
        """As in Stream."""
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        self._line.close()


def _nurse(line: socket.socket) -> None:
    """Forks a process for each line that it is handed."""
    # The kernel buries the dead.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        told, (handed, *_), _, _ = socket.recv_fds(line, 1, 1)
        if not told:
            return
        fork("measure", lambda number=handed: _measure(number), handed)  # type: ignore[misc]
        os.close(handed)


def _measure(number: int) -> None:
    line: Connection[Any, Any] = Connection(number)
    line.send(os.getpid())
    pickled = line.recv_bytes()
    try:
        for record in run_study("", pickled):
            line.send(record)
            # The next one when this one was taken.
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
    # Known since the imports, and another's.
    tempfile.tempdir = None
    words = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for number in (1, 2):
        os.dup2(words, number)
    os.close(words)
    LIVES[part]()


def main() -> None:
    """Forks what it is told until nobody tells it any more; its children end with it."""
    cpu.SAMPLE_S = SAMPLE_S
    compile_kernels()
    # What is here for good is no garbage: a fork that looks for some would copy all of it.
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        order = json.loads(line)
        sys.stdout.write(f"{fork(order['part'], partial(_live, **order))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
