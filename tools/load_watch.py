"""Resources that a service and its clients use: core seconds, memory, and open files."""

import asyncio
import os
import time
from dataclasses import dataclass, field
from statistics import median

import psutil

SHOWN_EVERY_S = 10
CLOCK = "clock"
READERS = "server.sandbox"
"""Part of the command line of the processes that read matrices."""


@dataclass
class Watch:
    """The process of the server, second by second: bytes of memory, and open files."""

    process: psutil.Process
    resident: list[int] = field(default_factory=list)
    files: list[int] = field(default_factory=list)

    async def watch(self, end: float) -> None:
        """Record the values until the end."""
        while time.monotonic() < end:
            self.resident.append(self.process.memory_info().rss)
            self.files.append(self.process.num_fds())
            await asyncio.sleep(1.0)

    @property
    def grown(self) -> float:
        """Return the growth of the memory in the second half, in bytes."""
        return self.at(1.0) - self.at(0.5)

    @property
    def words(self) -> str:
        """Return the memory over time as text."""
        history = " ".join(f"{size / 2**20:.0f}" for size in self.resident[::SHOWN_EVERY_S])
        return f"{history}, maximum {max(self.resident) / 2**20:.0f}; {self.grown / 2**20:+.0f} in the second half"

    def at(self, share: float) -> float:
        """Return the memory at that part of the run in bytes, as the median of a tenth of it."""
        width = max(1, len(self.resident) // 10)
        first = round(share * (len(self.resident) - width))
        return median(self.resident[first : first + width])

    def spent(self) -> dict[str, float]:
        """Return seconds so far: on the clock, and of cores by process; guests: the clients.

        Ended processes count with their parent, if it still runs.
        """
        times = self.process.cpu_times()
        seconds = {
            CLOCK: time.monotonic(),
            "server": times.user + times.system,
            "readers of matrices": 0.0,
            "worker": 0.0,
        }
        for process in self.process.children(recursive=True):
            try:
                kind = "readers of matrices" if READERS in process.cmdline() else "worker"
                seconds[kind] += sum(process.cpu_times()[:4])
            except psutil.NoSuchProcess:
                continue
        return {**seconds, "guests": sum(os.times()[:4])}


def shares(before: dict[str, float], after: dict[str, float]) -> str:
    """Return the mean number of cores of each between two readings."""
    spent = {name: after[name] - before[name] for name in before}
    seconds = spent.pop(CLOCK)
    return f"{', '.join(f'{name} {used / seconds:.2f}' for name, used in spent.items())} of {os.cpu_count()}"
