"""PageRank over the devices of one process; see rank_state.py.

Pages are cut so that devices have nearly equal links; the links to a page stay together, for its rank is
truncated only when its sum is whole. Sums over the devices are added up on the host. What it launches between them is
captured once for each precision.
Source: CPMS PageRank paper, Algorithm 1 and §IV.B; MSREP paper, §3.2.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from gpu_engine.errors import ParameterError
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.exchange import ExchangeName, plan_transfers
from gpu_engine.multigpu.fetches import Fetches
from gpu_engine.multigpu.partition import localize, part_of
from gpu_engine.multigpu.rank_state import SUMS, RankState
from gpu_engine.multigpu.replay import Replays
from gpu_engine.multigpu.shards import PARTITIONING, rank_halo, shard_of, whole_rows
from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix


class DistributedRanks(RankState):
    """The state of a run on several devices; see `run.Ranks`. `norm` waits for all devices.

    spans      where the links of each device lie
    transfers  what is fetched in each iteration
    """

    def __init__(
        self,
        graph: TransitionMatrix,
        params: PageRankParams,
        devices: Sequence[Device],
        segments: int = 0,
        exchange: ExchangeName = "halo",
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
        stored = PARTITIONING.store(graph.pull)
        self.spans = whole_rows(stored, len(devices))
        parts = [part_of(stored, span, localize(stored, span)) for span in self.spans]
        halos = [rank_halo(self.spans, i, part, graph.n, exchange, segments) for i, part in enumerate(parts)]
        self.transfers = plan_transfers(self.spans, halos)
        shards = [
            shard_of(device, part, halo, graph, segments, overlap)
            for device, part, halo in zip(devices, parts, halos, strict=True)
        ]
        self._hold(graph, params, segments, shards)
        copy_streams = [shard.member.copy_stream for shard in shards]
        self._fetches = Fetches(copy_streams, self.transfers, segments)
        self._replays = Replays([*devices, *copy_streams])

    def exchanged_bytes(self, read: int) -> int:
        """Bytes of ranks that cross between devices in an iteration that reads so many segments."""
        return self._fetches.exchanged_bytes(read if read < self._segments else None)

    def ranks(self) -> Any:
        """A copy of p: float64 [n], truncated to what was written last."""
        p = np.empty(self._graph.n)
        for shard in self._shards:
            self._own_ranks(shard, p[shard.pages])
        self.synchronize()
        return p

    def synchronize(self) -> None:
        """Waits for all that was launched."""
        for shard in self._shards:
            shard.member.synchronize()

    def _launch(self, key: Hashable, function: Callable[[], None]) -> None:
        self._replays.launch(key, function)

    def _fetch(self, vectors: Sequence[Any], k: int | None) -> None:
        # The host waits in every iteration: those before are done.
        self._fetches.renew()
        self._fetches.launch(vectors, k)

    def _launch_sums(self) -> None:
        for shard in self._shards:
            shard.device.download(shard.sums[:SUMS], shard.host_sums)

    def _found(self) -> Sequence[tuple[float, float]]:
        self.synchronize()
        return [tuple(shard.host_sums.tolist()) for shard in self._shards]
