"""Fork servers: processes that import what a task needs once, and fork a short-lived process for each task.

A new process needs more than a second of CPU time to import NumPy, SciPy, and Numba; a fork needs a hundredth of that.
The fork server runs no task itself. It reports the id and the exit of each fork.
"""

import gc
import json
import os
import select
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from server.processes import end_with_parent

STDERR = "stderr.txt"
"""File of the error output of a fork, in its folder."""

GONE = -signal.SIGKILL


class Fork:
    """Handle of a forked process."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, or minus the number of the signal that ended the process; None while it runs."""
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal to the process and everything that it started. Do nothing if it has ended."""
        # Until the next task the fork server does not reap the process, so that its id is not reused.
        if self.returncode is None:
            os.killpg(self.pid, number)


class ForkServer:
    """Fork server for one task at a time. It ends with the thread that started it."""

    def __init__(self, module: str, environment: Mapping[str, str]) -> None:
        """Start the server; `warm` waits until it can fork.

        module  calls `serve` when it runs as a script
        """
        command = [sys.executable, "-P", "-m", module, str(os.getpid())]
        pipe = subprocess.PIPE
        self._process: Any = subprocess.Popen(
            command, bufsize=0, stdin=pipe, stdout=pipe, env=environment, start_new_session=True
        )
        self._is_warm = False

    def warm(self) -> bool:
        """Wait until the server has imported what its tasks need. Return False if it ended before."""
        self._is_warm = self._is_warm or bool(self._process.stdout.readline())
        return self._is_warm

    def start(self, document: Any, folder: Path) -> Fork:
        """Fork a process that runs a task in this folder. Raises ChildProcessError if the fork server has ended."""
        if not self.warm():
            raise ChildProcessError("The fork server has ended.")
        try:
            self._process.stdin.write(json.dumps([document, str(folder)]).encode() + b"\n")
        except BrokenPipeError:
            raise ChildProcessError("The fork server has ended.") from None
        pid = self._process.stdout.readline()
        if not pid:
            raise ChildProcessError("The fork server has ended.")
        return Fork(int(pid))

    def wait(self, fork: Fork, seconds: float | None = None) -> int:
        """Return the exit code of the fork, or GONE if the fork server has ended too. Raises TimeoutError if the fork
        still runs.
        """
        if fork.returncode is None:
            if not select.select([self._process.stdout], [], [], seconds)[0]:
                raise TimeoutError
            fork.returncode = int(self._process.stdout.readline() or GONE)
        return fork.returncode

    def close(self) -> None:
        """End the server, and the fork that still runs."""
        with self._process:
            self._process.kill()


class ForkServers:
    """Fork servers of one module. One starts at a time, because it compiles in a new data directory, and the next one
    loads the result.

    idle  those without a task
    """

    def __init__(self, module: str, environment: Callable[[], Mapping[str, str]]) -> None:
        self.idle: list[ForkServer] = []
        self._module, self._environment = module, environment
        self._starting = threading.Lock()

    def prepare(self) -> None:
        """Start a fork server in the background, so that the first task does not wait for it.

        The server ends with the calling thread.
        """
        self.idle.append(ForkServer(self._module, self._environment()))

    def warm(self) -> None:
        """Wait until the idle fork servers are warm."""
        with self._starting:
            for server in self.idle:
                server.warm()

    def take(self, document: Any, folder: Path) -> tuple[ForkServer, Fork]:
        """Return an idle fork server, or else a new one, and its fork for a task. Raises ChildProcessError if none
        starts.
        """
        with self._starting:
            while self.idle:
                server = self.idle.pop()
                try:
                    return server, server.start(document, folder)
                except ChildProcessError:
                    # A host without memory may have killed it while it waited.
                    server.close()
            server = ForkServer(self._module, self._environment())
            return server, server.start(document, folder)

    def close(self) -> None:
        """End the idle fork servers."""
        while self.idle:
            self.idle.pop().close()


def serve(work: Callable[[Any], int | None], warm_up: Callable[[], None] = lambda: None) -> None:
    """Fork a process for each task that arrives on stdin, until stdin ends.

    work     runs a task in its folder and returns its exit code, None for 0
    warm_up  imports what all tasks need, once, in the server
    """
    if not end_with_parent(int(sys.argv[1]), signal.SIGKILL):
        sys.exit("the parent process has ended")
    warm_up()
    # Exclude all current objects from garbage collection in the forks, because a collection would copy their pages.
    gc.freeze()
    server, pid = os.getpid(), 0
    _tell(server)
    for line in sys.stdin:
        if pid:
            os.waitpid(pid, 0)
        pid = os.fork()
        if pid == 0:
            _run(work, server, *json.loads(line))
        _lead(pid)
        _tell(pid)
        ended: Any = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        _tell(ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status)


def _tell(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def _lead(pid: int) -> None:
    """Move a fork into its own process group. Parent and child both call it, because either may be first."""
    try:
        os.setpgid(pid, pid)
    except (PermissionError, ProcessLookupError):
        return


def _run(work: Callable[[Any], int | None], server: int, document: Any, folder: str) -> None:
    """Run a task in the fork and exit. The fork keeps none of the server's pipes."""
    code = 1
    try:
        if not end_with_parent(server, signal.SIGKILL):
            sys.exit("the server has ended")
        _lead(os.getpid())
        os.chdir(folder)
        os.environ["TMPDIR"] = folder
        null, stderr = os.open(os.devnull, os.O_RDWR), os.open(STDERR, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        for source, target in ((null, 0), (null, 1), (stderr, 2)):
            os.dup2(source, target)
        code = work(document) or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
