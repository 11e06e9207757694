"""PartActor: a process with one device, which holds one part of a matrix and owns the rows that begin in it.

It reads its own part of the files of a matrix alone. It goes through iterations as the devices of `resident.py` do,
with two vectors of what it owns and its halo; what they fetch of each other it sends and receives by a transport.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gpu_engine.errors import InputError, quote
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.blocks import Block
from gpu_engine.multigpu.exchange import ExchangeName, Halo, Transfer, halo_of
from gpu_engine.multigpu.iteration import Member, iterate, member_of
from gpu_engine.multigpu.moves import Moves
from gpu_engine.multigpu.partition import Span, StoredMatrix, find_partitioning, localize, part_of
from gpu_engine.multigpu.transport import TRANSPORTS, Endpoint, Mailbox, Transport, TransportName
from gpu_engine.multigpu.virtual import VirtualDevice

PARTITIONING = find_partitioning("pCSR")


@dataclass(frozen=True, slots=True)
class PartInfo:
    """What an actor has of the matrix.

    halo     which elements of the vector its device has
    n_bytes  bytes of the entries and pointers on its device
    """

    halo: Halo
    n_bytes: int

    @staticmethod
    def of(member: Member) -> "PartInfo":
        """What the actor of this member says of it."""
        return PartInfo(member.halo, member.stored_bytes)


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
    return StoredMatrix(PARTITIONING, n_rows, n_cols, indptr, indices, values)


def read_member(
    device: Device, folder: Path, spans: Sequence[Span], number: int, exchange: ExchangeName, overlap: bool
) -> Member:
    """Reads one part of the matrix of a folder, and no more, onto a device; raises InputError."""
    stored, span = open_stored(folder), spans[number]
    part = part_of(stored, span, localize(stored, span))
    halo = halo_of(spans, number, part, stored.n_rows, exchange)
    return member_of(device, PARTITIONING, part, halo, stored.n_rows, overlap)


def open_device(name: str) -> Device:
    """The device of this process: `virtual:…`, or `cuda:…`, of which Ray shows a process only its own."""
    if name.startswith("cuda"):
        from gpu_engine.multigpu.cuda_device import CudaDevice

        return CudaDevice(0)
    return VirtualDevice(name)


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
        spans: Sequence[Span],
        number: int,
        exchange: ExchangeName,
        overlap: bool,
    ) -> PartInfo:
        """Reads its part onto the device of that name, with `overlap` as a diagonal and an off-diagonal block.

        Raises InputError and what the device raises.
        """
        self._device, self._number = open_device(name), number
        self._member = member = read_member(self._device, folder, spans, number, exchange, overlap)
        self._vectors = tuple(self._device.allocate(member.halo.size, np.float64) for _ in "xy")
        self._shift = member.halo.own.start - spans[number].own.start
        return PartInfo.of(member)

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

        transfers  that begin or end here, in one order for the whole group: what is fetched before a product
        shares     the same of what is added after it, of rows that several parts share
        """
        stream = self._member.copy_stream
        endpoint = Endpoint(number, peers, stream, self._put, self._mailbox)
        self._transport = TRANSPORTS[transport](endpoint, rendezvous_id)
        self._shares, self._moves = shares, Moves(stream, number, transfers)
        self._settling = Moves(stream, number, shares)
        self._inbox = self._device.allocate(sum(share.target == number for share in shares), np.float64)

    def load(self, begin: int, values: Any) -> None:
        """Puts elements that it owns, from `begin` on, into the vector."""
        begin += self._shift
        self._device.upload(values, self._vectors[self._current][begin : begin + values.size])
        self._device.synchronize()

    def step(self) -> None:
        """x := A·x: fetches what it reads, multiplies, adds the shares of its last row that others have."""
        member, x, y = self._member, self._vectors[self._current], self._vectors[1 - self._current]
        iterate([member], self._multiply, [y[member.halo.lines]], lambda: self._exchange(self._moves, x, x))
        member.start()
        self._exchange(self._settling, y, self._inbox)
        member.wait()
        last = y[member.halo.own.stop - 1 : member.halo.own.stop]
        for share in self._shares:
            if share.target == self._number:
                self._device.call(self._device.operations.add, last, self._inbox[share.here], None)
        member.synchronize()
        self._current = 1 - self._current

    def read(self, begin: int, end: int) -> Any:
        """Elements begin … end − 1 of the vector, which it owns; float64 on the host."""
        host = np.empty(end - begin, np.float64)
        self._device.download(self._vectors[self._current][begin + self._shift : end + self._shift], host)
        self._device.synchronize()
        return host

    def deliver(self, exchange: int, source: int, values: Any) -> None:
        """Takes what another member has sent."""
        self._mailbox.deliver(exchange, source, values)

    def ping(self) -> None:
        """Answers, whatever the device is doing."""

    def _multiply(self, _number: int, block: Block, y: Any) -> None:
        x = self._vectors[self._current]
        self._device.call(self._device.operations.multiply, PARTITIONING, block.part, x, y)

    def _exchange(self, moves: Moves, vector: Any, target: Any) -> None:
        self._transport.exchange(moves.pack(vector, target))
