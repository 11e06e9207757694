"""PartActor: a process with one device, which holds one part of a matrix and owns the rows that begin in it.

It reads its own part of the files of a matrix alone. Like a device of `resident.py` it has two vectors as long as the
matrix, one read while the other is written, and a second stream where exchanges overlap with products.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from gpu_engine.errors import InputError, quote
from gpu_engine.multigpu.base import Device, returned
from gpu_engine.multigpu.exchange import EXCHANGES, ExchangeName, Transfer, copy_part, split_diagonal
from gpu_engine.multigpu.partition import (
    Part,
    Partitioning,
    Span,
    StoredMatrix,
    find_partitioning,
    localize,
    part_of,
)
from gpu_engine.multigpu.transport import TRANSPORTS, Endpoint, Mailbox, Move, Transport, TransportName
from gpu_engine.multigpu.virtual import VirtualDevice

CHUNK = 2**22
"""Entries that are split at a time, which takes some 30 bytes for each on the host."""


@dataclass(frozen=True, slots=True)
class PartInfo:
    """What an actor has of the matrix.

    column_range  the range of the vector that its part reads
    n_bytes       bytes of the entries and pointers on its device
    """

    column_range: slice
    n_bytes: int


def open_stored(folder: Path) -> StoredMatrix:
    """The matrix of a folder with indptr.npy, indices.npy, values.npy and meta.json, memory-mapped.

    Raises InputError where they are not there or do not fit each other.
    """
    try:
        meta = json.loads((folder / "meta.json").read_bytes())
        n_rows, n_cols = int(meta["n_rows"]), int(meta["n_cols"])
        indptr, indices, values = (
            np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            for name in ("indptr", "indices", "values")
        )
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"{quote(folder)} holds no matrix that can be read here: {error}. Every host needs it at the same path."
        ) from error
    if (indptr.shape, indices.shape) != ((n_rows + 1,), values.shape) or (indices.dtype, values.dtype) != ("i4", "f8"):
        raise InputError(f"The arrays in {quote(folder)} are not those of a matrix of {n_rows} × {n_cols} in CSR.")
    return StoredMatrix(find_partitioning("pCSR"), n_rows, n_cols, indptr, indices, values)


def open_device(name: str) -> Device:
    """The device of this process: `virtual:…`, or `cuda:…`, of which Ray shows a process only its own."""
    if name.startswith("cuda"):
        from gpu_engine.multigpu.cuda_device import CudaDevice

        return CudaDevice(0)
    return VirtualDevice(name)


def copy_blocks(device: Device, partitioning: Partitioning, part: Part) -> tuple[Part, Part]:
    """The diagonal and off-diagonal block of a part of CSR, whose arrays may exceed the host's memory, on a device."""
    own = part.span.own
    owned = sum(int(((chunk.minor >= own.start) & (chunk.minor < own.stop)).sum()) for chunk in _chunks(part))
    blocks = tuple(_allocated(device, part, entries) for entries in (owned, part.values.size - owned))
    row, ends = 0, [0, 0]
    for chunk in _chunks(part):
        last = row + chunk.major.size
        for i, (whole, piece) in enumerate(zip(blocks, split_diagonal(partitioning, chunk), strict=True)):
            begin, ends[i] = ends[i], ends[i] + piece.values.size
            pointers = piece.major + begin
            device.upload(pointers, whole.major[row:last])
            device.upload(piece.minor, whole.minor[begin : ends[i]])
            device.upload(piece.values, whole.values[begin : ends[i]])
            device.synchronize()
        row = last - 1
    return blocks[0], blocks[1]


def _allocated(device: Device, part: Part, entries: int) -> Part:
    minor, values = (device.allocate(entries, array.dtype) for array in (part.minor, part.values))
    return Part(part.span, device.allocate(part.major.size, part.major.dtype), minor, values)


def _chunks(part: Part) -> Iterator[Part]:
    """Consecutive rows of a part of CSR, so many that they end with the row of another CHUNK entries."""
    cuts = np.searchsorted(part.major, range(CHUNK, part.values.size, CHUNK))
    for first, stop in pairwise([0, *cuts.tolist(), part.major.size - 1]):
        major = part.major[first : stop + 1]
        begin, end = int(major[0]), int(major[-1])
        yield Part(part.span, major - begin, part.minor[begin:end], part.values[begin:end])


