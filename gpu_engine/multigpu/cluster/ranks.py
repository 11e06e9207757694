"""RankMember: PageRank on one device of a cluster: its pages, the links to them, and ranks; see rank_state.py.

Of ranks in segments only the heads cross that an iteration reads, packed, whichever hosts they cross between. Sums over
the members each adds up itself: a whole run needs no driver.
Source: CPMS PageRank paper, Algorithm 1 and §IV.B.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.measure.stopwatch import now
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.cluster.member import PartInfo, TeamMember
from gpu_engine.multigpu.exchange import ExchangeName
from gpu_engine.multigpu.partition import Part, Span
from gpu_engine.multigpu.rank_state import SUMS, RankState
from gpu_engine.multigpu.shards import rank_halo, shard_of
from gpu_engine.pagerank.graph import PageRankParams
from gpu_engine.pagerank.run import Run, acts, iterate
from gpu_engine.pagerank.schedule import Schedule, Step


@dataclass(frozen=True, slots=True)
class Graph:
    """What a member has to know of the graph beside its links.

    n         pages of the whole
    dangling  int32, all dangling pages
    """

    n: int
    dangling: Any


class RankMember(TeamMember, RankState):
    """The state of a run of one member; all of them do the same."""

    def __init__(self, device: Device, put: Callable[[Any], Any]) -> None:
        super().__init__(device, put)
        self._arrays: dict[str, Any] = {}

    def receive(self, name: str, begin: int, values: Any, size: int) -> None:
        """Some of `major`, `minor` or `values` of its part, each of that size, as they come from the driver."""
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
        """Copies the part that it has received to its device.

        spans     of all members: whole rows
        segments  2, 4, or 0 for fp64 throughout
        """
        part = Part(spans[number], **self._arrays)
        self._arrays = {}
        halo = rank_halo(spans, number, part, graph.n, exchange, segments)
        shard = shard_of(self._device, part, halo, graph, segments, overlap)
        self._hold(graph, params, segments, [shard])
        self._member, self._first = shard.member, shard.pages.start
        return PartInfo(halo, shard.stored_bytes)

    def find(self, schedule: Schedule) -> Run:
        """A run from e/n until γ < ε."""
        return iterate(self, self._params, schedule)

    def times(self, schedule: Schedule, steps: Sequence[Step], apart: bool) -> list[tuple[float, float]]:
        """(seconds of the exchange, of the rest) of each iteration of a run; all in the second unless `apart`."""
        self.reset(schedule.start_segments)
        self.meet()
        found = []
        self.exchanges = not apart
        for step in steps:
            begin = middle = now()
            if apart:
                self.exchange(step.read)
                self.synchronize()
                middle = now()
            for _, act in acts(self, schedule, step):
                act()
            found.append((middle - begin, now() - middle))
        self.exchanges = True
        return found

    def read(self, begin: int, end: int) -> Any:
        """Ranks of its pages begin … end − 1, truncated to what was written last; float64 on the host."""
        return self.ranks()[begin - self._first : end - self._first]

    def ranks(self) -> Any:
        """A copy of those of its pages."""
        (shard,) = self._shards
        host = np.empty(shard.pages.stop - shard.pages.start)
        self._own_ranks(shard, host)
        self.synchronize()
        return host

    def _fetch(self, vectors: Sequence[Any], k: int | None) -> None:
        self._move(vectors[0], k)

    def _launch_sums(self) -> None:
        self._tell(self._shards[0].sums[:SUMS])

    def _found(self) -> Sequence[tuple[float, float]]:
        self.synchronize()
        return [tuple(sums) for sums in self._host_sums.reshape(-1, SUMS).tolist()]
