"""x := A·x again and again with x on the devices.

There are two vectors on every device, of what it owns and its halo: one is read, by the device and its peers, while the
other is written.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpu_engine.errors import InputError, ParameterError
from gpu_engine.multigpu.base import Device, where
from gpu_engine.multigpu.blocks import Block
from gpu_engine.multigpu.exchange import ExchangeName, halo_of, plan_shares, plan_transfers
from gpu_engine.multigpu.fetches import Fetches
from gpu_engine.multigpu.iteration import Member, iterate, member_of
from gpu_engine.multigpu.partition import SharedMatrix, Span
from gpu_engine.multigpu.replay import Replays

BATCH = 4
"""Iterations that are captured together, an even number: the vector is then where it was before."""


class ResidentMatrix:
    """A square matrix cut by rows, each part on its device for good, and a vector that stays there with it.

    One host thread launches everything. Whatever waits is launched after that for which it waits, so that no devices
    wait for each other. What comes often is captured by the batch.

    transfers  what is fetched in each iteration
    """

    def __init__(
        self,
        stored: SharedMatrix,
        spans: Sequence[Span],
        devices: Sequence[Device],
        exchange: ExchangeName = "halo",
        overlap: bool = True,
    ) -> None:
        """Copies the parts to the devices.

        overlap  multiplies the diagonal block of a part while the elements for the other one arrive

        Raises ParameterError where the matrix is not square or cut by columns, or parts and devices differ in number.
        """
        _check(stored, spans, devices)
        self._partitioning, self._n, self._spans = stored.partitioning, stored.n_rows, tuple(spans)
        self._members = [_member(stored, spans, i, device, exchange, overlap) for i, device in enumerate(devices)]
        halos = [member.halo for member in self._members]
        self.transfers, self._shares = plan_transfers(spans, halos), plan_shares(spans, halos)
        self._vectors = [
            [member.device.allocate(member.halo.size, np.float64) for _ in "xy"] for member in self._members
        ]
        self._inboxes = [
            device.allocate(sum(share.target == i for share in self._shares), np.float64)
            for i, device in enumerate(devices)
        ]
        copy_streams = [member.copy_stream for member in self._members]
        self._fetches, self._settling = Fetches(copy_streams, self.transfers), Fetches(devices, self._shares)
        self._replays = Replays([*devices, *copy_streams])
        self._current = 0

    @property
    def exchanged_bytes(self) -> int:
        """Bytes that cross between devices in an iteration: elements fetched, and shares of cut rows."""
        return self._fetches.exchanged_bytes() + self._settling.exchanged_bytes()

    @property
    def vector_bytes(self) -> tuple[int, ...]:
        """Bytes of one vector on each device."""
        return tuple(int(x.nbytes) for x, _ in self._vectors)

    def load(self, x: Any) -> None:
        """Sends each device what it owns of x, float64 [n] on the host; raises InputError for another."""
        self._check_vector(x)
        self.synchronize()
        for member, span, vectors in zip(self._members, self._spans, self._vectors, strict=True):
            member.device.upload(x[span.own], vectors[self._current][member.halo.own])
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
            member.synchronize()

    def _download(self, number: int, x: Any) -> None:
        self._check_vector(x)
        for member, span, vectors in zip(self._members, self._spans, self._vectors, strict=True):
            member.device.download(vectors[number][member.halo.own], x[span.own])
        self.synchronize()

    def _repeat(self, act: Callable[[], None], times: int) -> None:
        batches, rest = divmod(times, BATCH)
        if batches:
            self._replays.launch((act.__name__, self._current), lambda: self._batch(act), batches)
            self._renew()
        for _ in range(rest):
            act()

    def _batch(self, act: Callable[[], None]) -> None:
        # Within a capture nothing may wait for what came before it.
        self._renew()
        for _ in range(BATCH):
            act()

    def _renew(self) -> None:
        self._fetches.renew()
        self._settling.renew()

    def _advance(self) -> None:
        self._iterate(self._fetch)
        self._current = 1 - self._current

    def _multiply(self) -> None:
        self._iterate(None)

    def _exchange(self) -> None:
        for member in self._members:
            member.start()
        self._fetch()

    def _fetch(self) -> None:
        self._fetches.launch([vectors[self._current] for vectors in self._vectors])

    def _iterate(self, exchange: Callable[[], None] | None) -> None:
        """Launches an iteration: the products, then the sums of the rows that several devices share."""
        results = [vectors[1 - self._current] for vectors in self._vectors]
        for i, member in enumerate(self._members):
            # Peers may lag behind: what is overwritten must have been read.
            self._fetches.release(i, member.device)
        lines = [y[member.halo.lines] for member, y in zip(self._members, results, strict=True)]
        iterate(self._members, self._launch_product, lines, exchange)
        self._settling.launch(results, targets=self._inboxes)
        for share in self._shares:
            member, y = self._members[share.target], results[share.target]
            last = y[member.halo.own.stop - 1 : member.halo.own.stop]
            member.device.call(member.device.operations.add, last, self._inboxes[share.target][share.here], None)

    def _launch_product(self, i: int, block: Block, y: Any) -> None:
        device, x = self._members[i].device, self._vectors[i][self._current]
        device.call(device.operations.multiply, self._partitioning, block.part, x, y)

    def _check_vector(self, x: Any) -> None:
        if x.dtype != np.float64 or x.shape != (self._n,):
            raise InputError(f"The vector is {x.dtype} {x.shape}; the matrix needs float64 ({self._n},).")


def _member(
    stored: SharedMatrix, spans: Sequence[Span], number: int, device: Device, exchange: ExchangeName, overlap: bool
) -> Member:
    """What a device has; one that makes its part needs room for a second copy until this returns."""
    part = stored.part(spans[number], device)
    with where(part.minor):
        halo = halo_of(spans, number, part, stored.n_rows, exchange)
        return member_of(device, stored.partitioning, part, halo, stored.n_rows, overlap)


def _check(stored: SharedMatrix, spans: Sequence[Span], devices: Sequence[Device]) -> None:
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
