"""Fetches: what devices of one process fetch of each other's vectors, in fp64 or of segments the first k alone.

A range of a vector is fetched from where it lies, of segments only by a device that reaches the memory of its peer.
Anything else is packed by its owner into a contiguous outbox. Either way the bits are those of the vector: k of X
segments are k/X of the bytes of fp64. Source of the layout of segments: CPMS PageRank paper, §IV.A.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpu_engine.cpms.layout import UNITS, group_size
from gpu_engine.errors import ParameterError
from gpu_engine.multigpu.base import Device, copied
from gpu_engine.multigpu.exchange import Transfer


class Outbox:
    """What one device sends; room for what it packs is allocated once, and is read until it sends again."""

    def __init__(self, stream: Device, transfers: Sequence[Transfer]) -> None:
        """The transfers of which it is the source; it packs those that name positions."""
        self._stream = stream
        self._packed = {
            transfer: (copied(stream, transfer.positions), stream.allocate(transfer.elements, np.float64))
            for transfer in transfers
            if transfer.positions is not None
        }

    def sent(self, transfer: Transfer, vector: Any, k: int | None = None) -> Any:
        """The elements of a transfer: a view of the vector, or packed by what is launched; k: of segments the first."""
        if transfer not in self._packed:
            return vector[transfer.begin : transfer.end]
        positions, packed = self._packed[transfer]
        if k is not None:
            packed = packed.view(vector.units.dtype)[: k * transfer.elements]
        self._stream.call(self._stream.operations.gather, vector, positions, k, packed)
        return packed


class Fetches:
    """Transfers between the vectors of devices, again and again; on which streams is up to the caller."""

    def __init__(
        self, streams: Sequence[Device], transfers: Sequence[Transfer], segments: int = 0, packed: bool = False
    ) -> None:
        """Allocates room for what is packed; raises ParameterError for another number of segments than values can have.

        segments  of a value, 0 for vectors that are in fp64 throughout
        packed    packs ranges of segments even where a device reaches the memory of its peer
        """
        self._streams, self._segments = tuple(streams), segments
        self._unit = np.dtype(UNITS[segments]) if segments and group_size(segments) else np.dtype(np.float64)
        self._transfers = [self._reachable(transfer, packed) for transfer in transfers]
        self._outboxes = {
            source: Outbox(streams[source], [t for t in self._transfers if t.source == source])
            for source in sorted({transfer.source for transfer in transfers})
        }
        self._inboxes = [
            None if t.positions is None or not segments else streams[t.target].allocate(t.elements, np.float64)
            for t in self._transfers
        ]
        self.renew()

    def exchanged_bytes(self, k: int | None = None) -> int:
        """Bytes that cross between devices in fp64, or of k segments."""
        width = np.dtype(np.float64).itemsize if k is None else k * self._unit.itemsize
        return sum(transfer.elements for transfer in self._transfers) * width

    def renew(self) -> None:
        """Waits no more for fetches before, which are done: in a capture nothing may wait for what came before it."""
        self._fetched = [stream.record_event() for stream in self._streams]

    def launch(self, vectors: Sequence[Any], k: int | None = None, targets: Sequence[Any] | None = None) -> None:
        """Has every device fetch what it wants; what is launched on its stream from here on finds it.

        vectors  of each device, float64, or Segmented of which the first k segments cross; the others stay
        targets  where it goes; None: to the same vectors

        Raises ParameterError where values have no k segments.
        """
        if k is not None and not 1 <= k <= self._segments:
            raise ParameterError(f"There is no precision of {k} segments; expected 1 to {self._segments}.")
        for transfer in self._transfers:
            if transfer.positions is not None:
                # It is packed where the last one is still being fetched.
                self._streams[transfer.source].wait_event(self._fetched[transfer.target])
        sent = [self._sent(transfer, vectors[transfer.source], k) for transfer in self._transfers]
        ready = {source: self._streams[source].record_event() for source in self._outboxes}
        for transfer, inbox, array in zip(self._transfers, self._inboxes, sent, strict=True):
            self._streams[transfer.target].wait_event(ready[transfer.source])
            self._take(transfer, array, inbox, (targets or vectors)[transfer.target], k)
        self.renew()

    def release(self, source: int, device: Device) -> None:
        """Has a device, which may overwrite the vector of that source then, wait for those that fetch from it."""
        for transfer in self._transfers:
            if transfer.source == source and transfer.positions is None:
                device.wait_event(self._fetched[transfer.target])

    def _reachable(self, transfer: Transfer, packed: bool) -> Transfer:
        """Packed, unless a copy or its target can read it where it lies."""
        target, source = self._streams[transfer.target], self._streams[transfer.source]
        if transfer.positions is not None or not self._segments or (target.reaches(source) and not packed):
            return transfer
        return replace(transfer, positions=np.arange(transfer.begin, transfer.end, dtype=np.int32))

    def _sent(self, transfer: Transfer, vector: Any, k: int | None) -> Any:
        """What is fetched: a vector in segments itself where its target reads them."""
        if k is not None and transfer.positions is None:
            return vector
        return self._outboxes[transfer.source].sent(transfer, vector, k)

    def _take(self, transfer: Transfer, array: Any, inbox: Any, vector: Any, k: int | None) -> None:
        device = self._streams[transfer.target]
        if k is None:
            device.fetch(array, vector[transfer.here])
        elif transfer.positions is None:
            values = slice(transfer.begin, transfer.end)
            device.call(device.operations.copy, array, values, k, vector, transfer.place)
        else:
            units = inbox.view(array.dtype)[: array.size]
            device.fetch(array, units)
            device.call(device.operations.unpack, units, transfer.here, k, vector)
