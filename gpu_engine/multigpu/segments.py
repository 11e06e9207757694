"""Exchange of a vector in segments: only the first k of them cross, packed, since heads lie in alternate blocks.

What a device owns is packed segment by segment into a contiguous buffer, from which peers fetch the pieces that they
want, and unpack them at the places of their own vector. Packed bits are those of the vector: k of X segments are k/X of
the bytes of fp64. Source of the layout: CPMS PageRank paper, §IV.A.
"""

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from gpu_engine.cpms import Segmented
from gpu_engine.cpms.layout import UNITS, group_size
from gpu_engine.errors import ParameterError
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.exchange import Transfer
from gpu_engine.multigpu.partition import Span


class SegmentExchange:
    """Fetches the first k segments of what devices want of each other's vectors; room for it is allocated once."""

    def __init__(
        self, devices: Sequence[Device], spans: Sequence[Span], transfers: Sequence[Transfer], segments: int
    ) -> None:
        """Raises ParameterError for another number of segments than a value can have."""
        group_size(segments)
        self._devices, self._segments, self._transfers = tuple(devices), segments, tuple(transfers)
        self._owned = [span.own for span in spans]
        unit = np.dtype(UNITS[segments])
        sizes = [(own.stop - own.start) * segments for own in self._owned]
        self._packed = [device.allocate(size, unit) for device, size in zip(devices, sizes, strict=True)]
        self._inboxes = [devices[t.target].allocate(t.elements * segments, unit) for t in self._transfers]
        self._fetched = [device.mark() for device in devices]

    def exchanged_bytes(self, k: int) -> int:
        """Bytes that cross between devices in an exchange of k segments."""
        return sum(transfer.elements for transfer in self._transfers) * k * np.dtype(UNITS[self._segments]).itemsize

    def launch(self, vectors: Sequence[Segmented], k: int) -> None:
        """Has every device fetch what it wants; its vector is whole for all that is launched on it from here on.

        vectors  the vector of each device, all of the same size and number of segments; the other segments stay
        Raises ParameterError where values have no k segments.
        """
        if not 1 <= k <= self._segments:
            raise ParameterError(f"There is no precision of {k} segments; expected 1 to {self._segments}.")
        sources = {transfer.source for transfer in self._transfers}
        for source in sources:
            device, own = self._devices[source], self._owned[source]
            for transfer in self._transfers:
                if transfer.source == source:
                    # The last exchange is still being fetched from the same buffer.
                    device.wait(self._fetched[transfer.target])
            device.pack(vectors[source], own, k, self._packed[source])
        packed = {source: self._devices[source].mark() for source in sources}
        for transfer, inbox in zip(self._transfers, self._inboxes, strict=True):
            device = self._devices[transfer.target]
            device.wait(packed[transfer.source])
            self._fetch(transfer, inbox, k)
            device.unpack(inbox, slice(transfer.begin, transfer.end), k, vectors[transfer.target])
        self._fetched = [device.mark() for device in self._devices]

    def _fetch(self, transfer: Transfer, inbox: Any, k: int) -> None:
        own, peer = self._owned[transfer.source], self._packed[transfer.source]
        for segment in range(k):
            begin = segment * (own.stop - own.start) + transfer.begin - own.start
            here = slice(segment * transfer.elements, (segment + 1) * transfer.elements)
            self._devices[transfer.target].fetch(peer[begin : begin + transfer.elements], inbox[here])


def pack(vector: Segmented, values: slice, k: int, packed: Any) -> None:
    """Writes the first k segments of a range of values on a CPU to the front of `packed`, one segment after the other.

    packed  uint32 or uint16 as the units of the vector, [at least k · values]
    """
    _pack(vector.units, values.start, values.stop, group_size(vector.segments), vector.segments, k, packed)


def unpack(packed: Any, values: slice, k: int, vector: Segmented) -> None:
    """The inverse of `pack`: writes the first k segments of a range of values and leaves the others."""
    _unpack(packed, values.start, values.stop, group_size(vector.segments), vector.segments, k, vector.units)


@numba.njit(cache=True, nogil=True)
def _pack(units: Any, begin: int, end: int, group: int, segments: int, k: int, packed: Any) -> None:
    for segment in range(k):
        for value in range(begin, end):
            place = value // group * group * segments + segment * group + value % group
            packed[segment * (end - begin) + value - begin] = units[place]


@numba.njit(cache=True, nogil=True)
def _unpack(packed: Any, begin: int, end: int, group: int, segments: int, k: int, units: Any) -> None:
    for segment in range(k):
        for value in range(begin, end):
            place = value // group * group * segments + segment * group + value % group
            units[place] = packed[segment * (end - begin) + value - begin]
