"""Start of the engine: the report of a dispatcher to its worker, in a file of the worker's folder."""

import json
import time
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from gpu_engine.host.whole_files import write_whole

FILE = "engine.json"

START_S = 120.0
"""Seconds after which a start has failed."""


class StartState(StrEnum):
    """idle → starting → ready; any of them → failed."""

    #: another dispatcher has the home or the devices
    IDLE = "idle"
    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True)
class StartReport:
    """State of the engine start of a dispatcher, and since when by the monotonic clock of the host."""

    state: StartState
    since_s: float
    reason: str = ""

    @property
    def is_overdue(self) -> bool:
        """Return whether the start takes too long."""
        return self.state == StartState.STARTING and time.monotonic() - self.since_s > START_S


def tell(folder: Path, state: StartState, reason: str = "") -> None:
    """Write the state of the engine start."""
    write_whole(folder / FILE, json.dumps(asdict(StartReport(state, time.monotonic(), reason))))


def read(folder: Path, launched_s: float) -> StartReport:
    """Return the state written in the folder of a dispatcher; without a file it has been starting since its launch."""
    try:
        fields = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return StartReport(StartState.STARTING, launched_s)
    return StartReport(StartState(fields["state"]), fields["since_s"], fields["reason"])


def failure(report: StartReport, status: int) -> str:
    """Return why an ended dispatcher did not start its engine; empty if it did, or did not need to."""
    match report.state:
        case StartState.FAILED:
            return report.reason
        case StartState.STARTING if report.is_overdue:
            return (
                f"Ray did not respond within {START_S:.0f} s and was ended. Check the load and "
                "the disks of the host, and run `sparsight doctor`."
            )
        case StartState.STARTING if status < 0:
            return (
                f"Signal {-status} ended the process that starts Ray. After signal 9, check "
                "whether the host ran out of memory (`dmesg`). After another signal, reinstall "
                "Sparsight."
            )
        case StartState.STARTING:
            return f"The process that starts Ray exited with status {status}. The worker's log has its last messages."
        case _:
            return ""
