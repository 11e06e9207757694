"""Lower bounds of phases: measured bandwidth from the host to its devices, and of host memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gpu_engine.multigpu import chunk_packing
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.chunk import ENTRY_BYTES
from gpu_engine.multigpu.chunk_packing import STRETCH
from gpu_engine.multigpu.from_host.spmv import PACKING
from gpu_engine.multigpu.partition import StoredMatrix

TRIALS = 3
"""Measurements, of which the fastest counts, because a lower bound needs the best case."""


@dataclass(frozen=True, slots=True)
class LinkBandwidth:
    """Bandwidths in bytes/s; 0 if nothing was moved.

    to_devices  from the host to all devices at the same time
    of_host     of host memory, read by all cores
    """

    to_devices: float
    of_host: float

    @staticmethod
    def measured(devices: Sequence[Device], stored: StoredMatrix, clock: Callable[[], float]) -> "LinkBandwidth":
        """Measure with the arrays of a matrix: copy an equal piece of its values to each device, and read all of it."""
        count, bits = len(devices), stored.values.view(np.uint64)
        pieces = [stored.values[i * stored.nnz // count : (i + 1) * stored.nnz // count] for i in range(count)]
        rooms = [device.allocate(piece.size, np.float64) for device, piece in zip(devices, pieces, strict=True)]
        sums = np.empty(-(-stored.nnz // STRETCH), np.uint64)

        def copy() -> None:
            for device, piece, room in zip(devices, pieces, rooms, strict=True):
                device.upload(piece, room)
            for device in devices:
                device.synchronize()

        copying = _fastest(copy, clock)
        reading = _fastest(lambda: chunk_packing.read(stored.minor, bits, sums), clock)
        return LinkBandwidth(_rate(stored.values.nbytes, copying), _rate(ENTRY_BYTES * stored.nnz, reading))

    def bounds(self, moved: Mapping[str, int]) -> dict[str, float]:
        """Return phase → lower bound in seconds for its bytes; phases on the devices have none."""
        rates = {"distribute": self.to_devices, PACKING: self.of_host, "merge": self.to_devices}
        return {name: moved[name] / rate for name, rate in rates.items() if name in moved and rate}


def _fastest(function: Callable[[], None], clock: Callable[[], float]) -> float:
    # The first call may compile code or allocate memory.
    function()
    seconds = []
    for _ in range(TRIALS):
        start = clock()
        function()
        seconds.append(clock() - start)
    return min(seconds)


def _rate(nbytes: int, seconds: float) -> float:
    return nbytes / seconds if seconds > 0 else 0.0
