"""Exchange of a vector in segments: only the first k of them cross, although heads lie in alternate blocks.

A device that reaches the memory of its peers reads their blocks where they lie. Else what a device owns is packed
segment by segment into a contiguous buffer, from which peers fetch the pieces that they want, and unpack them at the
places of their own vector. Either way the bits are those of the vector: k of X segments are k/X of the bytes of fp64.
Source of the layout: CPMS PageRank paper, §IV.A.
"""

from collections.abc import Sequence
from typing import Any

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
        self,
        devices: Sequence[Device],
        spans: Sequence[Span],
        transfers: Sequence[Transfer],
        segments: int,
        packed: bool | None = None,
    ) -> None:
        """Raises ParameterError for another number of segments than a value can have.

        packed  as one piece, which any copy can carry; else devices read the blocks where they lie. None: read them
                where all devices reach those that they fetch from
        """
        group_size(segments)
        self._devices, self._segments, self._transfers = tuple(devices), segments, tuple(transfers)
        self._owned = [span.own for span in spans]
        self._unit = np.dtype(UNITS[segments])
        if packed is None:
            packed = not all(devices[t.target].reaches(devices[t.source]) for t in transfers)
        self._sources = sorted({transfer.source for transfer in self._transfers})
        self._packed = packed
        self._outboxes = {source: self._room(source, self._owned[source]) for source in self._sources if packed}
        self._inboxes = [self._room(t.target, slice(t.begin, t.end)) if packed else None for t in self._transfers]
        self.renew()

    def exchanged_bytes(self, k: int) -> int:
        """Bytes that cross between devices in an exchange of k segments."""
        return sum(transfer.elements for transfer in self._transfers) * k * self._unit.itemsize

    def renew(self) -> None:
        """Waits no more for exchanges before, which are done: in a capture nothing may wait for what came before it."""
        self._fetch_events = [device.record_event() for device in self._devices]

    def launch(self, vectors: Sequence[Segmented], k: int) -> None:
        """Has every device fetch what it wants; its vector is whole for all that is launched on it from here on.

        vectors  the vector of each device, all of the same size and number of segments; the other segments stay
        Raises ParameterError where values have no k segments.
        """
        if not 1 <= k <= self._segments:
            raise ParameterError(f"There is no precision of {k} segments; expected 1 to {self._segments}.")
        if self._packed:
            self._pack(vectors, k)
        ready = {source: self._devices[source].record_event() for source in self._sources}
        for transfer, inbox in zip(self._transfers, self._inboxes, strict=True):
            device, values = self._devices[transfer.target], slice(transfer.begin, transfer.end)
            device.wait_event(ready[transfer.source])
            if self._packed:
                self._fetch(transfer, inbox, k)
                device.call(device.operations.unpack, inbox, values, k, vectors[transfer.target])
            else:
                peer, vector = vectors[transfer.source], vectors[transfer.target]
                device.call(device.operations.copy, peer, values, k, vector)
        self._fetch_events = [device.record_event() for device in self._devices]
        if not self._packed:
            # What is launched from here on may overwrite what is being read.
            for transfer in self._transfers:
                self._devices[transfer.source].wait_event(self._fetch_events[transfer.target])

    def _room(self, device: int, values: slice) -> Any:
        return self._devices[device].allocate((values.stop - values.start) * self._segments, self._unit)

    def _pack(self, vectors: Sequence[Segmented], k: int) -> None:
        for transfer in self._transfers:
            # The last exchange is still being fetched from the same room.
            self._devices[transfer.source].wait_event(self._fetch_events[transfer.target])
        for source, outbox in self._outboxes.items():
            device = self._devices[source]
            device.call(device.operations.pack, vectors[source], self._owned[source], k, outbox)

    def _fetch(self, transfer: Transfer, inbox: Any, k: int) -> None:
        own, peer = self._owned[transfer.source], self._outboxes[transfer.source]
        for segment in range(k):
            begin = segment * (own.stop - own.start) + transfer.begin - own.start
            here = slice(segment * transfer.elements, (segment + 1) * transfer.elements)
            self._devices[transfer.target].fetch(peer[begin : begin + transfer.elements], inbox[here])
