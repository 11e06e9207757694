"""The start of the engine: what a dispatcher tells its worker of it, in a file of the worker's folder."""

import json
import time
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from gpu_engine.host.whole_files import write_whole

FILE = "engine.json"

START_S = 120.0
"""A start that takes longer has failed: something in it does not answer."""


class StartState(StrEnum):
    """idle → starting → ready; any of them → failed."""

    #: another dispatcher has the home or the devices
    IDLE = "idle"
    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True)
class StartReport:
    """How far a dispatcher is, and since when by the monotonic clock of the host."""

    state: StartState
    since_s: float
    reason: str = ""

    @property
    def is_overdue(self) -> bool:
        """Whether the start takes too long."""
        return self.state == StartState.STARTING and time.monotonic() - self.since_s > START_S


def tell(folder: Path, state: StartState, reason: str = "") -> None:
    """Write down how far this dispatcher is."""
    write_whole(folder / FILE, json.dumps(asdict(StartReport(state, time.monotonic(), reason))))


def read(folder: Path, launched_s: float) -> StartReport:
    """Return how far the dispatcher of a folder is; one that has told nothing is starting since it was launched."""
    try:
        fields = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return StartReport(StartState.STARTING, launched_s)
    return StartReport(StartState(fields["state"]), fields["since_s"], fields["reason"])


def failure(report: StartReport, status: int) -> str:
    """Return why a dispatcher that has ended did not start its engine; empty where it had, or had no need to."""
    match report.state:
        case StartState.FAILED:
            return report.reason
        case StartState.STARTING if report.is_overdue:
            return (
                f"Ray has not answered for {START_S:.0f} s, and was ended. Look at the load and the disks of the host; "
                "`sparsight doctor` examines it."
            )
        case StartState.STARTING if status < 0:
            return (
                f"Signal {-status} ended the process that starts Ray. After signal 9 look whether the host ran out of "
                "memory (`dmesg`); after another one install Sparsight again."
            )
        case StartState.STARTING:
            return f"The process that starts Ray ended with status {status}. The worker's log has its last words."
        case _:
            return ""
