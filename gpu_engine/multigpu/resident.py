"""Iterated SpMV x := A·x, or SpMM X := A·X, with matrix and vectors on the devices of one process.

Every device has two local vectors of owned elements and halo: the device and its peers read one, while the other is
written.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import INDEX_LIMIT
from gpu_engine.errors import InputError, ParameterError
from gpu_engine.multigpu.base import Device, call_and_wait, device_of
from gpu_engine.multigpu.blocks import Block
from gpu_engine.multigpu.exchange import (
    ExchangeName,
    halo_of,
    plan_shares,
    plan_transfers,
    wide_positions,
    widened,
)
from gpu_engine.multigpu.iteration import Member, iterate, member_of
from gpu_engine.multigpu.partition import Part, SharedMatrix, Span
from gpu_engine.multigpu.peer_copies import PeerCopies
from gpu_engine.multigpu.replay import Replays

BATCH = 4
"""Iterations captured together; even, so that the vector ends in the array in which it started."""


class ResidentMatrix:
    """Square matrix partitioned by rows, with a vector on the same devices.

    One host thread launches everything. Waiting work is launched after the work that it waits for, so that devices
    cannot wait for each other in a cycle. Iterations are captured in batches.

    transfers  halo transfers of each iteration
    """

    def __init__(
        self,
        stored: SharedMatrix,
        spans: Sequence[Span],
        devices: Sequence[Device],
        exchange: ExchangeName = "halo",
        overlap: bool = True,
        k: int | None = None,
    ) -> None:
        """Copy the partitions to the devices.

        overlap  multiply the diagonal blocks during the exchange for the off-diagonal blocks
        k        columns of X [n, k], row major; None: a vector [n]

        Raises ParameterError for a matrix that is not square or is partitioned by columns, with columns for a
        partitioning other than pCSR, or if the numbers of partitions and devices differ.
        """
        _check(stored, spans, devices, k)
        self._partitioning, self._n, self._spans = stored.partitioning, stored.n_rows, tuple(spans)
        self._members = [_member(stored, spans, i, device, exchange, overlap) for i, device in enumerate(devices)]
        halos = [member.halo for member in self._members]
        self.transfers, self._shares = plan_transfers(spans, halos), plan_shares(spans, halos)
        self._shape, self._width = (self._n,) if k is None else (self._n, k), 1 if k is None else k
        if k is not None:
            self.transfers, self._shares = widened(self.transfers, k), widened(self._shares, k)
            self._members = [_with_columns(member, k) for member in self._members]
        self._vectors = [
            [member.device.allocate(self._width * member.halo.size, np.float64) for _ in "xy"]
            for member in self._members
        ]
        self._received_shares = [
            device.allocate(sum(share.elements for share in self._shares if share.target == i), np.float64)
            for i, device in enumerate(devices)
        ]
        copy_streams = [member.copy_stream for member in self._members]
        self._copies, self._share_copies = PeerCopies(copy_streams, self.transfers), PeerCopies(devices, self._shares)
        self._replays = Replays([*devices, *copy_streams])
        self._current = 0

    @property
    def exchanged_bytes(self) -> int:
        """Return the bytes transferred between devices per iteration: halo elements, and partial sums of cut rows."""
        return self._copies.exchanged_bytes() + self._share_copies.exchanged_bytes()

    @property
    def vector_bytes(self) -> tuple[int, ...]:
        """Return the bytes of one local vector per device."""
        return tuple(int(x.nbytes) for x, _ in self._vectors)

    def load(self, x: Any) -> None:
        """Send each device its elements of x, float64 [n] or [n, k] on the host; raise InputError for another array."""
        self._check_vector(x)
        self.synchronize()
        for member, span, vectors in zip(self._members, self._spans, self._vectors, strict=True):
            member.device.upload(x[span.owned].reshape(-1), self._at(vectors[self._current], member.halo.owned))
        self.synchronize()

    def advance(self, iterations: int) -> None:
        """Launch `iterations` times x := A·x."""
        self._repeat(self._advance, iterations)

    def exchange(self, times: int = 1) -> None:
        """Launch only the halo exchange of an iteration, `times` times."""
        self._repeat(self._exchange, times)

    def multiply(self, times: int = 1) -> None:
        """Launch y := A·x with the halo of the last exchange; x stays unchanged, and `read_product` reads y."""
        self._repeat(self._multiply, times)

    def read(self, x: Any) -> None:
        """Copy the vector to x on the host, of the shape of `load`, and wait; raise InputError for another array."""
        self._download(self._current, x)

    def read_product(self, y: Any) -> None:
        """Copy y of the last `multiply` to the host and wait for it; raise InputError for another array."""
        self._download(1 - self._current, y)

    def synchronize(self) -> None:
        """Wait for all launched work and raise its first error."""
        for member in self._members:
            member.synchronize()

    def _download(self, number: int, x: Any) -> None:
        self._check_vector(x)
        for member, span, vectors in zip(self._members, self._spans, self._vectors, strict=True):
            member.device.download(self._at(vectors[number], member.halo.owned), x[span.owned].reshape(-1))
        self.synchronize()

    def _repeat(self, act: Callable[[], None], times: int) -> None:
        batches, rest = divmod(times, BATCH)
        if batches:
            self._replays.launch((act.__name__, self._current), lambda: self._batch(act), batches)
            self._renew()
        for _ in range(rest):
            act()

    def _batch(self, act: Callable[[], None]) -> None:
        # Captured work must not wait for events from before the capture.
        self._renew()
        for _ in range(BATCH):
            act()

    def _renew(self) -> None:
        self._copies.renew()
        self._share_copies.renew()

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
        self._copies.launch([vectors[self._current] for vectors in self._vectors])

    def _iterate(self, exchange: Callable[[], None] | None) -> None:
        """Launch an iteration: the SpMVs, then the sums of cut rows."""
        results = [vectors[1 - self._current] for vectors in self._vectors]
        for i, member in enumerate(self._members):
            # Slower peers may still be reading the vector that this iteration overwrites.
            self._copies.release(i, member.device)
        lines = [self._at(y, member.halo.lines) for member, y in zip(self._members, results, strict=True)]
        iterate(self._members, self._launch_product, lines, exchange)
        self._share_copies.launch(results, targets=self._received_shares)
        for share in self._shares:
            member, y = self._members[share.target], results[share.target]
            last = self._at(y, slice(member.halo.owned.stop - 1, member.halo.owned.stop))
            received = self._received_shares[share.target][share.here]
            member.device.call(member.device.operations.add, last, received, None)

    def _launch_product(self, i: int, block: Block, y: Any) -> None:
        device, x = self._members[i].device, self._vectors[i][self._current]
        if len(self._shape) > 1:
            device.call(block.part, x, y)
        else:
            device.call(device.operations.multiply, self._partitioning, block.part, x, y)

    def _at(self, vector: Any, rows: slice) -> Any:
        """Return the elements of some rows of a local vector."""
        return vector[self._width * rows.start : self._width * rows.stop]

    def _check_vector(self, x: Any) -> None:
        if x.dtype != np.float64 or x.shape != self._shape or not x.flags.c_contiguous:
            raise InputError(
                f"The vector is {x.dtype} {x.shape}, but the matrix needs float64 {self._shape}, row major."
            )


def _member(
    stored: SharedMatrix, spans: Sequence[Span], number: int, device: Device, exchange: ExchangeName, overlap: bool
) -> Member:
    """Return the partition on a device; a device that generates its partition needs memory for two copies meanwhile."""
    part = stored.part(spans[number], device)
    with device_of(part.minor):
        halo = halo_of(spans, number, part, stored.n_rows, exchange)
        return member_of(device, stored.partitioning, part, halo, stored.n_rows, overlap)


def _with_columns(member: Member, k: int) -> Member:
    """Return a member whose blocks multiply k columns: `part` is the SpMM, lines and product have k numbers per row."""
    device, blocks = member.device, []
    if k * member.halo.size > INDEX_LIMIT:
        raise ParameterError(f"{k} columns of {member.halo.size} rows have too many elements for a device. Take fewer.")
    for block in member.blocks:
        pointers, columns = block.arrays
        span = Span(0, int(columns.size), 0, int(pointers.size) - 1, start_flag=False)
        part = Part(span, pointers, columns, block.values)
        bound = call_and_wait(device, device.operations.bind_columns, part, member.halo.size, k)
        wide = call_and_wait(device, wide_positions, block.lines, k)
        product = device.allocate(0 if wide is None else wide.size, np.float64)
        blocks.append(replace(block, part=bound, lines=wide, product=product))
    return replace(member, blocks=tuple(blocks))


def _check(stored: SharedMatrix, spans: Sequence[Span], devices: Sequence[Device], k: int | None) -> None:
    if k is not None and k < 1:
        raise ParameterError(f"{k} columns; expected at least 1.")
    if k is not None and not stored.partitioning.compressed:
        raise ParameterError(f"{stored.partitioning.name} has no SpMM. Choose pCSR.")
    if stored.n_rows != stored.n_cols:
        raise ParameterError(
            f"The matrix is not square ({stored.n_rows} × {stored.n_cols}). x := A·x needs a square matrix. "
            "Choose another one."
        )
    if stored.partitioning.axis != "rows":
        raise ParameterError(
            f"{stored.partitioning.name} partitions by columns, but x := A·x needs rows. Choose pCSR or pCOO."
        )
    if not devices or len(spans) != len(devices):
        raise ParameterError(f"{len(spans)} partitions for {len(devices)} devices. Use one partition per device.")
