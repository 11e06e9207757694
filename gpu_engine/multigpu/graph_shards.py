"""Shards of a graph: the pages, links, and ranks that one of several devices has of PageRank."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gpu_engine.cpms import Segmented
from gpu_engine.cpms.layout import group_size, padded_size
from gpu_engine.multigpu.base import Device, copy_to
from gpu_engine.multigpu.cut import cut_by_entries
from gpu_engine.multigpu.exchange import ExchangeName, Halo, halo_of
from gpu_engine.multigpu.iteration import Member, member_of
from gpu_engine.multigpu.partition import Part, SharedMatrix, Span, find_partitioning

PARTITIONING = find_partitioning("pCSR")


class GraphConstants(Protocol):
    """Properties of the complete graph that every shard needs; a TransitionMatrix has them."""

    @property
    def n(self) -> int:
        """Return the number of pages."""
        ...

    @property
    def dangling(self) -> Any:
        """Return the dangling pages: int [dangling], ascending."""
        ...


@dataclass(slots=True)
class Shard:
    """Data of one device; its rank vectors hold the owned pages and the halo.

    member     links to the owned pages
    pages      owned pages in the graph; `owned`: their positions in the rank vectors
    p, new     ranks, current and next: float64, or in segments
    totals     float64 [pages], weighted in-link sums of the owned pages
    dangling   int64, owned dangling pages, counted from the first owned page
    base       float64 [1] on the device, rank that each page gets without links; host_base: on the host
    sums       float64 [n_sums] on the device: γ (squared for L2) or Σ|p|, rank of dangling pages, and workspace
    host_sums  float64 [2], the first two sums on the host
    """

    member: Member
    pages: slice
    p: Any
    new: Any
    totals: Any
    dangling: Any
    base: Any
    host_base: Any
    sums: Any
    host_sums: Any

    @property
    def device(self) -> Device:
        """Return the device of the shard."""
        return self.member.device

    @property
    def owned(self) -> slice:
        """Return the positions of the owned pages in the rank vectors."""
        return self.member.halo.owned

    @property
    def stored_bytes(self) -> int:
        """Return the bytes of links, values, and ranks."""
        ranks = (vector.storage if isinstance(vector, Segmented) else vector for vector in (self.p, self.new))
        return sum(int(array.nbytes) for array in ranks) + self.member.stored_bytes


def rank_halo(spans: Sequence[Span], number: int, part: Part, n: int, exchange: ExchangeName, segments: int) -> Halo:
    """Return the halo of the rank vectors of a partition; positions are aligned to the groups of segments."""
    return halo_of(spans, number, part, n, exchange, group_size(segments) if segments else 1)


def shard_of(device: Device, part: Part, halo: Halo, graph: GraphConstants, segments: int, overlap: bool) -> Shard:
    """Copy a partition of the links from the host to a device and return the shard; segments: 0 for fp64."""

    def room(device: Device, size: int) -> Any:
        """Allocate zeros on the device, in segments unless the run is in fp64."""
        array = device.allocate(padded_size(size, segments) if segments else size, np.float64)
        device.call(array.fill, 0.0)
        device.synchronize()
        return Segmented(array, size, segments) if segments else array

    pages = part.span.owned
    dangling = graph.dangling.astype(np.int64)
    member = member_of(device, PARTITIONING, part, halo, graph.n, overlap, room)
    for block in member.blocks if segments else ():
        device.call(device.operations.to_segments, block.values)
    return Shard(
        member=member,
        pages=pages,
        p=room(device, halo.size),
        new=room(device, halo.size),
        totals=device.allocate(pages.stop - pages.start, np.float64),
        dangling=copy_to(device, dangling[(dangling >= pages.start) & (dangling < pages.stop)] - pages.start),
        base=device.allocate(1, np.float64),
        host_base=device.allocate_host(1, np.float64),
        sums=device.allocate(device.operations.n_sums, np.float64),
        host_sums=device.allocate_host(2, np.float64),
    )


def whole_rows(stored: SharedMatrix, parts: int) -> tuple[Span, ...]:
    """Return partitions of whole rows with nearly equal nonzeros: the rows that start in each equal partition."""
    rows = [span.owned for span in cut_by_entries(stored, (parts,))]
    borders = [(int(stored.major[owned.start]), int(stored.major[owned.stop])) for owned in rows]
    return tuple(
        Span(start, end, owned.start, owned.stop, start_flag=False)
        for owned, (start, end) in zip(rows, borders, strict=True)
    )
