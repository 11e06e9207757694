"""What a service and those who load it take of their machine: seconds of its cores, memory, open files."""

import asyncio
import os
import time
from dataclasses import dataclass, field
from statistics import median

import psutil

SHOWN_EVERY_S = 10
CLOCK = "clock"
READERS = "server.sandbox"
"""In the command of the processes that read matrices."""


@dataclass
class Watch:
    """The server's process, second by second: bytes of memory, and open files."""

    process: psutil.Process
    resident: list[int] = field(default_factory=list)
    files: list[int] = field(default_factory=list)

    async def watch(self, end: float) -> None:
        """Looks until the end."""
        while time.monotonic() < end:
            self.resident.append(self.process.memory_info().rss)
            self.files.append(self.process.num_fds())
            await asyncio.sleep(1.0)

    @property
    def grown(self) -> float:
        """Bytes by which the memory grew in the second half."""
        return self.at(1.0) - self.at(0.5)

    @property
    def words(self) -> str:
        """What the memory was, as time passed."""
        shown = " ".join(f"{held / 2**20:.0f}" for held in self.resident[::SHOWN_EVERY_S])
        return f"{shown}, at most {max(self.resident) / 2**20:.0f}; {self.grown / 2**20:+.0f} in the second half"

    def at(self, share: float) -> float:
        """Bytes at that part of the run: the median of a tenth of it."""
        width = max(1, len(self.resident) // 10)
        first = round(share * (len(self.resident) - width))
        return median(self.resident[first : first + width])

    def spent(self) -> dict[str, float]:
        """Seconds so far: on the clock, then of cores, by who took them; guests: those who load the service.

        What has ended counts with its parent, as far as that is still there.
        """
        own = self.process.cpu_times()
        found = {CLOCK: time.monotonic(), "server": own.user + own.system, "readers of matrices": 0.0, "worker": 0.0}
        for process in self.process.children(recursive=True):
            try:
                kind = "readers of matrices" if READERS in process.cmdline() else "worker"
                found[kind] += sum(process.cpu_times()[:4])
            except psutil.NoSuchProcess:
                continue
        return {**found, "guests": sum(os.times()[:4])}


def shares(before: dict[str, float], after: dict[str, float]) -> str:
    """How many cores each took on average between two looks."""
    spent = {name: after[name] - before[name] for name in before}
    seconds = spent.pop(CLOCK)
    return f"{', '.join(f'{name} {taken / seconds:.2f}' for name, taken in spent.items())} of {os.cpu_count()}"
