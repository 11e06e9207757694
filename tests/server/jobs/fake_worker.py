"""A worker whose dispatchers know the fake study: `python -m tests.server.jobs.fake_worker`.

A dispatcher kills itself at each point that the home names, once: a file `fatal-measured-after` does it when the
transaction of `lease.measured` is committed, `fatal-measured-before` when it has not begun. A file `engine-NAME` breaks
the start of the engine as the function of ENGINE_FAULTS says.
"""

import errno
import functools
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from server.jobs import engine, engine_start, failed_starts, lease, worker
from server.jobs.dispatcher import main
from server.jobs.failed_starts import FailedStarts
from server.settings import Settings
from tests.server.jobs.fake_study import CPU, FAKE

DISPATCH = "dispatch"
STARTS_MAX = 2
"""Failed starts after which jobs fail here; each takes seconds."""


def make_fatal(home: Path) -> None:
    """Wraps the functions of the points that the home names."""
    for name in {file.name.split("-")[1] for file in home.glob("fatal-*")}:
        function = getattr(lease, name)

        @functools.wraps(function)
        def fatal(*given: Any, function: Any = function, name: str = name) -> Any:
            die(home / f"fatal-{name}-before")
            answer = function(*given)
            die(home / f"fatal-{name}-after")
            return answer

        setattr(lease, name, fatal)


def die(point: Path) -> None:
    """Kills this process if the point is named; the next one passes it."""
    if point.exists():
        point.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


def lose_ray(_: Path) -> None:
    """Ray is not installed."""
    sys.modules["ray"] = None  # type: ignore[assignment]


def lose_execute_bit(home: Path) -> None:
    """A program of Ray may not be run."""
    from ray._private import services

    program = home / "raylet"
    program.touch(0o644)
    services.RAYLET_EXECUTABLE = str(program)


def refuse(_: Path) -> None:
    """Ray raises as it is started."""
    import ray

    def init(**_: Any) -> None:
        raise RuntimeError("Failed to start GCS.  Last 1 lines of error files:\n====\nThe port 6379 is taken.\n====")

    cast(Any, ray).init = init


def fill_up(_: Path) -> None:
    """Ray finds no room for its objects."""
    import ray

    def init(**_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/dev/shm/plasma")

    cast(Any, ray).init = init


def crash(_: Path) -> None:
    """Ray takes the process down that starts it."""
    import ray

    cast(Any, ray).init = lambda **_: os.kill(os.getpid(), signal.SIGSEGV)


def hang(_: Path) -> None:
    """Ray never answers."""
    import ray

    cast(Any, ray).init = lambda **_: threading.Event().wait()


def kill_processes(_: Path) -> None:
    """Each process that Ray starts is killed at once, as where the host has run out of memory."""

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    cast(Any, engine).warm_up = die


def break_imports(_: Path) -> None:
    """No process of Ray can import what studies need."""

    def fail() -> None:
        raise ModuleNotFoundError("No module named 'numba'")

    cast(Any, engine).warm_up = fail


def silence_processes(_: Path) -> None:
    """The processes of Ray say nothing."""

    def wait() -> None:
        threading.Event().wait()

    engine.PROCESS_S = 1.0
    cast(Any, engine).warm_up = wait


ENGINE_FAULTS: dict[str, Callable[[Path], None]] = {
    "missing": lose_ray,
    "mode": lose_execute_bit,
    "refuses": refuse,
    "full": fill_up,
    "crashes": crash,
    "hangs": hang,
    "killed": kill_processes,
    "imports": break_imports,
    "silent": silence_processes,
}


def break_engine(home: Path) -> None:
    """Breaks the start of the engine as the home asks."""
    for file in home.glob("engine-*"):
        # Ray reads it when it is imported.
        engine.prepare_environment(Settings())
        ENGINE_FAULTS[file.name.removeprefix("engine-")](home)


if __name__ == "__main__":
    settings = Settings()
    if DISPATCH in sys.argv:
        sys.argv.remove(DISPATCH)
        make_fatal(settings.home)
        break_engine(settings.home)
        sys.exit(main(FAKE, [CPU]))
    if any(settings.home.glob("engine-*")):
        worker.REFUSED_S = 0.2
        failed_starts.STARTS_MAX = STARTS_MAX
    if (settings.home / "engine-hangs").exists():
        # Its imports count.
        engine_start.START_S = 15.0
    command = (sys.executable, "-m", "tests.server.jobs.fake_worker", DISPATCH)
    worker.supervise(command, on_failed_start=FailedStarts(settings).report)
