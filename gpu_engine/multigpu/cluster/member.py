"""TeamMember: what one device of a cluster does; all members lead themselves, the driver only begins them.

Each is told the same, at the same time, and comes to the same exchanges. What all have to know, such as γ, each adds
up from what all found, in one order, so that all of them find the same bits and decide alike.
"""

from collections.abc import Callable, Hashable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.cluster.moves import Moves
from gpu_engine.multigpu.cluster.transport import TRANSPORTS, Endpoint, Mailbox, Transport, TransportName
from gpu_engine.multigpu.exchange import Halo, Transfer
from gpu_engine.multigpu.iteration import Member
from gpu_engine.multigpu.rank_state import SUMS
from gpu_engine.multigpu.replay import Replays


@dataclass(frozen=True, slots=True)
class PartInfo:
    """What a member has of the matrix.

    halo     which elements of the vector its device has
    n_bytes  bytes of what lies on its device
    """

    halo: Halo
    n_bytes: int


class TeamMember:
    """A member of a team, not yet connected; `load_part` of its kind comes before `connect`.

    _member    its part of a matrix, on its two streams
    _segments  of the values of its vectors; 0: fp64
    """

    _member: Member
    _segments = 0
    _transport: Transport

    def __init__(self, device: Device, put: Callable[[Any], Any]) -> None:
        self._device, self._put, self._mailbox = device, put, Mailbox()
        self._own_sums = device.allocate(SUMS, np.float64)
        self._held = ExitStack()

    def connect(
        self,
        transport: TransportName,
        rendezvous_id: Any,
        number: int,
        peers: Sequence[Any],
        transfers: Sequence[Transfer],
        shares: Sequence[Transfer],
    ) -> None:
        """Joins the team, and does everything once: nothing is loaded later on, while a peer is awaited.

        transfers  that begin or end here, in one order for the whole team: what is fetched before a product
        shares     of the whole team: what is added after a product, of rows that several members share
        """
        stream = self._member.copy_stream
        endpoint = Endpoint(number, peers, stream, self._put, self._mailbox)
        self._transport = TRANSPORTS[transport](endpoint, rendezvous_id)
        self._held.callback(self._transport.close)
        self._number, self._count = number, len(peers)
        self._moves = Moves(stream, number, transfers, self._segments)
        own = [share for share in shares if number in (share.source, share.target)]
        self._shares, self._share_moves = shares, Moves(stream, number, own)
        self._inbox = self._device.allocate(sum(share.target == number for share in shares), np.float64)
        self._told = self._device.allocate(SUMS * self._count, np.float64)
        self._host_sums = self._device.allocate_host(SUMS * self._count, np.float64)
        self._sum_moves = Moves(stream, number, self._sum_transfers()).pack(self._told, self._told)
        self._replays = Replays([self._device, stream])
        # NCCL waits at its end for all graphs in which it was captured.
        self._held.callback(self._replays.clear)
        self._transport.exchange(self._sum_moves)
        self.synchronize()

    def close(self) -> None:
        """Leaves the team, which all members do at the same time."""
        self._held.close()

    def deliver(self, exchange: int, source: int, values: Any) -> None:
        """Takes what another member has sent."""
        self._mailbox.deliver(exchange, source, values)

    def meet(self) -> None:
        """Returns when all members have come here."""
        self._tell(self._own_sums)
        self.synchronize()

    def synchronize(self) -> None:
        """Waits for all that was launched; raises what it did wrong."""
        self._member.synchronize()

    @property
    def _ahead(self) -> bool:
        """Whether exchanges are launched before products; see `iterate`."""
        return self._transport.ordered

    def _move(self, vector: Any, k: int | None = None) -> None:
        """Launches, on the copy stream, the exchange of elements of a vector, of segments the first k."""
        self._transport.launch(self._moves.pack(vector, vector, k))
        self._moves.unpack(vector, k)

    def _move_shares(self, y: Any) -> None:
        """Launches the exchange of what members have of rows of y that others own; `_add_shares` comes next."""
        self._member.start()
        self._transport.launch(self._share_moves.pack(y, self._inbox))
        self._member.wait()

    def _add_shares(self, y: Any) -> None:
        """Launches the sum of what has arrived and of the last row that this member owns."""
        last = y[self._member.halo.own.stop - 1 : self._member.halo.own.stop]
        for share in self._shares:
            if share.target == self._number:
                self._device.call(self._device.operations.add, last, self._inbox[share.here], None)

    def _tell(self, sums: Any) -> None:
        """Launches the exchange of SUMS numbers; once they are there, host_sums has those of all, member by member."""
        stream, begin = self._member.copy_stream, SUMS * self._number
        self._member.start()
        stream.fetch(sums, self._told[begin : begin + SUMS])
        self._transport.launch(self._sum_moves)
        stream.download(self._told, self._host_sums)
        self._member.wait()

    def _launch(self, key: Hashable, function: Callable[[], None], times: int = 1) -> None:
        """Launches function() so many times; as a replay where nothing of it waits on the host."""
        if self._transport.ordered:
            self._replays.launch(key, function, times)
            return
        for _ in range(times):
            function()

    def _sum_transfers(self) -> list[Transfer]:
        others = [other for other in range(self._count) if other != self._number]
        pairs = [pair for other in others for pair in ((self._number, other), (other, self._number))]
        return [Transfer(source, target, SUMS * source, SUMS * (source + 1), SUMS * source) for source, target in pairs]


@dataclass(frozen=True, slots=True)
class Peer:
    """A member on an actor, as an Endpoint calls it: `peer.deliver.options(…).remote(…)`."""

    actor: Any
    key: str

    @property
    def deliver(self) -> "Peer":
        """What takes messages."""
        return self

    def options(self, concurrency_group: str) -> Any:
        """The call in that thread of its actor."""
        call = self.actor.deliver.options(concurrency_group=concurrency_group)
        return SimpleNamespace(remote=partial(call.remote, self.key))


class MemberActor:
    """A process with one device and, side by side, a member of each team that it is in.

    `deliver` and `ping` run in a thread of their own beside the other calls.
    """

    def __init__(self, put: Callable[[Any], Any]) -> None:
        self._put = put
        self._members: dict[str, Any] = {}

    def open(self, open_device: Callable[[str], Device], name: str) -> None:
        """Opens its device, which all of its members use by turns."""
        self._device = open_device(name)

    def start(self, key: str, kind: Callable[..., TeamMember]) -> None:
        """A new member."""
        self._members[key] = kind(self._device, self._put)

    def call(self, key: str, method: str, *arguments: Any) -> Any:
        """What a method of a member returns."""
        return getattr(self._members[key], method)(*arguments)

    def drop(self, key: str) -> None:
        """Gives back what a member holds."""
        if key in self._members:
            self._members.pop(key).close()

    def new_rendezvous_id(self, transport: TransportName) -> Any:
        """What the members of a team need to find each other."""
        return TRANSPORTS[transport].new_rendezvous_id()

    def deliver(self, key: str, exchange: int, source: int, values: Any) -> None:
        """Takes what a member elsewhere has sent to one here."""
        self._members[key].deliver(exchange, source, values)

    def ping(self) -> None:
        """Answers, whatever the device is doing."""
