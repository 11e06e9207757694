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
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.exchange import EXCHANGES, ExchangeName, Transfer, sent, split
from gpu_engine.multigpu.partition import (
    Part,
    Partitioning,
    Span,
    StoredMatrix,
    find_partitioning,
    localize,
    part_of,
)
from gpu_engine.multigpu.transport import TRANSPORTS, Mailbox, Move, Seat, Transport, TransportName
from gpu_engine.multigpu.virtual import VirtualDevice

BLOCK = 2**22
"""Entries that are split at a time, which takes some 30 bytes for each on the host."""


@dataclass(frozen=True, slots=True)
class Holding:
    """What an actor has taken.

    wanted   the range of the vector that its part reads
    n_bytes  bytes of the entries and pointers on its device
    """

    wanted: slice
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


def sent_apart(device: Device, partitioning: Partitioning, part: Part) -> tuple[Part, Part]:
    """Copies on a device of what `split` makes of a part of CSR, whose arrays may be larger than the host's memory."""
    own = part.span.own
    owned = sum(int(((block.minor >= own.start) & (block.minor < own.stop)).sum()) for block in _blocks(part))
    local, remote = (_allocated(device, part, entries) for entries in (owned, part.values.size - owned))
    row, ends = 0, [0, 0]
    for block in _blocks(part):
        last = row + block.major.size
        for i, (whole, piece) in enumerate(zip((local, remote), split(partitioning, block), strict=True)):
            begin, ends[i] = ends[i], ends[i] + piece.values.size
            pointers = piece.major + begin
            device.upload(pointers, whole.major[row:last])
            device.upload(piece.minor, whole.minor[begin : ends[i]])
            device.upload(piece.values, whole.values[begin : ends[i]])
            device.synchronize()
        row = last - 1
    return local, remote


def _allocated(device: Device, part: Part, entries: int) -> Part:
    minor, values = (device.allocate(entries, array.dtype) for array in (part.minor, part.values))
    return Part(part.span, device.allocate(part.major.size, part.major.dtype), minor, values)


def _blocks(part: Part) -> Iterator[Part]:
    """Consecutive rows of a part of CSR, so many that they end with the row of another BLOCK entries."""
    cuts = np.searchsorted(part.major, range(BLOCK, part.values.size, BLOCK))
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

    def take(
        self,
        open_device: Callable[[str], Device],
        name: str,
        folder: Path,
        span: Span,
        exchange: ExchangeName,
        overlap: bool,
    ) -> Holding:
        """Reads its part onto the device of that name, with `overlap` in two pieces, the local and the remote entries.

        Raises InputError and what the device raises.
        """
        device, stored = open_device(name), open_stored(folder)
        self._device, self._partitioning, self._span = device, stored.partitioning, span
        self._copier, self._overlap = device.side() if overlap else device, overlap
        part = part_of(stored, span, localize(stored, span))
        held = sent_apart(device, stored.partitioning, part) if overlap else (sent(device, part),)
        self._parts = [device.prepare(stored.partitioning, piece, stored.n_cols) for piece in held]
        self._vectors = tuple(device.allocate(stored.n_rows, np.float64) for _ in range(2))
        self._remote = device.allocate(span.stop - span.first if overlap else 0, np.float64)
        n_bytes = sum(int(array.nbytes) for piece in held for array in (piece.major, piece.minor, piece.values))
        return Holding(EXCHANGES[exchange](part, stored.n_cols), n_bytes)

    def invite(self, transport: TransportName) -> Any:
        """What the members of a group need to find each other."""
        return TRANSPORTS[transport].invite()

    def connect(
        self,
        transport: TransportName,
        invitation: Any,
        number: int,
        peers: Sequence[Any],
        transfers: Sequence[Transfer],
        shares: Sequence[Transfer],
    ) -> None:
        """Joins the group.

        transfers  of the whole group: what is fetched before a product
        shares     of the whole group: what is added after it, of rows that several parts share
        """
        seat = Seat(number, peers, self._copier, self._put, self._mailbox)
        self._transport = TRANSPORTS[transport](seat, invitation)
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
        self._exchange(moves, self._device.mark())
        for i, share in enumerate(self._shares):
            if share.target == self._number:
                self._device.add(y[share.begin : share.end], self._inbox[i : i + 1])
        self._copier.synchronize()
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
        """Launches y := A_i·x and the exchange before it, or beside its local part."""
        device, first = self._device, self._parts[0]
        moves = [(transfer, x[transfer.begin : transfer.end]) for transfer in self._transfers]
        # Before it lie the products that wrote what is sent, and those that read what is overwritten.
        ready = device.mark()
        if not self._overlap:
            self._exchange(moves, ready)
            device.multiply(self._partitioning, first, x, y)
            return
        device.multiply(self._partitioning, first, x, y)
        self._exchange(moves, ready)
        device.multiply(self._partitioning, self._parts[1], x, self._remote)
        device.add(y, self._remote)

    def _exchange(self, moves: Sequence[Move], ready: Any) -> None:
        """Launches the moves behind that mark; what the device is given from here on comes after them."""
        self._copier.wait(ready)
        self._transport.exchange(moves)
        self._device.wait(self._copier.mark())

    def _end_of(self, share: Transfer, i: int, y: Any) -> Any:
        """Where a share lies here: in y that of its own part, in the inbox that of another."""
        return y[share.begin : share.end] if share.source == self._number else self._inbox[i : i + 1]
