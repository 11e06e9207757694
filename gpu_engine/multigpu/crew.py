"""Cluster: the devices of several hosts; Crew: an actor on each; Team: members on some of them, for one setting."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from gpu_engine.errors import DeviceError, DeviceLostError, HostLostError, ParameterError, SparsightError
from gpu_engine.multigpu.actor_group import Actors, ActorsLostError
from gpu_engine.multigpu.actors import open_device
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.cluster_member import MemberActor, Peer, TeamMember
from gpu_engine.multigpu.exchange import Transfer
from gpu_engine.multigpu.partition import Span
from gpu_engine.multigpu.placement import Place, Resource, find_places
from gpu_engine.multigpu.transport import TransportName
from gpu_engine.records import DeviceInfo

CLUSTER = "cluster"
"""The device that is the devices of several hosts."""

RANGE = 2**22
"""Elements that are on their way to or from a member at a time: 32 MB of a vector."""

LIMIT_S = 600.0
"""How long actors may be silent: longer than a run, or reading a part, takes."""


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
        self.cluster, self.places = cluster, tuple(places)
        with self._told("starting"):
            self._all(
                actor.open.remote(cluster.open_device, place.device)
                for actor, place in zip(self._actors, places, strict=True)
            )

    def team(self, key: str, count: int, kind: Callable[..., TeamMember]) -> "Team":
        """A new team on so many places; raises ParameterError where there are fewer."""
        if not 1 <= count <= len(self.places):
            raise ParameterError(
                f"{count} devices are to share the matrix; the cluster has {len(self.places)}. "
                f"Choose 1 to {len(self.places)}."
            )
        return Team(self, key, _spread(self.places, count), kind)

    def call(self, key: str, numbers: Sequence[int], method: str, arguments: Sequence[Sequence[Any]]) -> list[Any]:
        """What members answer that have a method called, each with its own arguments."""
        with self._told(f"measuring {key}"):
            calls = [self._actors[i].call.remote(key, method, *own) for i, own in zip(numbers, arguments, strict=True)]
            return self._all(calls, numbers)

    def start(self, key: str, numbers: Sequence[int], kind: Callable[..., TeamMember]) -> None:
        """A new member on each of these actors."""
        with self._told("starting"):
            self._all([self._actors[i].start.remote(key, kind) for i in numbers], numbers)

    def drop(self, key: str, numbers: Sequence[int]) -> None:
        """Gives back what the members hold."""
        with self._told("ending"):
            self._all([self._actors[i].drop.remote(key) for i in numbers], numbers)

    def peers(self, key: str, numbers: Sequence[int]) -> tuple[Peer, ...]:
        """The members as others call them."""
        return tuple(Peer(self._actors[i], key) for i in numbers)

    def new_rendezvous_id(self, number: int) -> Any:
        """What the members of a team need to find each other, from the actor that is their first."""
        with self._told("meeting"):
            return self._one(number, self._actors[number].new_rendezvous_id.remote(self.cluster.transport))

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Says in the words of the tree what was lost, and while what was done."""
        try:
            yield
        except ActorsLostError as lost:
            names = ", ".join(str(place) for place in lost.places)
            hosts = tuple(dict.fromkeys(place.host for place in lost.places))
            raise HostLostError(
                f"Lost while {what}: {names}. {lost} What was measured before is kept. Mend the host, or leave it out, "
                "and start the job again.",
                hosts,
            ) from lost
        except DeviceLostError as error:
            raise HostLostError(f"Lost while {what}: {error.message}") from error


class Team:
    """A member on each of some actors of a crew, connected once they have their parts.

    places     of its members, in the order of their parts
    transfers  what is fetched in each iteration
    """

    def __init__(self, crew: Crew, key: str, numbers: Sequence[int], kind: Callable[..., TeamMember]) -> None:
        self._crew, self._key, self._numbers = crew, key, tuple(numbers)
        self.places = tuple(crew.places[i] for i in numbers)
        self.transfers: tuple[Transfer, ...] = ()
        crew.start(key, numbers, kind)

    def each(self, method: str, *arguments: Sequence[Any]) -> list[Any]:
        """What all members answer, each called with its own of every argument; one that fails keeps nobody waiting."""
        return self._crew.call(self._key, self._numbers, method, list(zip(*arguments, strict=True)))

    def together(self, method: str, *arguments: Any) -> list[Any]:
        """The same of what they do together; one that fails leaves the others waiting: then it is DeviceError."""
        return self._together(method, [arguments] * len(self._numbers))

    def connect(self, transfers: Sequence[Transfer]) -> None:
        """Has the members find each other; transfers: of the whole team."""
        self.transfers = tuple(transfers)
        crew, numbers = self._crew, self._numbers
        rendezvous_id, peers = crew.new_rendezvous_id(numbers[0]), crew.peers(self._key, numbers)
        common = (crew.cluster.transport, rendezvous_id)
        own = (
            [each for each in self.transfers if number in (each.source, each.target)] for number in range(len(numbers))
        )
        self._together("connect", [(*common, number, peers, each) for number, each in enumerate(own)])

    def send(self, number: int, method: str, *arguments: Any) -> Any:
        """What one member answers."""
        return self._crew.call(self._key, self._numbers[number : number + 1], method, [arguments])[0]

    def read(self, spans: Sequence[Span], x: Any) -> None:
        """Copies a vector to x, float64 [n] on the host, range by range from those that own it."""
        for number, begin, end in ranges(spans):
            x[begin:end] = self.send(number, "read", begin, end)

    def drop(self) -> None:
        """Gives back what the members hold."""
        self._crew.drop(self._key, self._numbers)

    def _together(self, method: str, arguments: Sequence[Sequence[Any]]) -> list[Any]:
        try:
            return self._crew.call(self._key, self._numbers, method, arguments)
        except HostLostError:
            raise
        except SparsightError as error:
            raise DeviceError(f"A device of the cluster failed in {self._key}: {error.message}") from error


def ranges(spans: Sequence[Span]) -> Iterator[tuple[int, int, int]]:
    """(member, begin, end) of pieces of a vector, in its order."""
    for number, span in enumerate(spans):
        for begin in range(span.own.start, span.own.stop, RANGE):
            yield number, begin, min(begin + RANGE, span.own.stop)


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
