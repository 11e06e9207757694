"""Run of PageRank on several devices, each with its pages, the links to them, and their ranks.

Each device fetches the ranks of other devices that its links read. γ, the rank of dangling pages, and ‖p‖₁ are sums
over all devices. The host waits for them in every iteration, so that iterations do not overlap.
Source: CPMS PageRank paper, Algorithm 1 and §IV.B; MSREP paper, §3.2.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from gpu_engine import cpms
from gpu_engine.cpms import Segmented
from gpu_engine.multigpu.base import Update
from gpu_engine.multigpu.blocks import Block
from gpu_engine.multigpu.graph_shards import PARTITIONING, GraphConstants, Shard
from gpu_engine.multigpu.iteration import iterate
from gpu_engine.pagerank.graph import PageRankParams


class RankState(ABC):
    """State of a PageRank run for the shards of one process; see `run.Ranks`. Subclasses define the communication.

    exchanges  whether `pull` includes the halo exchange; otherwise it uses the halo of the last `exchange`
    """

    scales = True
    exchanges = True
    _graph: GraphConstants
    _params: PageRankParams
    _segments: int
    _shards: tuple[Shard, ...]
    _is_fp64: bool
    _written: int
    _turn: int

    @abstractmethod
    def synchronize(self) -> None:
        """Wait for all launched work and raise its first error."""

    @property
    def stored_bytes(self) -> int:
        """Return the bytes of links and rank vectors of these shards."""
        return sum(shard.stored_bytes for shard in self._shards)

    def reset(self, first: int = 1) -> None:
        """Set p := e/n, written in the leading `first` segments."""
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
        """Return a function that calls `reset`."""
        return lambda: self.reset(first)

    def exchange(self, read: int) -> None:
        """Launch the halo exchange of an iteration that reads `read` segments."""
        self._launch(("exchange", read, self._is_fp64, self._turn), lambda: self._exchange(read))

    def pull(self, read: int, write: int) -> None:
        """Launch the halo exchange, the new ranks of one iteration, and their sums."""
        params = self._params
        for shard in self._shards:
            shard.host_base[0] = (1.0 - params.damping + params.dangling_factor * self._dangling_rank) / max(
                self._graph.n, 1
            )
        step = "pull", read, write, self._is_fp64, self._turn, self.exchanges
        self._launch(step, lambda: self._pull(read, write))
        for shard in self._shards:
            shard.p, shard.new = shard.new, shard.p
        self._turn, self._written = 1 - self._turn, write

    def norm(self) -> None:
        """Compute γ and the rank of dangling pages from the sums of all devices."""
        gammas, self._dangling_rank = self._sums()
        if self._params.norm == "Linf":
            self._gamma = max(gammas)
        else:
            gamma = math.fsum(gammas)
            self._gamma = math.sqrt(gamma) if self._params.norm == "L2" else gamma

    def gamma(self) -> float:
        """Return γ of the stored values."""
        return self._gamma

    def scale(self, k: int) -> None:
        """Scale the ranks, stored in k segments, to ‖p‖₁ = 1, in two passes: Σ|p|, then the scaling."""
        if self._is_fp64:
            return
        self._scale_by(1.0, k)
        total = math.fsum(self._sums()[0])
        if total > 0.0:
            self._scale_by(1.0 / total, k)
            self._dangling_rank = self._sums()[1]

    def convert(self) -> None:
        """Convert links and ranks to fp64 in place."""
        if self._is_fp64:
            return
        for shard in self._shards:
            for vector in (*(block.values for block in shard.member.blocks), shard.p, shard.new):
                shard.device.call(shard.device.operations.to_ieee, vector)
        self.synchronize()
        self._is_fp64 = True

    def gather(self) -> None:
        """Do nothing, because several devices have no gather probe."""
        return

    def _set_up(self, graph: GraphConstants, params: PageRankParams, segments: int, shards: Sequence[Shard]) -> None:
        """Initialize the state; segments: 2, 4, or 0 for fp64."""
        self._graph, self._params, self._segments, self._shards = graph, params, segments, tuple(shards)
        self._is_fp64, self._written, self._turn = not segments, segments, 0
        self._dangling_rank = self._gamma = 0.0

    @abstractmethod
    def _launch(self, key: Hashable, function: Callable[[], None]) -> None:
        """Launch function(); equal keys mean equal functions."""

    @abstractmethod
    def _fetch(self, vectors: Sequence[Any], k: int | None) -> None:
        """Launch the halo exchange on the copy streams, in fp64 or in the leading k segments."""

    @abstractmethod
    def _launch_sums(self) -> None:
        """Launch the transfer of the first SUMS elements of `sums` of all devices to the host."""

    @abstractmethod
    def _received_sums(self) -> Sequence[tuple[float, float]]:
        """Wait for the transfer of the sums, and return them per device."""

    @property
    def _ahead(self) -> bool:
        """Return whether exchanges are launched before SpMVs; see `iterate`."""
        return False

    def _download_ranks(self, shard: Shard, host: Any) -> None:
        """Launch host := the ranks of the pages of a shard, truncated to the segments written last."""
        copy_owned = shard.device.operations.copy_owned
        shard.device.call(copy_owned, self._view(shard.p), shard.owned, self._written, shard.totals)
        shard.device.download(shard.totals, host)

    def _exchange(self, read: int) -> None:
        for shard in self._shards:
            shard.member.start()
        self._fetch_ranks(read)

    def _fetch_ranks(self, read: int) -> None:
        self._fetch([self._view(shard.p) for shard in self._shards], None if self._is_fp64 else read)

    def _pull(self, read: int, write: int) -> None:
        def product(i: int, block: Block, totals: Any) -> None:
            self._multiply(self._shards[i], block, read, totals)

        exchange = (lambda: self._fetch_ranks(read)) if self.exchanges else None
        members, results = [shard.member for shard in self._shards], [shard.totals for shard in self._shards]
        iterate(members, product, results, exchange, ahead=self._ahead)
        for shard in self._shards:
            shard.device.upload(shard.host_base, shard.base)
            p, new = self._view(shard.p), self._view(shard.new)
            damping, norm = self._params.damping, self._params.norm
            update = Update(p, new, shard.owned, shard.dangling, read, write, damping, shard.base, norm)
            shard.device.call(shard.device.operations.finish_ranks, shard.totals, update, shard.sums)
        self._launch_sums()

    def _multiply(self, shard: Shard, block: Block, read: int, totals: Any) -> None:
        device, p = shard.device, self._view(shard.p)
        if self._is_fp64:
            device.call(device.operations.multiply, PARTITIONING, block.part, p, totals)
        else:
            device.call(device.operations.sum_in_links, block.part, block.values, p, read, totals)

    def _view(self, vector: Any) -> Any:
        """Return the vector in its current form: in segments, or as fp64 values in the same memory."""
        return vector.storage[: vector.n] if self._is_fp64 and isinstance(vector, Segmented) else vector

    def _scale_by(self, factor: float, k: int) -> None:
        for shard in self._shards:
            scale, outputs = shard.device.operations.scale, (shard.totals, shard.sums)
            shard.device.call(scale, shard.p, shard.owned, shard.dangling, factor, k, *outputs)
        self._launch_sums()

    def _sums(self) -> tuple[list[float], float]:
        """Return the first sum of each device, and the total of the second sums."""
        firsts, seconds = zip(*self._received_sums(), strict=True)
        return list(firsts), math.fsum(seconds)
