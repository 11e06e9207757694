"""Base class of what one device of a cluster does in a case, and the Ray actor that holds it.

All actors of a case get the same calls and take part in the same exchanges; the driver only starts them. Values that
all need, such as γ, are summed by each actor in the same order, so that all have the same bits and decide alike.
"""

from collections.abc import Callable, Hashable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.cluster.halo_transfers import HaloTransfers
from gpu_engine.multigpu.cluster.transport import TRANSPORTS, Endpoint, Mailbox, Transport, TransportName
from gpu_engine.multigpu.exchange import SUMS, Halo, Transfer, plan_sums
from gpu_engine.multigpu.iteration import Member
from gpu_engine.multigpu.replay import Replays


@dataclass(frozen=True, slots=True)
class PartInfo:
    """Partition that an actor has loaded.

    halo     layout of the local vector
    n_bytes  bytes of the partition on the device
    """

    halo: Halo
    n_bytes: int


class CaseActor:
    """Work of one device in a case; subclasses define `load_part`, which comes before `connect`.

    _member    partition of the matrix, on the two streams of the device
    _segments  segments per value of the vectors; 0: fp64
    """

    _member: Member
    _segments = 0
    _transport: Transport

    def __init__(self, device: Device, put: Callable[[Any], Any]) -> None:
        self._device, self._put, self._mailbox = device, put, Mailbox()
        self._meeting_sums = device.allocate(SUMS, np.float64)
        self._resources = ExitStack()

    def connect(
        self,
        transport: TransportName,
        rendezvous_id: Any,
        number: int,
        peers: Sequence[Any],
        transfers: Sequence[Transfer],
        shares: Sequence[Transfer],
    ) -> None:
        """Connect to the other actors and run everything once, because loading a kernel later could block a peer.

        transfers  halo transfers from and to this actor, in the same order for all actors
        shares     transfers of partial sums of cut rows, of all actors
        """
        stream = self._member.copy_stream
        endpoint = Endpoint(number, peers, stream, self._put, self._mailbox)
        self._transport = TRANSPORTS[transport](endpoint, rendezvous_id)
        self._resources.callback(self._transport.close)
        self._number, self._count = number, len(peers)
        self._transfers = HaloTransfers(stream, number, transfers, self._segments)
        local_shares = [share for share in shares if number in (share.source, share.target)]
        self._shares, self._share_transfers = shares, HaloTransfers(stream, number, local_shares)
        self._received_shares = self._device.allocate(sum(share.target == number for share in shares), np.float64)
        self._all_sums = self._device.allocate(SUMS * self._count, np.float64)
        self._host_sums = self._device.allocate_host(SUMS * self._count, np.float64)
        sums = [transfer for transfer in plan_sums(self._count) if number in (transfer.source, transfer.target)]
        self._sum_moves = HaloTransfers(stream, number, sums).pack(self._all_sums, self._all_sums)
        self._replays = Replays([self._device, stream])
        # NCCL waits at its end for all graphs in which it was captured.
        self._resources.callback(self._replays.clear)
        self._transport.exchange(self._sum_moves)
        self.synchronize()

    def close(self) -> None:
        """Disconnect from the other actors; all actors of the case do so at the same time."""
        self._resources.close()

    def deliver(self, exchange: int, source: int, values: Any) -> None:
        """Receive a message of another actor."""
        self._mailbox.deliver(exchange, source, values)

    def meet(self) -> None:
        """Wait until all actors have called this method."""
        self._exchange_sums(self._meeting_sums)
        self.synchronize()

    def synchronize(self) -> None:
        """Wait for all launched work and raise its first error."""
        self._member.synchronize()

    @property
    def _ahead(self) -> bool:
        """Return whether exchanges are launched before SpMVs; see `iterate`."""
        return self._transport.ordered

    def _move(self, vector: Any, k: int | None = None) -> None:
        """Launch, on the copy stream, the halo exchange of a vector, in fp64 or in the leading k segments."""
        self._transport.launch(self._transfers.pack(vector, vector, k))
        self._transfers.unpack(vector, k)

    def _move_shares(self, y: Any) -> None:
        """Launch the exchange of partial sums of cut rows of y; `_add_shares` comes next."""
        self._member.start()
        self._transport.launch(self._share_transfers.pack(y, self._received_shares))
        self._member.wait()

    def _add_shares(self, y: Any) -> None:
        """Launch the addition of the received partial sums to the last owned row."""
        last = y[self._member.halo.owned.stop - 1 : self._member.halo.owned.stop]
        for share in self._shares:
            if share.target == self._number:
                self._device.call(self._device.operations.add, last, self._received_shares[share.here], None)

    def _exchange_sums(self, sums: Any) -> None:
        """Launch the exchange of SUMS numbers; afterwards _host_sums has those of all actors in order."""
        stream, begin = self._member.copy_stream, SUMS * self._number
        self._member.start()
        stream.fetch(sums, self._all_sums[begin : begin + SUMS])
        self._transport.launch(self._sum_moves)
        stream.download(self._all_sums, self._host_sums)
        self._member.wait()

    def _launch(self, key: Hashable, function: Callable[[], None], times: int = 1) -> None:
        """Launch function() the given number of times, as a replay if nothing in it waits on the host."""
        if self._transport.ordered:
            self._replays.launch(key, function, times)
            return
        for _ in range(times):
            function()


@dataclass(frozen=True, slots=True)
class Peer:
    """Handle of the case of another actor with the interface of an actor: `peer.deliver.options(…).remote(…)`."""

    actor: Any
    key: str

    @property
    def deliver(self) -> "Peer":
        """Return the method that receives messages."""
        return self

    def options(self, concurrency_group: str) -> Any:
        """Return the method to call in a concurrency group of the actor."""
        call = self.actor.deliver.options(concurrency_group=concurrency_group)
        return SimpleNamespace(remote=partial(call.remote, self.key))


class MemberActor:
    """Ray actor: a process with one device and one CaseActor per case that it takes part in.

    `deliver` and `ping` run in a separate thread, in parallel to the other calls.
    """

    def __init__(self, put: Callable[[Any], Any]) -> None:
        self._put = put
        self._members: dict[str, Any] = {}

    def open(self, open_device: Callable[[str], Device], name: str) -> None:
        """Open the device, which all cases of this actor use in turn."""
        self._device = open_device(name)

    def start(self, key: str, kind: Callable[..., CaseActor]) -> None:
        """Create the object for a new case."""
        self._members[key] = kind(self._device, self._put)

    def call(self, key: str, method: str, *arguments: Any) -> Any:
        """Call a method of a case and return its result."""
        return getattr(self._members[key], method)(*arguments)

    def drop(self, key: str) -> None:
        """End a case and free its memory."""
        if key in self._members:
            self._members.pop(key).close()

    def new_rendezvous_id(self, transport: TransportName) -> Any:
        """Return the id with which the actors of a case connect to each other."""
        return TRANSPORTS[transport].new_rendezvous_id()

    def deliver(self, key: str, exchange: int, source: int, values: Any) -> None:
        """Receive a message of another actor for a case."""
        self._members[key].deliver(exchange, source, values)

    def ping(self) -> None:
        """Respond immediately, also while the device is busy."""
