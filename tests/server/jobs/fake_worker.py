"""A worker whose dispatchers know the fake study: `python -m tests.server.jobs.fake_worker`.

A dispatcher kills itself at each point that the home names, once: a file `fatal-measured-after` does it when the
transaction of `lease.measured` is committed, `fatal-measured-before` when it has not begun.
"""

import functools
import os
import signal
import sys
from pathlib import Path
from typing import Any

from server.jobs import lease
from server.jobs.dispatcher import main
from server.jobs.worker import supervise
from server.settings import Settings
from tests.server.jobs.fake_study import CPU, FAKE

DISPATCH = "dispatch"


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


if __name__ == "__main__":
    if DISPATCH in sys.argv:
        sys.argv.remove(DISPATCH)
        make_fatal(Settings().home)
        sys.exit(main(FAKE, [CPU]))
    supervise((sys.executable, "-m", "tests.server.jobs.fake_worker", DISPATCH))
