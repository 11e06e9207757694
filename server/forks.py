"""Fork servers: processes that have imported what a task needs, and fork a disposable process for each.

A process that begins with nothing needs more than a second of a core to import NumPy, SciPy and Numba; a fork of one
that has them needs a hundredth of that. The fork server does no task itself, and tells the id and the end of each fork.
"""

import gc
import json
import os
import select
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from server.processes import end_with_parent

STDERR = "stderr.txt"
"""What a fork has to say, in its folder."""

GONE = -signal.SIGKILL


class Fork:
    """A forked process, as the one that asked for it sees it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, minus the number of a signal that ended it; None while nothing else is known."""
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Sends a signal to it and to whatever it started; nothing happens if it is over."""
        # Until the next task the fork server keeps others from the id of a process that has ended.
        if self.returncode is None:
            os.killpg(self.pid, number)


class ForkServer:
    """A fork server, for one task at a time; it ends with the thread that made it."""

    def __init__(self, module: str, environment: Mapping[str, str]) -> None:
        """module  calls `serve` when it is run."""
        command = [sys.executable, "-P", "-m", module, str(os.getpid())]
        pipe = subprocess.PIPE
        self._process: Any = subprocess.Popen(
            command, bufsize=0, stdin=pipe, stdout=pipe, env=environment, start_new_session=True
        )

    def start(self, document: Any, folder: Path) -> Fork:
        """Forks a process that does a task in that folder; raises ChildProcessError where the fork server has ended."""
        try:
            self._process.stdin.write(json.dumps([document, str(folder)]).encode() + b"\n")
        except BrokenPipeError:
            raise ChildProcessError("The fork server has ended.") from None
        pid = self._process.stdout.readline()
        if not pid:
            raise ChildProcessError("The fork server has ended.")
        return Fork(int(pid))

    def wait(self, fork: Fork, seconds: float | None = None) -> int:
        """The exit code of the fork, GONE where its server has ended too; raises TimeoutError where it still runs."""
        if fork.returncode is None:
            if not select.select([self._process.stdout], [], [], seconds)[0]:
                raise TimeoutError
            fork.returncode = int(self._process.stdout.readline() or GONE)
        return fork.returncode

    def close(self) -> None:
        """Ends it, and a fork that still runs with it."""
        with self._process:
            self._process.kill()


def serve(work: Callable[[Any], int | None], warm_up: Callable[[], None] = lambda: None) -> None:
    """The fork server: forks a process for each task of stdin, until that ends.

    work  does a task in its folder and returns its exit code, None for 0; warm_up: what all tasks need, done once, here
    """
    if not end_with_parent(int(sys.argv[1]), signal.SIGKILL):
        sys.exit("the parent is gone")
    warm_up()
    # What is there now is in every fork: their collectors need not look at it, which would copy it.
    gc.freeze()
    server, pid = os.getpid(), 0
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
    """Puts a fork into a group of its own, which both sides do: neither knows who is first."""
    try:
        os.setpgid(pid, pid)
    except (PermissionError, ProcessLookupError):
        return


def _run(work: Callable[[Any], int | None], server: int, document: Any, folder: str) -> None:
    """The fork: nothing of the server's pipes is left to it, and it never returns."""
    code = 1
    try:
        if not end_with_parent(server, signal.SIGKILL):
            sys.exit("the server is gone")
        _lead(os.getpid())
        os.chdir(folder)
        os.environ["TMPDIR"] = folder
        null, said = os.open(os.devnull, os.O_RDWR), os.open(STDERR, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        for source, target in ((null, 0), (null, 1), (said, 2)):
            os.dup2(source, target)
        code = work(document) or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
