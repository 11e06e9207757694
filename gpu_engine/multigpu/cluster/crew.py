"""Cluster: the devices of several hosts; Crew: an actor on each; Team: members on some of them, for one setting."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from gpu_engine.errors import DeviceError, HostLostError, ParameterError, SparsightError
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.cluster.actors import Actors
from gpu_engine.multigpu.cluster.member import MemberActor, PartInfo, Peer, TeamMember
from gpu_engine.multigpu.cluster.transport import TransportName
from gpu_engine.multigpu.exchange import Transfer, plan_shares, plan_transfers
from gpu_engine.multigpu.partition import Span
from gpu_engine.multigpu.placement import Place, Resource, find_places
from gpu_engine.multigpu.virtual import VirtualDevice
from gpu_engine.records import DeviceInfo

CLUSTER = "cluster"
"""The device that is the devices of several hosts."""

RANGE = 2**22
"""Elements that are on their way to or from a member at a time: 32 MB of a vector."""

LIMIT_S = 600.0
"""How long actors may be silent: longer than a run, or reading a part, takes."""


def open_device(name: str) -> Device:
    """The device of this process: `virtual:…`, or `cuda:…`, of which Ray shows a process only its own."""
    if name.startswith("cuda"):
        from gpu_engine.multigpu.cuda_device import CudaDevice

        return CudaDevice(0)
    return VirtualDevice(name)


@dataclass(frozen=True)
class Cluster:
    """What a study needs to measure on several hosts.

    ray        the module, which has joined the cluster
    places     all devices, those of a host in a row
    folder_of  id of a matrix → its folder, at the same path on all hosts
    """

    ray: Any
    places: tuple[Place, ...]
    transport: TransportName
    folder_of: Callable[[str], Path]
    open_device: Callable[[str], Device] = open_device
    limit_s: float = LIMIT_S


def find_hosts(ray: Any, resource: Resource, groups: int = 0) -> tuple[Place, ...]:
    """The devices of the cluster that Ray has joined; none where they are not those of two hosts at least.

    groups  into so many actor groups of equal size this host is divided, each of which stands for one; 0: hosts as
            they are
    Raises UnavailableError where there is no such device at all.
    """
    places = find_places(ray, resource)
    if groups:
        here = ray.get_runtime_context().get_node_id()
        mine = [place for place in places if place.node == here]
        size = len(mine) // groups
        if not size:
            return ()
        places = tuple(
            replace(place, host=f"{place.host}.{i // size}") for i, place in enumerate(mine[: groups * size])
        )
    return places if len({place.host for place in places}) > 1 else ()


def describe(places: Sequence[Place], own: DeviceInfo) -> DeviceInfo:
    """The cluster of these places as a device; own: what stands for each of its devices, on the host that drives."""
    hosts = [(host, len(list(of_host))) for host, of_host in groupby(places, lambda place: place.host)]
    kind = own.name if own.backend == "cuda" else "virtual device"
    return replace(
        own,
        id=CLUSTER,
        name=f"{len(places)} × {kind} on {len(hosts)} hosts",
        details={**own.details, "hosts": ", ".join(f"{host}: {count}" for host, count in hosts)},
        hosts=tuple(count for _, count in hosts),
    )


class Crew(Actors):
    """An actor on each place, all of them started; `close` ends them. Every method raises HostLostError."""

    def __init__(self, cluster: Cluster, places: Sequence[Place]) -> None:
        super().__init__(cluster.ray, MemberActor, places, cluster.limit_s)
        self.cluster = cluster
        opened = (
            actor.open.remote(cluster.open_device, place.device)
            for actor, place in zip(self._actors, places, strict=True)
        )
        try:
            self._all("starting", opened, range(len(places)))
        except BaseException:
            self.close()
            raise

    def team(self, key: str, count: int, kind: Callable[..., TeamMember]) -> "Team":
        """A new team on so many places; raises ParameterError where there are fewer.

        key  what it does, as errors say it: no two teams at a time do the same
        """
        if not 1 <= count <= len(self.places):
            raise ParameterError(
                f"{count} devices are to share the matrix; the cluster has {len(self.places)}. "
                f"Choose 1 to {len(self.places)}."
            )
        return Team(self, key, _spread(self.places, count), kind)

    def call(self, key: str, numbers: Sequence[int], method: str, arguments: Sequence[Sequence[Any]]) -> list[Any]:
        """What members answer that have a method called, each with its own arguments."""
        calls = [self._actors[i].call.remote(key, method, *own) for i, own in zip(numbers, arguments, strict=True)]
        return self._all(key, calls, numbers)

    def start(self, key: str, numbers: Sequence[int], kind: Callable[..., TeamMember]) -> None:
        """A new member on each of these actors."""
        self._all("starting", [self._actors[i].start.remote(key, kind) for i in numbers], numbers)

    def drop(self, key: str, numbers: Sequence[int]) -> None:
        """Gives back what the members hold."""
        self._all("ending", [self._actors[i].drop.remote(key) for i in numbers], numbers)

    def peers(self, key: str, numbers: Sequence[int]) -> tuple[Peer, ...]:
        """The members as others call them."""
        return tuple(Peer(self._actors[i], key) for i in numbers)

    def new_rendezvous_id(self, number: int) -> Any:
        """What the members of a team need to find each other, from the actor that is their first."""
        call = self._actors[number].new_rendezvous_id.remote(self.cluster.transport)
        return self._all("meeting", [call], [number])[0]


class Team:
    """A member on each of some actors of a crew, connected once they have their parts.

    places     of its members, in the order of their parts
    spans      their parts
    parts      what each has of the matrix
    transfers  what is fetched in each iteration
    """

    def __init__(self, crew: Crew, key: str, numbers: Sequence[int], kind: Callable[..., TeamMember]) -> None:
        self._crew, self._key, self._numbers = crew, key, tuple(numbers)
        self.places = tuple(crew.places[i] for i in numbers)
        self.spans: tuple[Span, ...] = ()
        self.parts: tuple[PartInfo, ...] = ()
        self.transfers: tuple[Transfer, ...] = ()
        crew.start(key, numbers, kind)

    def load_parts(self, spans: Sequence[Span], *common: Any) -> None:
        """Has each member load its part, then all of them find each other.

        common  what `load_part` of their kind takes beside the spans and the number of the member
        """
        self.spans = tuple(spans)
        arguments = [(self.spans, number, *common) for number in range(len(spans))]
        self.parts = tuple(self._crew.call(self._key, self._numbers, "load_part", arguments))
        halos = [part.halo for part in self.parts]
        self.transfers, shares = plan_transfers(spans, halos), plan_shares(spans, halos)
        rendezvous_id = self._crew.new_rendezvous_id(self._numbers[0])
        peers = self._crew.peers(self._key, self._numbers)
        by_member = ([t for t in self.transfers if i in (t.source, t.target)] for i in range(len(peers)))
        meeting = self._crew.cluster.transport, rendezvous_id
        self._together("connect", [(*meeting, i, peers, transfers, shares) for i, transfers in enumerate(by_member)])

    def each(self, method: str, *arguments: Any) -> list[Any]:
        """What all members answer; raises what one of them does, which keeps nobody waiting."""
        return self._crew.call(self._key, self._numbers, method, [arguments] * len(self._numbers))

    def together(self, method: str, *arguments: Any) -> list[Any]:
        """What all members answer that exchange; one that fails leaves the others waiting: then it is DeviceError."""
        return self._together(method, [arguments] * len(self._numbers))

    def send(self, number: int, method: str, *arguments: Any) -> Any:
        """What one member answers."""
        return self._crew.call(self._key, self._numbers[number : number + 1], method, [arguments])[0]

    def load(self, x: Any) -> None:
        """Sends each member what it owns of x, float64 [n] on the host, range by range."""
        for number, begin, end in self._ranges():
            self.send(number, "load", begin, np.array(x[begin:end]))

    def read(self, x: Any) -> None:
        """Copies a vector to x, float64 [n] on the host, range by range from those that own it."""
        for number, begin, end in self._ranges():
            x[begin:end] = self.send(number, "read", begin, end)

    def drop(self) -> None:
        """Gives back what the members hold."""
        self._crew.drop(self._key, self._numbers)

    def _ranges(self) -> Iterator[tuple[int, int, int]]:
        """(member, begin, end) of pieces of a vector, in its order."""
        for number, span in enumerate(self.spans):
            for begin in range(span.own.start, span.own.stop, RANGE):
                yield number, begin, min(begin + RANGE, span.own.stop)

    def _together(self, method: str, arguments: Sequence[Sequence[Any]]) -> list[Any]:
        try:
            return self._crew.call(self._key, self._numbers, method, arguments)
        except HostLostError:
            raise
        except SparsightError as error:
            raise DeviceError(f"A device of the cluster failed while {self._key}: {error.message}") from error


@contextmanager
def open_crew(cluster: Cluster, count: int) -> Iterator[Crew]:
    """A crew on so many places of the cluster, or on all; its actors end with the block."""
    chosen = _spread(cluster.places, min(count, len(cluster.places)))
    crew = Crew(cluster, [cluster.places[i] for i in chosen])
    try:
        yield crew
    finally:
        crew.close()


def _spread(places: Sequence[Place], count: int) -> tuple[int, ...]:
    """The numbers of so many places, the same number on each host where possible, in their order."""
    ranks: list[tuple[int, int]] = []
    for _, of_host in groupby(enumerate(places), lambda each: each[1].host):
        ranks += [(rank, number) for rank, (number, _) in enumerate(of_host)]
    return tuple(sorted(number for _, number in sorted(ranks)[:count]))
