"""PartActor: a process with one device, which holds one part of a matrix and owns the rows that begin in it.

It reads its own part of the files of a matrix alone. Like a device of `exchange.py` it has two vectors as long as the
matrix, one read while the other is written.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gpu_engine.errors import InputError, quote
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.exchange import EXCHANGES, ExchangeName, Transfer, sent
from gpu_engine.multigpu.partition import Span, StoredMatrix, find_partitioning, localize, part_of
from gpu_engine.multigpu.transport import TRANSPORTS, Seat, Transport, TransportName
from gpu_engine.multigpu.virtual import VirtualDevice


@dataclass(frozen=True, slots=True)
class Holding:
    """What an actor has taken.

    wanted   the range of the vector that its part reads
    n_bytes  bytes of the matrix that it has read, and holds on its device
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


class PartActor:
    """One part on one device; `deliver` and `ping` run in a thread of their own beside the other calls."""

    def __init__(self, put: Callable[[Any], Any]) -> None:
        self._put = put
        self._current = 0
        self._transport: Transport

    def take(
        self, open_device: Callable[[str], Device], name: str, folder: Path, span: Span, exchange: ExchangeName
    ) -> Holding:
        """Reads its part onto the device of that name; raises InputError and what the device raises."""
        device, stored = open_device(name), open_stored(folder)
        self._device, self._partitioning, self._span = device, stored.partitioning, span
        part = part_of(stored, span, localize(stored, span))
        wanted = EXCHANGES[exchange](part, stored.n_cols)
        held = sent(device, part)
        self._part = device.prepare(stored.partitioning, held, stored.n_cols)
        self._vectors = tuple(device.allocate(stored.n_rows, np.float64) for _ in range(2))
        return Holding(wanted, sum(int(array.nbytes) for array in (held.major, held.minor, held.values)))

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
        self._transport = TRANSPORTS[transport](Seat(number, peers, self._device, self._put), invitation)
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
        self._transport.exchange([(transfer, x[transfer.begin : transfer.end]) for transfer in self._transfers])
        self._device.multiply(self._partitioning, self._part, x, y[self._span.lines])
        self._device.synchronize()
        self._transport.exchange([(share, self._end_of(share, i, y)) for i, share in enumerate(self._shares)])
        for i, share in enumerate(self._shares):
            if share.target == self._number:
                self._device.add(y[share.begin : share.end], self._inbox[i : i + 1])
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
        self._transport.deliver(exchange, source, values)

    def ping(self) -> None:
        """Answers, whatever the device is doing."""

    def _end_of(self, share: Transfer, i: int, y: Any) -> Any:
        """Where a share lies here: in y that of its own part, in the inbox that of another."""
        return y[share.begin : share.end] if share.source == self._number else self._inbox[i : i + 1]
