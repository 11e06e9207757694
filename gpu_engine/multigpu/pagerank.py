"""PageRank over several devices: each owns pages, and fetches of the others' ranks what its links read, as they do.

Pages are cut so that devices have nearly equal links; the links to a page stay together, for its rank is cut to
segments only when its sum is whole. γ, the rank of dangling pages and ‖p‖₁ are sums over the devices, added up on the
host, which waits for them in every iteration: nothing of an iteration runs into the next one.
Source: CPMS PageRank paper, Algorithm 1 and §IV.B; MSREP paper, §3.2.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine import cpms
from gpu_engine.cpms import Segmented
from gpu_engine.errors import ParameterError
from gpu_engine.multigpu.base import Device, Prepared
from gpu_engine.multigpu.cut import cut_by_entries
from gpu_engine.multigpu.exchange import EXCHANGES, ExchangeName, plan, sent
from gpu_engine.multigpu.partition import Part, Span, StoredMatrix, find_partitioning, localize, part_of
from gpu_engine.multigpu.rank_steps import Update, fill, steps_of
from gpu_engine.multigpu.segments import SegmentExchange
from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix

PARTITIONING = find_partitioning("pCSR")


@dataclass(slots=True)
class Shard:
    """What one device has; ranks are as long as the graph, and hold its own pages and those that it has fetched.

    part      the links to its pages, without their values; links: the same, as its device multiplies them
    values    of its links: float64 [links], or in segments
    p, new    ranks, of which `new` are being written: float64 [n], or in segments
    dangling  int64, its dangling pages, counted from its first page
    totals    float64 [pages], what flows along the links to each
    sums      float64 [2] on the device: γ (squared in L2) or Σ|p|, and the rank of its dangling pages
    found     the same on the host
    """

    device: Device
    part: Part
    links: Prepared
    values: Any
    p: Any
    new: Any
    dangling: Any
    totals: Any
    sums: Any
    found: Any

    @property
    def own(self) -> slice:
        """Its pages."""
        return self.part.span.own


class DistributedRanks:
    """The state of a run on several devices; see `run.Ranks`. `settle` waits for all devices."""

    def __init__(
        self,
        graph: TransitionMatrix,
        params: PageRankParams,
        devices: Sequence[Device],
        segments: int = 0,
        exchange: ExchangeName = "image",
    ) -> None:
        """Copies links and values to the devices; segments: 2, 4, or 0 for fp64 throughout.

        Raises ParameterError where there is no device, or GPUs among virtual ones.
        """
        if len({device.virtual for device in devices}) != 1:
            names = ", ".join(device.name for device in devices) or "no device"
            raise ParameterError(f"PageRank runs on GPUs or on virtual devices; there is {names}. Choose one kind.")
        self._steps = steps_of(devices[0].virtual)
        self._graph, self._params, self._segments = graph, params, segments
        stored = PARTITIONING.store(graph.pull)
        spans = whole_rows(stored, len(devices))
        parts = [part_of(stored, span, localize(stored, span)) for span in spans]
        self.transfers = plan(spans, [EXCHANGES[exchange](part, graph.n) for part in parts])
        self._shards = [self._shard(device, part) for device, part in zip(devices, parts, strict=True)]
        self._segment_exchange = SegmentExchange(devices, spans, self.transfers, segments) if segments else None
        self._plain, self._written = not segments, segments
        self._lost = self._gamma = 0.0

    def exchanged_bytes(self, read: int) -> int:
        """Bytes of ranks that cross between devices in an iteration that reads so many segments."""
        if self._segment_exchange is not None and read < self._segments:
            return self._segment_exchange.exchanged_bytes(read)
        return sum(transfer.elements for transfer in self.transfers) * np.dtype(np.float64).itemsize

    def reset(self, first: int = 1) -> None:
        """p := e/n in the first segments."""
        self.synchronize()
        start = np.full(self._graph.n, 1.0 / max(self._graph.n, 1))
        if self._segments:
            for shard in self._shards:
                if self._plain:
                    shard.device.call(self._steps.to_segments, shard.values)
                shard.device.call(fill, shard.p, start[0] if start.size else 0.0, first)
            self.synchronize()
            self._plain = False
            start = cpms.read(_in_segments(start, self._segments), first)
        else:
            for shard in self._shards:
                shard.device.upload(start, shard.p)
            self.synchronize()
        self._written = first
        if first == self._segments:
            self.convert()
        self._lost = float(start[0]) * self._graph.dangling.size if start.size else 0.0

    def rewinder(self, first: int = 1) -> Callable[[], None]:
        """A reset."""
        return lambda: self.reset(first)

    def exchange(self, read: int) -> None:
        """Launches the exchange of what an iteration reads."""
        if not self._plain and self._segment_exchange is not None:
            self._segment_exchange.launch([shard.p for shard in self._shards], read)
            return
        for transfer in self.transfers:
            target, piece = self._shards[transfer.target], slice(transfer.begin, transfer.end)
            there, here = (self._now(shard.p) for shard in (self._shards[transfer.source], target))
            target.device.fetch(there[piece], here[piece])

    def pull(self, read: int, write: int) -> None:
        """Launches the exchange of the ranks and the new ranks of one iteration on all devices."""
        self.exchange(read)
        params = self._params
        base = (1.0 - params.damping + params.dangling_factor * self._lost) / max(self._graph.n, 1)
        for shard in self._shards:
            values, p, new = (self._now(vector) for vector in (shard.values, shard.p, shard.new))
            if self._plain:
                shard.device.multiply(PARTITIONING, shard.links.with_values(values), p, shard.totals)
            else:
                shard.device.call(self._steps.multiply_segments, shard.links, values, p, read, shard.totals)
            update = Update(p, new, shard.own, shard.dangling, read, write, params.damping, base, params.norm)
            shard.device.call(self._steps.finish, shard.totals, update, shard.sums)
            shard.p, shard.new = shard.new, shard.p
        self._download_sums()
        self._written = write

    def settle(self) -> None:
        """γ and the rank of dangling pages, from the sums of the devices."""
        gammas, self._lost = self._sums()
        if self._params.norm == "Linf":
            self._gamma = max(gammas)
        else:
            gamma = math.fsum(gammas)
            self._gamma = math.sqrt(gamma) if self._params.norm == "L2" else gamma

    def gamma(self) -> float:
        """γ of the values as they were stored."""
        return self._gamma

    def scale(self, k: int) -> None:
        """Scales the ranks, written in k segments, to ‖p‖₁ = 1, in two passes: Σ|p|, then the scaling."""
        if self._plain:
            return
        self._scale_by(1.0, k)
        total = math.fsum(self._sums()[0])
        if total > 0.0:
            self._scale_by(1.0 / total, k)
            self._lost = self._sums()[1]

    def convert(self) -> None:
        """Everything into fp64, in the same memory."""
        if self._plain:
            return
        for shard in self._shards:
            for vector in (shard.values, shard.p, shard.new):
                shard.device.call(self._steps.to_ieee, vector)
        self.synchronize()
        self._plain = True

    def ranks(self) -> Any:
        """A copy of p: float64 [n], cut to what was written last."""
        p = np.empty(self._graph.n)
        for shard in self._shards:
            shard.device.call(self._steps.copy_own, self._now(shard.p), shard.own, self._written, shard.totals)
            shard.device.download(shard.totals, p[shard.own])
        self.synchronize()
        return p

    def gather(self) -> None:
        """There is no probe of several devices."""
        return

    @property
    def stored_bytes(self) -> int:
        """The matrix as stored and all rank vectors, on all devices together."""
        return sum(
            int((vector.storage if isinstance(vector, Segmented) else vector).nbytes)
            for shard in self._shards
            for vector in (shard.part.major, shard.part.minor, shard.values, shard.p, shard.new)
        )

    def _shard(self, device: Device, part: Part) -> Shard:
        own, n = part.span.own, self._graph.n
        dangling = self._graph.dangling.astype(np.int64)
        inside = dangling[(dangling >= own.start) & (dangling < own.stop)] - own.start
        links = sent(device, dataclasses.replace(part, values=np.empty(0)))
        values, p, new = (self._stored(device, vector) for vector in (part.values, np.zeros(n), np.zeros(n)))
        room = (device.allocate(own.stop - own.start, np.float64), device.allocate(2, np.float64), np.zeros(2))
        prepared = device.prepare(PARTITIONING, links, n)
        return Shard(device, links, prepared, values, p, new, _copied(device, inside), *room)

    def _stored(self, device: Device, values: Any) -> Any:
        """A copy on the device, in segments if the ranks are."""
        if not self._segments:
            return _copied(device, values)
        storage = _copied(device, _in_segments(values, self._segments).storage)
        return Segmented(storage, values.size, self._segments)

    def _now(self, vector: Any) -> Any:
        """The vector as it is at present: in segments, or as the numbers that lie in their place."""
        return vector.storage[: vector.n] if self._plain and isinstance(vector, Segmented) else vector

    def _scale_by(self, factor: float, k: int) -> None:
        for shard in self._shards:
            scale, rest = self._steps.scale_segments, (shard.totals, shard.sums)
            shard.device.call(scale, shard.p, shard.own, shard.dangling, factor, k, *rest)
        self._download_sums()

    def _download_sums(self) -> None:
        # After all launches: a copy to memory that is not pinned keeps the host waiting.
        for shard in self._shards:
            shard.device.download(shard.sums, shard.found)

    def _sums(self) -> tuple[list[float], float]:
        """What the devices have found: the first of each, and the sum of the second."""
        self.synchronize()
        return [float(shard.found[0]) for shard in self._shards], math.fsum(shard.found[1] for shard in self._shards)

    def synchronize(self) -> None:
        """Waits for all that was launched."""
        for shard in self._shards:
            shard.device.synchronize()


def whole_rows(stored: StoredMatrix, parts: int) -> tuple[Span, ...]:
    """Parts of nearly equal entries: each has all entries of the rows that begin in it if they were cut equally."""
    rows = [span.own for span in cut_by_entries(stored, (parts,))]
    places = [(int(stored.major[own.start]), int(stored.major[own.stop])) for own in rows]
    return tuple(
        Span(start, end, own.start, own.stop, start_flag=False) for own, (start, end) in zip(rows, places, strict=True)
    )


def _in_segments(values: Any, segments: int) -> Segmented:
    vector = cpms.allocate(values.size, segments)
    cpms.write(vector, values, segments)
    return vector


def _copied(device: Device, host: Any) -> Any:
    array = device.allocate(host.size, host.dtype)
    device.upload(host, array)
    device.synchronize()
    return array