class PartActor:
    """One part on one device; `deliver` and `ping` run in a thread of their own beside the other calls."""

    def __init__(self, put: Callable[[Any], Any]) -> None:
        self._put = put
        self._mailbox = Mailbox()
        self._current = 0
        self._transport: Transport

    def load_part(
        self,
        open_device: Callable[[str], Device],
        name: str,
        folder: Path,
        span: Span,
        exchange: ExchangeName,
        overlap: bool,
    ) -> PartInfo:
        """Reads its part onto the device of that name, with `overlap` as a diagonal and an off-diagonal block.

        Raises InputError and what the device raises.
        """
        device, stored = open_device(name), open_stored(folder)
        self._device, self._partitioning, self._span = device, stored.partitioning, span
        self._copy_stream, self._overlap = device.copy_stream() if overlap else device, overlap
        part = part_of(stored, span, localize(stored, span))
        blocks = copy_blocks(device, stored.partitioning, part) if overlap else (copy_part(device, part),)
        self._parts = [
            returned(device, device.operations.prepare, stored.partitioning, block, stored.n_cols) for block in blocks
        ]
        self._vectors = tuple(device.allocate(stored.n_rows, np.float64) for _ in range(2))
        self._off_diagonal = device.allocate(span.stop - span.first if overlap else 0, np.float64)
        n_bytes = sum(int(array.nbytes) for block in blocks for array in (block.major, block.minor, block.values))
        return PartInfo(EXCHANGES[exchange](part, stored.n_cols), n_bytes)

    def new_rendezvous_id(self, transport: TransportName) -> Any:
        """What the members of a group need to find each other."""
        return TRANSPORTS[transport].new_rendezvous_id()

    def connect(
        self,
        transport: TransportName,
        rendezvous_id: Any,
        number: int,
        peers: Sequence[Any],
        transfers: Sequence[Transfer],
        shares: Sequence[Transfer],
    ) -> None:
        """Joins the group.

        transfers  of the whole group: what is fetched before a product
        shares     of the whole group: what is added after it, of rows that several parts share
        """
        endpoint = Endpoint(number, peers, self._copy_stream, self._put, self._mailbox)
        self._transport = TRANSPORTS[transport](endpoint, rendezvous_id)
        self._transfers, self._shares = (
            [transfer for transfer in every if number in (transfer.source, transfer.target)]
            for every in (transfers, shares)
        )
        self._number = number
        self._inbox = self._device.allocate(len(self._shares), np.float64)

    def load(self, begin: int, values: Any) -> None:
        """Puts elements that it owns, from `begin` on, into the vector."""
        self._device.upload(values, self._vectors[self._current][begin : begin + values.size])
        self._device.synchronize()

    def step(self) -> None:
        """x := A·x: fetches what it reads, multiplies, adds the shares of its last row that others have."""
        x, y = self._vectors[self._current], self._vectors[1 - self._current]
        self._multiply(x, y[self._span.lines])
        moves = [(share, self._end_of(share, i, y)) for i, share in enumerate(self._shares)]
        self._exchange(moves, self._device.record_event())
        for i, share in enumerate(self._shares):
            if share.target == self._number:
                add = self._device.operations.add
                self._device.call(add, y[share.begin : share.end], self._inbox[i : i + 1], None)
        self._copy_stream.synchronize()
        self._device.synchronize()
        self._current = 1 - self._current

    def read(self, begin: int, end: int) -> Any:
        """Elements begin … end − 1 of the vector, which it owns; float64 on the host."""
        host = np.empty(end - begin, np.float64)
        self._device.download(self._vectors[self._current][begin:end], host)
        self._device.synchronize()
        return host

    def deliver(self, exchange: int, source: int, values: Any) -> None:
        """Takes what another member has sent."""
        self._mailbox.deliver(exchange, source, values)

    def ping(self) -> None:
        """Answers, whatever the device is doing."""

    def _multiply(self, x: Any, y: Any) -> None:
        """Launches y := A_i·x and the exchange before it, or beside the product of its diagonal block."""
        device, first = self._device, self._parts[0]
        moves = [(transfer, x[transfer.begin : transfer.end]) for transfer in self._transfers]
        # Before it lie the products that wrote what is sent, and those that read what is overwritten.
        ready = device.record_event()
        if not self._overlap:
            self._exchange(moves, ready)
            device.call(device.operations.multiply, self._partitioning, first, x, y)
            return
        device.call(device.operations.multiply, self._partitioning, first, x, y)
        self._exchange(moves, ready)
        device.call(device.operations.multiply, self._partitioning, self._parts[1], x, self._off_diagonal)
        device.call(device.operations.add, y, self._off_diagonal, None)

    def _exchange(self, moves: Sequence[Move], ready: Any) -> None:
        """Launches the moves behind that event; what the device is given from here on comes after them."""
        self._copy_stream.wait_event(ready)
        self._transport.exchange(moves)
        self._device.wait_event(self._copy_stream.record_event())

    def _end_of(self, share: Transfer, i: int, y: Any) -> Any:
        """Where a share lies here: in y that of its own part, in the inbox that of another."""
        return y[share.begin : share.end] if share.source == self._number else self._inbox[i : i + 1]
