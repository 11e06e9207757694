"""Actors of a cluster: its devices, one actor per device, and the actors that run one case."""

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
from gpu_engine.multigpu.cluster.member import CaseActor, MemberActor, PartInfo, Peer
from gpu_engine.multigpu.cluster.transport import TransportName
from gpu_engine.multigpu.exchange import Transfer, plan_shares, plan_transfers
from gpu_engine.multigpu.partition import Span
from gpu_engine.multigpu.placement import DeviceSlot, Resource, find_places
from gpu_engine.multigpu.virtual import VirtualDevice
from gpu_engine.records import DeviceInfo

CLUSTER = "cluster"
"""Id of the device that stands for the devices of several hosts."""

RANGE = 2**22
"""Vector elements transferred at a time to or from an actor: 32 MB."""

LIMIT_S = 600.0
"""Seconds within which a call to an actor must return; longer than a run or loading a partition takes."""


def open_device(name: str) -> Device:
    """Return the device of this process by name: `virtual:…`, or `cuda:…`, of which Ray shows a process only one."""
    if name.startswith("cuda"):
        from gpu_engine.multigpu.cuda_device import CudaDevice

        return CudaDevice(0)
    return VirtualDevice(name)


@dataclass(frozen=True)
class Cluster:
    """Cluster on which a study measures.

    ray        module `ray`, connected to the cluster
    places     device slots, grouped by host
    folder_of  function id of a matrix → its folder, at the same path on all hosts
    limit_s    seconds within which a call to an actor must return
    """

    ray: Any
    places: tuple[DeviceSlot, ...]
    transport: TransportName
    folder_of: Callable[[str], Path]
    open_device: Callable[[str], Device] = open_device
    limit_s: float = LIMIT_S


def find_hosts(ray: Any, resource: Resource, groups: int = 0) -> tuple[DeviceSlot, ...]:
    """Return the devices of the cluster; empty if they belong to fewer than two hosts.

    groups  divide this host into groups of equal size, each of which stands for a host; 0: use the real hosts
    Raises UnavailableError if the cluster has no such device.
    """
    places = find_places(ray, resource)
    if groups:
        this_node = ray.get_runtime_context().get_node_id()
        local_places = [place for place in places if place.node == this_node]
        size = len(local_places) // groups
        if not size:
            return ()
        places = tuple(
            replace(place, host=f"{place.host}.{i // size}") for i, place in enumerate(local_places[: groups * size])
        )
    return places if len({place.host for place in places}) > 1 else ()


def describe(places: Sequence[DeviceSlot], local_device: DeviceInfo) -> DeviceInfo:
    """Return the cluster as one device; `local_device`: a device of the driver host, which stands for all devices."""
    hosts = [(host, len(list(of_host))) for host, of_host in groupby(places, lambda place: place.host)]
    kind = local_device.name if local_device.backend == "cuda" else "virtual device"
    return replace(
        local_device,
        id=CLUSTER,
        name=f"{len(places)} × {kind} on {len(hosts)} hosts",
        details={**local_device.details, "hosts": ", ".join(f"{host}: {count}" for host, count in hosts)},
        hosts=tuple(count for _, count in hosts),
    )


class ActorPool(Actors):
    """Pool with one running actor per device slot; `close` ends them. Every method can raise HostLostError."""

    def __init__(self, cluster: Cluster, places: Sequence[DeviceSlot]) -> None:
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

    def case_actors(self, key: str, count: int, kind: Callable[..., CaseActor]) -> "CaseActors":
        """Return `count` actors for a new case, spread over the hosts; raise ParameterError if the pool is too small.

        key  activity of the case, as in error messages; unique among the open cases
        """
        if not 1 <= count <= len(self.places):
            raise ParameterError(
                f"Cannot use {count} devices: the cluster has {len(self.places)}. Choose 1 to {len(self.places)}."
            )
        return CaseActors(self, key, _spread(self.places, count), kind)

    def call(self, key: str, numbers: Sequence[int], method: str, arguments: Sequence[Sequence[Any]]) -> list[Any]:
        """Call a method on several actors, each with separate arguments, and return the results."""
        calls = [
            self._actors[i].call.remote(key, method, *actor_arguments)
            for i, actor_arguments in zip(numbers, arguments, strict=True)
        ]
        return self._all(key, calls, numbers)

    def start(self, key: str, numbers: Sequence[int], kind: Callable[..., CaseActor]) -> None:
        """Start a case on these actors."""
        self._all("starting", [self._actors[i].start.remote(key, kind) for i in numbers], numbers)

    def drop(self, key: str, numbers: Sequence[int]) -> None:
        """End a case on these actors and free its memory."""
        self._all("ending", [self._actors[i].drop.remote(key) for i in numbers], numbers)

    def peers(self, key: str, numbers: Sequence[int]) -> tuple[Peer, ...]:
        """Return handles with which the actors of a case call each other."""
        return tuple(Peer(self._actors[i], key) for i in numbers)

    def new_rendezvous_id(self, number: int) -> Any:
        """Return the id with which the actors of a case connect, created by the first of them."""
        call = self._actors[number].new_rendezvous_id.remote(self.cluster.transport)
        return self._all("meeting", [call], [number])[0]


