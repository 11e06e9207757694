"""PageRank on the devices of one process; see rank_state.py.

Devices get nearly equal links. All links to a page stay together, because its rank is truncated after the complete sum.
The host adds the sums of the devices. The work between two sums is captured once per precision.
Source: CPMS PageRank paper, Algorithm 1 and §IV.B; MSREP paper, §3.2.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from gpu_engine.errors import ParameterError
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.exchange import SUMS, ExchangeName, plan_transfers
from gpu_engine.multigpu.graph_shards import PARTITIONING, rank_halo, shard_of, whole_rows
from gpu_engine.multigpu.partition import localize, part_of
from gpu_engine.multigpu.peer_copies import PeerCopies
from gpu_engine.multigpu.rank_state import RankState
from gpu_engine.multigpu.replay import Replays
from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix


class DistributedRanks(RankState):
    """State of a PageRank run on several devices of one process; see `run.Ranks`. `norm` waits for all devices.

    spans      positions of the links of each device
    transfers  halo transfers of each iteration
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
        """Copy links and values to the devices.

        segments  segments per value: 2, 4, or 0 for fp64
        overlap   process links from owned pages during the halo exchange

        Raises ParameterError if there is no device, or if GPUs and simulated devices are mixed.
        """
        if len({device.virtual for device in devices}) != 1:
            names = ", ".join(device.name for device in devices) or "no device"
            raise ParameterError(
                f"PageRank needs devices of one kind, but got {names}. Use only GPUs, or only simulated devices."
            )
        stored = PARTITIONING.store(graph.pull)
        self.spans = whole_rows(stored, len(devices))
        parts = [part_of(stored, span, localize(stored, span)) for span in self.spans]
        halos = [rank_halo(self.spans, i, part, graph.n, exchange, segments) for i, part in enumerate(parts)]
        self.transfers = plan_transfers(self.spans, halos)
        shards = [
            shard_of(device, part, halo, graph, segments, overlap)
            for device, part, halo in zip(devices, parts, halos, strict=True)
        ]
        self._set_up(graph, params, segments, shards)
        copy_streams = [shard.member.copy_stream for shard in shards]
        self._copies = PeerCopies(copy_streams, self.transfers, segments)
        self._replays = Replays([*devices, *copy_streams])

    def exchanged_bytes(self, read: int) -> int:
        """Return the bytes of ranks transferred between devices in an iteration that reads `read` segments."""
        return self._copies.exchanged_bytes(read if read < self._segments else None)

    def ranks(self) -> Any:
        """Return a copy of p: float64 [n], truncated to the segments written last."""
        p = np.empty(self._graph.n)
        for shard in self._shards:
            self._download_ranks(shard, p[shard.pages])
        self.synchronize()
        return p

    def synchronize(self) -> None:
        """Wait for all launched work."""
        for shard in self._shards:
            shard.member.synchronize()

    def _launch(self, key: Hashable, function: Callable[[], None]) -> None:
        self._replays.launch(key, function)

    def _fetch(self, vectors: Sequence[Any], k: int | None) -> None:
        # The host waits in every iteration, so that earlier copies are complete.
        self._copies.renew()
        self._copies.launch(vectors, k)

    def _launch_sums(self) -> None:
        for shard in self._shards:
            shard.device.download(shard.sums[:SUMS], shard.host_sums)

    def _received_sums(self) -> Sequence[tuple[float, float]]:
        self.synchronize()
        return [tuple(shard.host_sums.tolist()) for shard in self._shards]
