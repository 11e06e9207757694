"""x := A·x again and again with x on the devices.

An iteration fetches what a device does not own and then multiplies. Vectors are as long as the matrix on every device,
so that columns keep their numbers, and there are two of them: one is read, by the device and its peers, while the other
is written.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.errors import InputError, ParameterError
from gpu_engine.multigpu.base import Device, copied, returned
from gpu_engine.multigpu.exchange import (
    EXCHANGES,
    ExchangeName,
    copy_part,
    drop_empty_lines,
    owners,
    plan_transfers,
    split_diagonal,
)
from gpu_engine.multigpu.operations import PreparedPart
from gpu_engine.multigpu.partition import Part, Span, StoredMatrix, localize, part_of
from gpu_engine.multigpu.replay import Replays

BATCH = 4
"""Iterations that are captured together, an even number: the vector is then where it was before."""


@dataclass(frozen=True, slots=True)
class Member:
    """What one device has.

    copy_stream   its second stream where fetches overlap with products, else the device itself
    parts    its part, prepared; where fetches overlap with products, the diagonal and the off-diagonal block of it
    vectors  float64 [n] twice; of x they hold what the device owns, and the range it wants once that is fetched
    lines    int32, the rows of the off-diagonal block, counted from the first of the part
    off_diagonal  float64 [lines], the product with that block
    outbox   float64 [1], the share of a row that began in an earlier part
    inbox    float64 [1], a share of a row that goes on in a later part
    """

    device: Device
    copy_stream: Device
    parts: tuple[PreparedPart, ...]
    vectors: tuple[Any, Any]
    lines: Any
    off_diagonal: Any
    outbox: Any
    inbox: Any

    @property
    def span(self) -> Span:
        """Where its part lies."""
        return self.parts[0].span


class ResidentMatrix:
    """A square matrix cut by rows, each part on its device for good, and a vector that stays there with it.

    One host thread launches everything. Whatever waits is launched after that for which it waits, so that no devices
    wait for each other. What comes often is captured by the batch.
    """

    def __init__(
        self,
        stored: StoredMatrix,
        spans: Sequence[Span],
        devices: Sequence[Device],
        exchange: ExchangeName = "image",
        overlap: bool = True,
    ) -> None:
        """Copies the parts to the devices.

        overlap  multiplies the diagonal block of a part while the elements for the other one arrive

        Raises ParameterError where the matrix is not square or cut by columns, or parts and devices differ in number.
        """
        _check(stored, spans, devices)
        self._partitioning, self._n, self.overlap = stored.partitioning, stored.n_rows, overlap
        parts = [part_of(stored, span, localize(stored, span)) for span in spans]
        self.transfers = plan_transfers(spans, [EXCHANGES[exchange](part, self._n) for part in parts])
        self._owners = tuple(owners(spans))
        self._members = [self._member(device, part) for device, part in zip(devices, parts, strict=True)]
        self._incoming = [[t for t in self.transfers if t.target == i] for i in range(len(spans))]
        self._readers = [[t.target for t in self.transfers if t.source == i] for i in range(len(spans))]
        self._replays = Replays([stream for member in self._members for stream in (member.device, member.copy_stream)])
        self._current = 0
        self._record_events()

    @property
    def exchanged_bytes(self) -> int:
        """Bytes that cross between devices in an iteration: elements fetched, and shares of cut rows."""
        cut = sum(owner is not None for owner in self._owners)
        return (sum(transfer.elements for transfer in self.transfers) + cut) * np.dtype(np.float64).itemsize

    def load(self, x: Any) -> None:
        """Sends each device what it owns of x, float64 [n] on the host; raises InputError for another."""
        self._check_vector(x)
        self.synchronize()
        for member in self._members:
            own = member.span.own
            member.device.upload(x[own], member.vectors[self._current][own])
        self.synchronize()

    def advance(self, iterations: int) -> None:
        """Launches x := A·x so many times."""
        self._repeat(self._advance, iterations)

    def exchange(self, times: int = 1) -> None:
        """Launches the fetches of an iteration without its product: each device then has the range that it wants."""
        self._repeat(self._exchange, times)

    def multiply(self, times: int = 1) -> None:
        """Launches y := A·x from the ranges of x that were fetched last; x stays, and y is read by `read_product`."""
        self._repeat(self._multiply, times)

    def read(self, x: Any) -> None:
        """Copies the vector to x, float64 [n] on the host, and waits for it; raises InputError for another."""
        self._download(self._current, x)

    def read_product(self, y: Any) -> None:
        """The same for y of the last `multiply`."""
        self._download(1 - self._current, y)

    def synchronize(self) -> None:
        """Waits for all that was launched; raises what it did wrong."""
        for member in self._members:
            member.copy_stream.synchronize()
            member.device.synchronize()

    def _member(self, device: Device, whole: Part) -> Member:
        parts: tuple[Part, ...] = (whole,)
        lines: Any = np.empty(0, np.int32)
        if self.overlap:
            diagonal, off_diagonal = split_diagonal(self._partitioning, whole)
            off_diagonal, lines = drop_empty_lines(self._partitioning, off_diagonal)
            parts = (diagonal, off_diagonal)
        member = Member(
            device,
            device.copy_stream() if self.overlap else device,
            tuple(self._prepared(device, part) for part in parts),
            (device.allocate(self._n, np.float64), device.allocate(self._n, np.float64)),
            copied(device, lines),
            device.allocate(lines.size, np.float64),
            *(device.allocate(1, np.float64) for _ in range(2)),
        )
        device.synchronize()
        return member

    def _prepared(self, device: Device, part: Part) -> PreparedPart:
        prepared: PreparedPart = returned(
            device, device.operations.prepare, self._partitioning, copy_part(device, part), self._n
        )
        return prepared

    def _download(self, number: int, x: Any) -> None:
        self._check_vector(x)
        for member in self._members:
            own = member.span.own
            member.device.download(member.vectors[number][own], x[own])
        self.synchronize()

    def _repeat(self, act: Callable[[], None], times: int) -> None:
        batches, rest = divmod(times, BATCH)
        if batches:
            self._replays.launch((act.__name__, self._current), lambda: self._batch(act), batches)
            self._record_events()
        for _ in range(rest):
            act()

    def _batch(self, act: Callable[[], None]) -> None:
        # Within a capture nothing may wait for what came before it.
        self._record_events()
        for _ in range(BATCH):
            act()

    def _record_events(self) -> None:
        """Events behind what a device owns of the vector, and behind its last fetch."""
        self._product_events = [member.device.record_event() for member in self._members]
        self._fetch_events = [member.copy_stream.record_event() for member in self._members]

    def _advance(self) -> None:
        before = self._fetch_events
        self._exchange()
        self._launch_products(before)
        self._current = 1 - self._current

    def _multiply(self) -> None:
        self._launch_products(self._fetch_events)

    def _exchange(self) -> None:
        """Launches the fetches of an iteration."""
        for member, event, transfers in zip(self._members, self._product_events, self._incoming, strict=True):
            # A device may lag behind those from which it fetches: what is overwritten must have been read.
            member.copy_stream.wait_event(event)
            for transfer in transfers:
                member.copy_stream.wait_event(self._product_events[transfer.source])
                there, here = (m.vectors[self._current] for m in (self._members[transfer.source], member))
                member.copy_stream.fetch(there[transfer.begin : transfer.end], here[transfer.begin : transfer.end])
        self._fetch_events = [member.copy_stream.record_event() for member in self._members]

    def _launch_products(self, read: Sequence[Any]) -> None:
        """Launches the products of all devices, then the sums of the rows that several share.

        read  events behind the fetches of each device that read what is now overwritten
        """
        shares = []
        for i, member in enumerate(self._members):
            for reader in self._readers[i]:
                member.device.wait_event(read[reader])
            y = member.vectors[1 - self._current][member.span.lines]
            self._multiply_part(member, y, self._fetch_events[i])
            owner = self._owners[i]
            if owner is not None:
                member.device.wait_event(self._product_events[owner])
                member.device.fetch(y[:1], member.outbox)
            shares.append(member.device.record_event())
        for i, owner in enumerate(self._owners):
            if owner is not None:
                self._add_share(self._members[owner], self._members[i], shares[i])
        self._product_events = [member.device.record_event() for member in self._members]

    def _multiply_part(self, member: Member, y: Any, fetch_event: Any) -> None:
        device, x = member.device, member.vectors[self._current]
        if not self.overlap:
            # The fetches came before on the same stream.
            device.call(device.operations.multiply, self._partitioning, member.parts[0], x, y)
            return
        diagonal, off_diagonal = member.parts
        device.call(device.operations.multiply, self._partitioning, diagonal, x, y)
        device.wait_event(fetch_event)
        device.call(device.operations.multiply, self._partitioning, off_diagonal, x, member.off_diagonal)
        device.call(device.operations.add, y, member.off_diagonal, member.lines)

    def _add_share(self, owner: Member, later: Member, share: Any) -> None:
        row = later.span.first
        owner.device.wait_event(share)
        owner.device.fetch(later.outbox, owner.inbox)
        y = owner.vectors[1 - self._current]
        owner.device.call(owner.device.operations.add, y[row : row + 1], owner.inbox, None)

    def _check_vector(self, x: Any) -> None:
        if x.dtype != np.float64 or x.shape != (self._n,):
            raise InputError(f"The vector is {x.dtype} {x.shape}; the matrix needs float64 ({self._n},).")


def _check(stored: StoredMatrix, spans: Sequence[Span], devices: Sequence[Device]) -> None:
    if stored.n_rows != stored.n_cols:
        raise ParameterError(
            f"The matrix is {stored.n_rows} × {stored.n_cols}; x := A·x needs a square one. Choose another matrix."
        )
    if stored.partitioning.axis != "rows":
        raise ParameterError(
            f"{stored.partitioning.name} cuts columns; x := A·x needs parts by rows: choose pCSR or pCOO."
        )
    if not devices or len(spans) != len(devices):
        raise ParameterError(f"There are {len(spans)} parts for {len(devices)} devices; give each device one part.")