class CaseActors:
    """Actors of a pool that run one case, connected after they have loaded their partitions.

    places     device slots of the actors, in the order of their partitions
    spans      positions of the partitions
    parts      loaded partitions
    transfers  halo transfers of each iteration
    """

    def __init__(self, pool: ActorPool, key: str, numbers: Sequence[int], kind: Callable[..., CaseActor]) -> None:
        self._pool, self._key, self._numbers = pool, key, tuple(numbers)
        self.places = tuple(pool.places[i] for i in numbers)
        self.spans: tuple[Span, ...] = ()
        self.parts: tuple[PartInfo, ...] = ()
        self.transfers: tuple[Transfer, ...] = ()
        pool.start(key, numbers, kind)

    def load_parts(self, spans: Sequence[Span], *common: Any) -> None:
        """Let each actor load its partition, then connect all actors.

        common  further arguments of `load_part`, after the spans and the number of the actor
        """
        self.spans = tuple(spans)
        arguments = [(self.spans, number, *common) for number in range(len(spans))]
        self.parts = tuple(self._pool.call(self._key, self._numbers, "load_part", arguments))
        halos = [part.halo for part in self.parts]
        self.transfers, shares = plan_transfers(spans, halos), plan_shares(spans, halos)
        rendezvous_id = self._pool.new_rendezvous_id(self._numbers[0])
        peers = self._pool.peers(self._key, self._numbers)
        by_member = ([t for t in self.transfers if i in (t.source, t.target)] for i in range(len(peers)))
        meeting = self._pool.cluster.transport, rendezvous_id
        self._call_exchanging(
            "connect", [(*meeting, i, peers, transfers, shares) for i, transfers in enumerate(by_member)]
        )

    def each(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method without exchanges on all actors and return the results; raise the error of an actor."""
        return self._pool.call(self._key, self._numbers, method, [arguments] * len(self._numbers))

    def together(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method with exchanges on all actors and return the results.

        Raises DeviceError if an actor fails, because the others then wait for it.
        """
        return self._call_exchanging(method, [arguments] * len(self._numbers))

    def send(self, number: int, method: str, *arguments: Any) -> Any:
        """Call a method on one actor and return the result."""
        return self._pool.call(self._key, self._numbers[number : number + 1], method, [arguments])[0]

    def load(self, x: Any) -> None:
        """Send each actor its elements of x, float64 [n] on the host, range by range."""
        for number, begin, end in self._ranges():
            self.send(number, "load", begin, np.array(x[begin:end]))

    def read(self, x: Any) -> None:
        """Copy the vector of the actors to x, float64 [n] on the host, range by range."""
        for number, begin, end in self._ranges():
            x[begin:end] = self.send(number, "read", begin, end)

    def drop(self) -> None:
        """End the case and free its memory."""
        self._pool.drop(self._key, self._numbers)

    def _ranges(self) -> Iterator[tuple[int, int, int]]:
        """Yield (actor, begin, end) for the pieces of a vector, in order."""
        for number, span in enumerate(self.spans):
            for begin in range(span.owned.start, span.owned.stop, RANGE):
                yield number, begin, min(begin + RANGE, span.owned.stop)

    def _call_exchanging(self, method: str, arguments: Sequence[Sequence[Any]]) -> list[Any]:
        try:
            return self._pool.call(self._key, self._numbers, method, arguments)
        except HostLostError:
            raise
        except SparsightError as error:
            raise DeviceError(f"A device of the cluster failed while {self._key}: {error.message}") from error


@contextmanager
def open_actor_pool(cluster: Cluster, count: int) -> Iterator[ActorPool]:
    """Open a pool with `count` actors, at most one per device slot of the cluster; the actors end with the block."""
    chosen = _spread(cluster.places, min(count, len(cluster.places)))
    pool = ActorPool(cluster, [cluster.places[i] for i in chosen])
    try:
        yield pool
    finally:
        pool.close()


def _spread(places: Sequence[DeviceSlot], count: int) -> tuple[int, ...]:
    """Return the indices of `count` device slots in order, the same number per host if possible."""
    ranks: list[tuple[int, int]] = []
    for _, of_host in groupby(enumerate(places), lambda indexed: indexed[1].host):
        ranks += [(rank, number) for rank, (number, _) in enumerate(of_host)]
    return tuple(sorted(number for _, number in sorted(ranks)[:count]))
