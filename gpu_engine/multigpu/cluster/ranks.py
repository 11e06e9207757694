"""PageRank on one device of a cluster: its pages, the links to them, and ranks; see rank_state.py.

Ranks in segments are sent packed, and only the leading segments that an iteration reads. Each actor sums over all
actors itself, so that a complete run needs no driver. Source: CPMS PageRank paper, Algorithm 1 and §IV.B.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.measure.stopwatch import now
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.cluster.member import CaseActor, PartInfo
from gpu_engine.multigpu.exchange import SUMS, ExchangeName
from gpu_engine.multigpu.graph_shards import rank_halo, shard_of
from gpu_engine.multigpu.partition import Part, Span
from gpu_engine.multigpu.rank_state import RankState
from gpu_engine.pagerank.graph import PageRankParams
from gpu_engine.pagerank.run import Run, iterate, phases
from gpu_engine.pagerank.schedule import Schedule, Step


@dataclass(frozen=True, slots=True)
class Graph:
    """Properties of the graph that every actor needs in addition to its links.

    n         pages of the graph
    dangling  int32, all dangling pages
    """

    n: int
    dangling: Any


class RankMember(CaseActor, RankState):
    """State of a run on one device; all actors of the case do the same."""

    def __init__(self, device: Device, put: Callable[[Any], Any]) -> None:
        super().__init__(device, put)
        self._arrays: dict[str, Any] = {}

    def receive(self, name: str, begin: int, values: Any, size: int) -> None:
        """Receive a piece of `major`, `minor`, or `values` of the partition from the driver; size: of the array."""
        array = self._arrays.setdefault(name, np.empty(size, values.dtype))
        array[begin : begin + values.size] = values

    def load_part(
        self,
        spans: Sequence[Span],
        number: int,
        graph: Graph,
        params: PageRankParams,
        segments: int,
        exchange: ExchangeName,
        overlap: bool,
    ) -> PartInfo:
        """Copy the received partition to the device.

        spans     partitions of all actors: whole rows
        segments  segments per value: 2, 4, or 0 for fp64
        """
        part = Part(spans[number], **self._arrays)
        self._arrays = {}
        halo = rank_halo(spans, number, part, graph.n, exchange, segments)
        shard = shard_of(self._device, part, halo, graph, segments, overlap)
        self._set_up(graph, params, segments, [shard])
        self._member, self._first = shard.member, shard.pages.start
        return PartInfo(halo, shard.stored_bytes)

    def find(self, schedule: Schedule) -> Run:
        """Run from e/n until γ < ε."""
        return iterate(self, self._params, schedule)

    def times(self, schedule: Schedule, steps: Sequence[Step], apart: bool) -> list[tuple[float, float]]:
        """Return (seconds of the exchange, of the rest) per iteration of a run; without `apart` all in the second."""
        self.reset(schedule.start_segments)
        self.meet()
        seconds = []
        self.exchanges = not apart
        for step in steps:
            start = middle = now()
            if apart:
                self.exchange(step.read)
                self.synchronize()
                middle = now()
            for _, act in phases(self, schedule, step):
                act()
            seconds.append((middle - start, now() - middle))
        self.exchanges = True
        return seconds

    def read(self, begin: int, end: int) -> Any:
        """Return the ranks of owned pages begin … end − 1, truncated to the segments written last; float64."""
        return self.ranks()[begin - self._first : end - self._first]

    def ranks(self) -> Any:
        """Return a copy of the ranks of the owned pages; float64 on the host."""
        (shard,) = self._shards
        host = np.empty(shard.pages.stop - shard.pages.start)
        self._download_ranks(shard, host)
        self.synchronize()
        return host

    def _fetch(self, vectors: Sequence[Any], k: int | None) -> None:
        self._move(vectors[0], k)

    def _launch_sums(self) -> None:
        self._exchange_sums(self._shards[0].sums[:SUMS])

    def _received_sums(self) -> Sequence[tuple[float, float]]:
        self.synchronize()
        return [tuple(sums) for sums in self._host_sums.reshape(-1, SUMS).tolist()]
