"""Work of one device for an SpMV in chunks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.chunk import WHOLE_COLUMN, WHOLE_VALUE, Chunk, SentChunk
from gpu_engine.multigpu.partition import Span, StoredMatrix


class DeviceChunks:
    """Chunks of one device, copied on its second stream, multiplied and returned on its first.

    spans        positions of the chunks by number
    host_shares  float64 [chunks] on the host, valid after `finish`: partial sum of a row that starts before the chunk
    """

    def __init__(self, device: Device, stored: StoredMatrix, spans: Sequence[Span], x: Any) -> None:
        """Allocate vectors and pointers, and launch the copy of x."""
        self._device, self._copies, self._products = device, device.copy_stream(), device.operations.chunks
        self._stored, self.spans = stored, tuple(spans)
        self._first = min(span.first for span in spans)
        rows = max(span.stop for span in spans) - self._first
        self._x, self._y = device.allocate(stored.n_cols, np.float64), device.allocate(rows, np.float64)
        self._pointers = device.allocate(rows + 1, stored.major.dtype)
        self._shares = device.allocate(len(spans), np.float64)
        self.host_shares = device.allocate_host(len(spans), np.float64)
        self._nothing = device.allocate(0, np.uint8), device.allocate(0, np.int32), device.allocate(0, np.float64)
        self._room = self._products.room(device, max(span.entries for span in spans), stored.major.dtype)
        self._sent: dict[int, SentChunk] = {}
        self._copies.upload(x, self._x)

    def send(self, number: int, chunk: Chunk) -> Any:
        """Launch the copies of a chunk and return the event of its arrival."""
        span, stored = chunk.span, self._stored
        lines, entries = slice(span.first, span.stop + 1), slice(span.start, span.end)
        pointers = self._pointers[span.first - self._first : span.stop + 1 - self._first]
        self._copies.upload(stored.major[lines], pointers)
        packed, columns, values = self._nothing
        if chunk.packed.size:
            packed = self._upload(chunk.packed)
        if chunk.column_bytes == WHOLE_COLUMN:
            columns = self._upload(stored.minor[entries])
        if chunk.value_bytes == WHOLE_VALUE:
            values = self._upload(stored.values[entries])
        self._sent[number] = SentChunk(chunk, pointers, packed, columns, values)
        arrived = self._products.mark(self._copies)
        self._device.wait_event(arrived)
        return arrived

    def multiply(self, number: int) -> None:
        """Launch the SpMV of a chunk that was sent."""
        sent = self._sent[number]
        span = sent.chunk.span
        if span.stop > span.first:
            rows = self._y[span.first - self._first : span.stop - self._first]
            share = self._shares[number : number + 1]
            self._device.call(self._products.multiply, sent, self._room, self._x, rows, share)

    def download(self, number: int, y: Any) -> None:
        """Launch the copy of the rows that start in a chunk to y."""
        owned = self.spans[number].owned
        if owned.stop > owned.start:
            self._device.download(self._y[owned.start - self._first : owned.stop - self._first], y[owned])

    def finish(self) -> None:
        """Launch the copy of the shares and wait for all work."""
        self._device.download(self._shares, self.host_shares)
        self.synchronize()

    def wait(self, arrived: Any) -> None:
        """Wait for the arrival of a chunk."""
        self._products.wait(arrived)

    def wait_for_copies(self) -> None:
        """Wait for all copies to the device."""
        self._copies.synchronize()

    def multiply_all(self) -> None:
        """Launch the SpMVs of all chunks that were sent."""
        for number in self._sent:
            self.multiply(number)

    def send_back(self, y: Any) -> None:
        """Copy all rows that start in its chunks to y, and the shares to host_shares."""
        for number in self._sent:
            self.download(number, y)
        self.finish()

    def synchronize(self) -> None:
        """Wait for all launched work."""
        self._copies.synchronize()
        self._device.synchronize()

    def _upload(self, host: Any) -> Any:
        array = self._device.allocate(host.size, host.dtype)
        self._copies.upload(host, array)
        return array
