"""PageRank over several devices: each owns pages, and fetches of the others' ranks what its links read, as they do.

Pages are cut so that devices have nearly equal links; the links to a page stay together, for its rank is
truncated only when its sum is whole. γ, the rank of dangling pages and ‖p‖₁ are sums over the devices, added up on the
host, which waits for them in every iteration: nothing of an iteration runs into the next one. What it launches in
between is captured once for each precision.
Source: CPMS PageRank paper, Algorithm 1 and §IV.B; MSREP paper, §3.2.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpu_engine import cpms
from gpu_engine.cpms import Segmented
from gpu_engine.cpms.layout import group_size
from gpu_engine.errors import ParameterError
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.blocks import Block
from gpu_engine.multigpu.exchange import ExchangeName, halo_of, plan_transfers
from gpu_engine.multigpu.fetches import Fetches
from gpu_engine.multigpu.iteration import iterate
from gpu_engine.multigpu.operations import Update
from gpu_engine.multigpu.partition import localize, part_of
from gpu_engine.multigpu.replay import Replays
from gpu_engine.multigpu.shards import PARTITIONING, shard_of, whole_rows
from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix


class DistributedRanks:
    """The state of a run on several devices; see `run.Ranks`. `settle` waits for all devices.

    spans      where the links of each device lie
    transfers  what is fetched in each iteration
    exchanges  whether a pull fetches what it reads, instead of taking what `exchange` fetched before
    """

    scales = True

    def __init__(
        self,
        graph: TransitionMatrix,
        params: PageRankParams,
        devices: Sequence[Device],
        segments: int = 0,
        exchange: ExchangeName = "image",
        overlap: bool = False,
    ) -> None:
        """Copies links and values to the devices.

        segments  2, 4, or 0 for fp64 throughout
        overlap   follows the links from a device's own pages while the other ranks arrive

        Raises ParameterError where there is no device, or GPUs among virtual ones.
        """
        if len({device.virtual for device in devices}) != 1:
            names = ", ".join(device.name for device in devices) or "no device"
            raise ParameterError(f"PageRank runs on GPUs or on virtual devices; there is {names}. Choose one kind.")
        self._graph, self._params, self._segments = graph, params, segments
        stored = PARTITIONING.store(graph.pull)
        self.spans = whole_rows(stored, len(devices))
        parts = [part_of(stored, span, localize(stored, span)) for span in self.spans]
        # Blocks of segments are copied to the same places of theirs.
        align = group_size(segments) if segments else 1
        halos = [halo_of(self.spans, i, part, graph.n, exchange, align) for i, part in enumerate(parts)]
        self.transfers = plan_transfers(self.spans, halos)
        self._shards = [
            shard_of(device, part, halo, graph, segments, overlap)
            for device, part, halo in zip(devices, parts, halos, strict=True)
        ]
        self._members = [shard.member for shard in self._shards]
        copy_streams = [member.copy_stream for member in self._members]
        self._fetches = Fetches(copy_streams, self.transfers, segments)
        self._replays = Replays([*devices, *copy_streams])
        self._is_fp64, self._written, self._turn = not segments, segments, 0
        self._dangling_rank = self._gamma = 0.0
        self.exchanges = True

    def exchanged_bytes(self, read: int) -> int:
        """Bytes of ranks that cross between devices in an iteration that reads so many segments."""
        return self._fetches.exchanged_bytes(read if read < self._segments else None)

    def reset(self, first: int = 1) -> None:
        """p := e/n in the first segments."""
        self.synchronize()
        start = 1.0 / max(self._graph.n, 1)
        for shard in self._shards:
            operations = shard.device.operations
            for block in shard.member.blocks if self._segments and self._is_fp64 else ():
                shard.device.call(operations.to_segments, block.values)
            shard.device.call(operations.fill, shard.p, start, first)
        self.synchronize()
        if self._segments:
            self._is_fp64 = False
            one = cpms.allocate(1, self._segments)
            cpms.write(one, np.full(1, start), first)
            start = float(cpms.read(one, first)[0])
        self._written = first
        if first == self._segments:
            self.convert()
        self._dangling_rank = start * self._graph.dangling.size

    def rewinder(self, first: int = 1) -> Callable[[], None]:
        """A reset."""
        return lambda: self.reset(first)

    def exchange(self, read: int) -> None:
        """Launches the exchange of what an iteration reads."""
        self._replays.launch(("exchange", read, self._is_fp64, self._turn), lambda: self._exchange(read))

    def pull(self, read: int, write: int) -> None:
        """Launches the exchange of the ranks and the new ranks of one iteration on all devices."""
        params = self._params
        for shard in self._shards:
            shard.host_base[0] = (1.0 - params.damping + params.dangling_factor * self._dangling_rank) / max(
                self._graph.n, 1
            )
        step = "pull", read, write, self._is_fp64, self._turn, self.exchanges
        self._replays.launch(step, lambda: self._pull(read, write))
        for shard in self._shards:
            shard.p, shard.new = shard.new, shard.p
        self._turn, self._written = 1 - self._turn, write

    def settle(self) -> None:
        """γ and the rank of dangling pages, from the sums of the devices."""
        gammas, self._dangling_rank = self._sums()
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
        if self._is_fp64:
            return
        self._scale_by(1.0, k)
        total = math.fsum(self._sums()[0])
        if total > 0.0:
            self._scale_by(1.0 / total, k)
            self._dangling_rank = self._sums()[1]

    def convert(self) -> None:
        """Everything into fp64, in the same memory."""
        if self._is_fp64:
            return
        for shard in self._shards:
            for vector in (*(block.values for block in shard.member.blocks), shard.p, shard.new):
                shard.device.call(shard.device.operations.to_ieee, vector)
        self.synchronize()
        self._is_fp64 = True

    def ranks(self) -> Any:
        """A copy of p: float64 [n], truncated to what was written last."""
        p = np.empty(self._graph.n)
        for shard in self._shards:
            copy_own = shard.device.operations.copy_own
            shard.device.call(copy_own, self._view(shard.p), shard.own, self._written, shard.totals)
            shard.device.download(shard.totals, p[shard.pages])
        self.synchronize()
        return p

    def gather(self) -> None:
        """There is no probe of several devices."""
        return

    @property
    def stored_bytes(self) -> int:
        """The matrix as stored and all rank vectors, on all devices together."""
        return sum(shard.stored_bytes for shard in self._shards)

    def _exchange(self, read: int) -> None:
        for member in self._members:
            member.start()
        self._fetch(read)

    def _fetch(self, read: int) -> None:
        # The host waits in every iteration: those before are done.
        self._fetches.renew()
        self._fetches.launch([self._view(shard.p) for shard in self._shards], None if self._is_fp64 else read)

    def _pull(self, read: int, write: int) -> None:
        def product(i: int, block: Block, totals: Any) -> None:
            self._multiply(i, block, read, totals)

        exchange = (lambda: self._fetch(read)) if self.exchanges else None
        iterate(self._members, product, [shard.totals for shard in self._shards], exchange)
        for shard in self._shards:
            shard.device.upload(shard.host_base, shard.base)
            p, new = self._view(shard.p), self._view(shard.new)
            damping, norm = self._params.damping, self._params.norm
            update = Update(p, new, shard.own, shard.dangling, read, write, damping, shard.base, norm)
            shard.device.call(shard.device.operations.finish, shard.totals, update, shard.sums)
            shard.device.download(shard.sums[:2], shard.host_sums)

    def _multiply(self, i: int, block: Block, read: int, totals: Any) -> None:
        device, p = self._members[i].device, self._view(self._shards[i].p)
        if self._is_fp64:
            device.call(device.operations.multiply, PARTITIONING, block.part, p, totals)
        else:
            device.call(device.operations.follow, block.part, block.values, p, read, totals)

    def _view(self, vector: Any) -> Any:
        """The vector as it is at present: in segments, or as the numbers that lie in their place."""
        return vector.storage[: vector.n] if self._is_fp64 and isinstance(vector, Segmented) else vector

    def _scale_by(self, factor: float, k: int) -> None:
        for shard in self._shards:
            scale, rest = shard.device.operations.scale, (shard.totals, shard.sums)
            shard.device.call(scale, shard.p, shard.own, shard.dangling, factor, k, *rest)
            shard.device.download(shard.sums[:2], shard.host_sums)

    def _sums(self) -> tuple[list[float], float]:
        """The sums of the devices: the first of each, and the sum of the second."""
        self.synchronize()
        return [float(shard.host_sums[0]) for shard in self._shards], math.fsum(
            shard.host_sums[1] for shard in self._shards
        )

    def synchronize(self) -> None:
        """Waits for all that was launched."""
        for member in self._members:
            member.synchronize()
