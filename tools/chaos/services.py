"""SERVICES: the ways to run the service in a scenario; each finds its parts and restarts them after a kill."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import psutil
from sqlalchemy import make_url

from server.settings import Settings

ROOT = Path(__file__).parents[2]
PARTS = ("process", "dispatcher", "worker", "server")
PATIENCE_S = 240.0
"""Limit after which a missing event counts as stuck."""

STEP_S = 0.03
ONE_THREAD = {"NUMBA_THREADING_LAYER": "workqueue", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Settings without threads: a process with OpenMP threads cannot be forked."""

THREADS = {"OMP_WAIT_POLICY": "PASSIVE", "NUMBA_CACHE_DIR": str(ROOT / ".pytest_cache" / "numba")}


class StuckError(Exception):
    """An expected event did not come."""


class Service(Protocol):
    """A running service."""

    def start(self) -> None:
        """Start it, or restart the killed parts that no other part restarts."""

    def find(self, part: str) -> psutil.Process | None:
        """Return the process of that part, None without one."""

    def stop(self) -> None:
        """End it as a user does, and wait."""


def wait(condition: Callable[[], object], what: str, patience_s: float = PATIENCE_S) -> None:
    """Return once the condition holds; raise StuckError after the limit."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            raise StuckError(f"waited {patience_s:.0f} s for {what}")
        threading.Event().wait(STEP_S)


def lives(process: psutil.Process | None) -> bool:
    """Return whether the process runs and is not a zombie."""
    with suppress(psutil.NoSuchProcess):
        return process is not None and process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def environment(settings: Settings, folder: Path, more: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of every process of the service."""
    ours = {"HOME": settings.home, "PORT": settings.port, "DATABASE_URL": settings.database_url, "LOG_FORMAT": "text"}
    given = {f"SPARSIGHT_{name}": str(value) for name, value in ours.items()}
    return {**os.environ, **THREADS, **given, **more, "TMPDIR": str(folder)}


class Zygote:
    """The process that forks warm services (fork_pool.py), started on first use; its forks end with the block."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> "Zygote":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process:
            self._process.communicate()

    def fork(self, part: str, environment: Mapping[str, str], log: Path) -> psutil.Process:
        """Return a new server or worker with this environment, which appends its output to the log."""
        if self._process is None:
            command = (sys.executable, "-m", "tools.chaos.fork_pool")
            environ = {**os.environ, **THREADS, **ONE_THREAD}
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, cwd=ROOT, env=environ, stdin=pipe, stdout=pipe, text=True)
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"part": part, "environment": environment, "log": str(log)}) + "\n")
        self._process.stdin.flush()
        return psutil.Process(int(self._process.stdout.readline()))


class Warm:
    """`serve --no-worker` and a separate worker, as forks of a process with all imports and compiled kernels."""

    name = "warm"

    def __init__(self, settings: Settings, folder: Path, zygote: Zygote) -> None:
        self._parts: dict[str, psutil.Process] = {}
        self._environment = environment(settings, folder, ONE_THREAD)
        self._log = settings.home / "log"
        self._zygote = zygote

    def start(self) -> None:
        """Fork the parts that do not run."""
        for part in ("server", "worker"):
            if not lives(self._parts.get(part)):
                self._parts[part] = self._zygote.fork(part, self._environment, self._log)

    def find(self, part: str) -> psutil.Process | None:
        """Return the process of that part, None without one."""
        with suppress(psutil.NoSuchProcess):
            if part in self._parts:
                return self._parts[part]
            below = (child for child in self._parts["worker"].children() if child.name() == "dispatcher")
            dispatcher = next(below, None)
            if part == "dispatcher" or dispatcher is None:
                return dispatcher
            return next((child for child in dispatcher.children(recursive=True) if child.name() == "measure"), None)
        return None

    def stop(self) -> None:
        """End all parts and wait."""
        for part in self._parts.values():
            with suppress(psutil.NoSuchProcess):
                part.terminate()
        psutil.wait_procs(list(self._parts.values()), PATIENCE_S)


class Shipped:
    """`sparsight serve` as a user starts it, with its own worker and Ray."""

    name = "shipped"

    def __init__(self, settings: Settings, folder: Path, _zygote: Zygote) -> None:
        self._settings = settings
        self._folder = folder
        self._server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server if it does not run."""
        if self._server is None or self._server.poll() is not None:
            command = ("-P", "-m", "sparsight", "serve")
            environ = environment(self._settings, self._folder, {})
            with (self._settings.home / "log").open("a") as log:
                self._server = subprocess.Popen(
                    [sys.executable, *command], cwd=ROOT, env=environ, stderr=log, stdout=subprocess.DEVNULL
                )

    def find(self, part: str) -> psutil.Process | None:
        """Return the process of that part, None without one."""
        assert self._server
        with suppress(psutil.NoSuchProcess, StopIteration):
            process = psutil.Process(self._server.pid)
            for level, word in (("worker", "worker"), ("dispatcher", "server.jobs.dispatcher")):
                if part == "server":
                    return process
                process = next(child for child in process.children() if word in child.cmdline())
                if part == level:
                    return process
            return next(
                p for p in process.children(recursive=True) if "".join(p.cmdline()).startswith("ray::run_study")
            )
        return None

    def stop(self) -> None:
        """End the server and wait."""
        assert self._server
        self._server.terminate()
        self._server.wait(PATIENCE_S)


SERVICES = {service.name: service for service in (Warm, Shipped)}


def free_port() -> int:
    """Return a port of this host on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def left(settings: Settings) -> list[str]:
    """Return running processes of the service, identified by data directory or log."""
    running = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if _is_of(process, settings.home) and lives(process):
                running.append(f"{process.pid} {process.name()}")
    return running


def _is_of(process: psutil.Process, home: Path) -> bool:
    # A fork shows the environment of its parent process, but writes to its own log.
    with suppress(OSError):
        if os.readlink(f"/proc/{process.pid}/fd/2") == str(home / "log"):
            return True
    return bool(process.environ().get("SPARSIGHT_HOME") == str(home))


def postgres_folder(settings: Settings) -> Path:
    """Return the folder of the data and the socket of Postgres."""
    return Path(str(make_url(settings.database_url).query["host"]))
