"""Links: how fast the host copies to its devices and reads its own memory, measured beside the products they bound."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gpu_engine.multigpu import packed_stretches
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.chunk import ENTRY_BYTES
from gpu_engine.multigpu.from_host.spmv import PACKING
from gpu_engine.multigpu.packed_stretches import STRETCH
from gpu_engine.multigpu.partition import StoredMatrix

TRIALS = 3
"""The fastest counts: a bound is what could be."""


@dataclass(frozen=True, slots=True)
class Links:
    """Bytes/s from the host to all devices at once, and of its memory read by all cores; 0 where nothing was moved."""

    to_devices: float
    of_host: float

    @staticmethod
    def measured(devices: Sequence[Device], stored: StoredMatrix, clock: Callable[[], float]) -> "Links":
        """With the arrays of a matrix: its values are copied, an equal piece to each device, and all of it is read."""
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
        reading = _fastest(lambda: packed_stretches.read(stored.minor, bits, sums), clock)
        return Links(_rate(stored.values.nbytes, copying), _rate(ENTRY_BYTES * stored.nnz, reading))

    def bounds(self, moved: Mapping[str, int]) -> dict[str, float]:
        """Phase → seconds that its bytes take at these rates; not of what stays on the devices."""
        rates = {"distribute": self.to_devices, PACKING: self.of_host, "merge": self.to_devices}
        return {name: moved[name] / rate for name, rate in rates.items() if name in moved and rate}


def _fastest(function: Callable[[], None], clock: Callable[[], float]) -> float:
    # The first call may compile, or make its memory.
    function()
    found = []
    for _ in range(TRIALS):
        begin = clock()
        function()
        found.append(clock() - begin)
    return min(found)


def _rate(nbytes: int, seconds: float) -> float:
    return nbytes / seconds if seconds > 0 else 0.0
