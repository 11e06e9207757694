"""RankState: a run of PageRank on devices that each have pages, the links to them and their ranks.

Each fetches of the others' ranks what its links read, as they do of its own. γ, the rank of dangling pages and ‖p‖₁ are
sums over all devices, for which the host waits in every iteration: nothing of an iteration runs into the next one.
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
from gpu_engine.multigpu.iteration import iterate
from gpu_engine.multigpu.shards import PARTITIONING, Pages, Shard
from gpu_engine.pagerank.graph import PageRankParams

SUMS = 2
"""Numbers that each device adds to those of all others at a time."""


class RankState(ABC):
    """The state of a run, as `run.Ranks` says it, of the shards of one process; how they reach all others is left open.

    exchanges  whether a pull fetches what it reads, instead of taking what `exchange` fetched before
    """

    scales = True
    exchanges = True
    _graph: Pages
    _params: PageRankParams
    _segments: int
    _shards: tuple[Shard, ...]
    _is_fp64: bool
    _written: int
    _turn: int

    @abstractmethod
    def synchronize(self) -> None:
        """Waits for all that was launched; raises what it did wrong."""

    @property
    def stored_bytes(self) -> int:
        """The links as stored and all rank vectors of these shards together."""
        return sum(shard.stored_bytes for shard in self._shards)

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
        self._launch(("exchange", read, self._is_fp64, self._turn), lambda: self._exchange(read))

    def pull(self, read: int, write: int) -> None:
        """Launches the exchange of the ranks, the new ranks of one iteration and their sums."""
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
        """γ and the rank of dangling pages, from the sums of all devices."""
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

    def gather(self) -> None:
        """There is no probe of several devices."""
        return

    def _hold(self, graph: Pages, params: PageRankParams, segments: int, shards: Sequence[Shard]) -> None:
        """What it is the state of; segments: 2, 4, or 0 for fp64 throughout."""
        self._graph, self._params, self._segments, self._shards = graph, params, segments, tuple(shards)
        self._is_fp64, self._written, self._turn = not segments, segments, 0
        self._dangling_rank = self._gamma = 0.0

    @abstractmethod
    def _launch(self, key: Hashable, function: Callable[[], None]) -> None:
        """Launches function(), which is the same under one key."""

    @abstractmethod
    def _fetch(self, vectors: Sequence[Any], k: int | None) -> None:
        """Launches, on the copy streams, the fetches of what the shards read, of segments the first k."""

    @abstractmethod
    def _launch_sums(self) -> None:
        """Launches what brings to the host the first SUMS of `sums` of all devices."""

    @abstractmethod
    def _found(self) -> Sequence[tuple[float, float]]:
        """What the last one brought, device by device; waits for it."""

    @property
    def _ahead(self) -> bool:
        """Whether exchanges are launched before products; see `iterate`."""
        return False

    def _own_ranks(self, shard: Shard, host: Any) -> None:
        """Launches host := the ranks of its pages, truncated to what was written last."""
        copy_own = shard.device.operations.copy_own
        shard.device.call(copy_own, self._view(shard.p), shard.own, self._written, shard.totals)
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
            update = Update(p, new, shard.own, shard.dangling, read, write, damping, shard.base, norm)
            shard.device.call(shard.device.operations.finish, shard.totals, update, shard.sums)
        self._launch_sums()

    def _multiply(self, shard: Shard, block: Block, read: int, totals: Any) -> None:
        device, p = shard.device, self._view(shard.p)
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
        self._launch_sums()

    def _sums(self) -> tuple[list[float], float]:
        """The sums of the devices: the first of each, and the sum of the second."""
        firsts, seconds = zip(*self._found(), strict=True)
        return list(firsts), math.fsum(seconds)
