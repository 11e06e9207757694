"""Copies between devices of one process: vector elements in fp64, or only the leading k segments of them.

A range is copied directly from the vector of its owner; segments only if the target reaches the memory of its peer. In
all other cases the owner packs the elements into a contiguous send buffer. The bits are the same: k of X segments have
k/X of the bytes of fp64. Source of the layout of segments: CPMS PageRank paper, §IV.A.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpu_engine.cpms.layout import UNITS, group_size
from gpu_engine.errors import ParameterError
from gpu_engine.multigpu.base import Device, copy_to
from gpu_engine.multigpu.exchange import Transfer


class SendBuffer:
    """Buffers with the packed elements that one device sends, allocated once and reused for every exchange."""

    def __init__(self, stream: Device, transfers: Sequence[Transfer]) -> None:
        """Allocate buffers for the transfers of this source that have `positions`."""
        self._stream = stream
        self._packed = {
            transfer: (copy_to(stream, transfer.positions), stream.allocate(transfer.elements, np.float64))
            for transfer in transfers
            if transfer.positions is not None
        }

    def elements(self, transfer: Transfer, vector: Any, k: int | None = None) -> Any:
        """Return the elements of a transfer: a view of the vector, or a buffer whose packing is launched.

        k  number of leading segments; None: fp64
        """
        if transfer not in self._packed:
            return vector[transfer.begin : transfer.end]
        positions, packed = self._packed[transfer]
        if k is not None:
            packed = packed.view(vector.units.dtype)[: k * transfer.elements]
        self._stream.call(self._stream.operations.gather, vector, positions, k, packed)
        return packed


class PeerCopies:
    """Repeated transfers between the local vectors of devices, on streams that the caller chooses."""

    def __init__(
        self, streams: Sequence[Device], transfers: Sequence[Transfer], segments: int = 0, packed: bool = False
    ) -> None:
        """Allocate the buffers; raise ParameterError for an invalid number of segments.

        segments  segments per value; 0: the vectors are always in fp64
        packed    pack ranges of segments even if a device reaches the memory of its peer
        """
        self._streams, self._segments = tuple(streams), segments
        self._unit = np.dtype(UNITS[segments]) if segments and group_size(segments) else np.dtype(np.float64)
        self._transfers = [self._reachable(transfer, packed) for transfer in transfers]
        self._send_buffers = {
            source: SendBuffer(streams[source], [t for t in self._transfers if t.source == source])
            for source in sorted({transfer.source for transfer in transfers})
        }
        self._receive_buffers = [
            None if t.positions is None or not segments else streams[t.target].allocate(t.elements, np.float64)
            for t in self._transfers
        ]
        self.renew()

    def exchanged_bytes(self, k: int | None = None) -> int:
        """Return the bytes transferred between devices in fp64, or in k segments."""
        width = np.dtype(np.float64).itemsize if k is None else k * self._unit.itemsize
        return sum(transfer.elements for transfer in self._transfers) * width

    def renew(self) -> None:
        """Forget earlier copies, which must be complete; a capture must not wait for events from before it."""
        self._copied_events = [stream.record_event() for stream in self._streams]

    def launch(self, vectors: Sequence[Any], k: int | None = None, targets: Sequence[Any] | None = None) -> None:
        """Launch all transfers; later work on the stream of a target sees the new elements.

        vectors  local vector per device: float64, or Segmented, of which the leading k segments are transferred
        targets  arrays that receive the elements; None: the same vectors

        Raises ParameterError if values do not have k segments.
        """
        if k is not None and not 1 <= k <= self._segments:
            raise ParameterError(f"Invalid number of segments {k}. Use 1 to {self._segments}.")
        for transfer in self._transfers:
            if transfer.positions is not None:
                # The previous exchange may still be reading the send buffer.
                self._streams[transfer.source].wait_event(self._copied_events[transfer.target])
        arrays = [self._elements(transfer, vectors[transfer.source], k) for transfer in self._transfers]
        ready = {source: self._streams[source].record_event() for source in self._send_buffers}
        for transfer, buffer, array in zip(self._transfers, self._receive_buffers, arrays, strict=True):
            self._streams[transfer.target].wait_event(ready[transfer.source])
            self._receive(transfer, array, buffer, (targets or vectors)[transfer.target], k)
        self.renew()

    def release(self, source: int, device: Device) -> None:
        """Let a device wait until nobody reads the vector of a source any more, so that it can be overwritten."""
        for transfer in self._transfers:
            if transfer.source == source and transfer.positions is None:
                device.wait_event(self._copied_events[transfer.target])

    def _reachable(self, transfer: Transfer, packed: bool) -> Transfer:
        """Return the transfer, packed unless its target can read the elements in place."""
        target, source = self._streams[transfer.target], self._streams[transfer.source]
        if transfer.positions is not None or not self._segments or (target.reaches(source) and not packed):
            return transfer
        return replace(transfer, positions=np.arange(transfer.begin, transfer.end, dtype=np.int32))

    def _elements(self, transfer: Transfer, vector: Any, k: int | None) -> Any:
        """Return the elements to transfer, or the segmented vector itself if its target reads it directly."""
        if k is not None and transfer.positions is None:
            return vector
        return self._send_buffers[transfer.source].elements(transfer, vector, k)

    def _receive(self, transfer: Transfer, array: Any, buffer: Any, vector: Any, k: int | None) -> None:
        device = self._streams[transfer.target]
        if k is None:
            device.fetch(array, vector[transfer.here])
        elif transfer.positions is None:
            values = slice(transfer.begin, transfer.end)
            device.call(device.operations.copy, array, values, k, vector, transfer.place)
        else:
            units = buffer.view(array.dtype)[: array.size]
            device.fetch(array, units)
            device.call(device.operations.unpack, units, transfer.here, k, vector)
