"""Shards: what each of several devices has of PageRank, its pages, the links to them, and ranks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gpu_engine.cpms import Segmented
from gpu_engine.cpms.layout import group_size, padded_size
from gpu_engine.multigpu.base import Device, copied
from gpu_engine.multigpu.cut import cut_by_entries
from gpu_engine.multigpu.exchange import ExchangeName, Halo, halo_of
from gpu_engine.multigpu.iteration import Member, member_of
from gpu_engine.multigpu.partition import Part, SharedMatrix, Span, find_partitioning

PARTITIONING = find_partitioning("pCSR")


class Pages(Protocol):
    """What has to be known of the whole graph wherever a shard is: a TransitionMatrix says it."""

    @property
    def n(self) -> int:
        """Number of pages."""
        ...

    @property
    def dangling(self) -> Any:
        """The dangling pages: int [dangling], ascending."""
        ...


@dataclass(slots=True)
class Shard:
    """What one device has; ranks are those of its own pages and of its halo.

    member    the links to its pages
    pages     its own in the graph; `own`: the same in its vectors
    p, new    ranks, of which `new` are being written: float64, or in segments
    totals    float64 [pages], what flows to each of its pages
    dangling  int64, its dangling pages, counted from its first page
    base      float64 [1] on the device, what each page gets without a link; host_base: the same on the host
    sums      float64 [n_sums] on the device: γ (squared in L2) or Σ|p|, the rank of its dangling pages, and room
    host_sums  float64 [2], the first two on the host
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
        """Where it lies."""
        return self.member.device

    @property
    def own(self) -> slice:
        """Its pages in its vectors."""
        return self.member.halo.own

    @property
    def stored_bytes(self) -> int:
        """Links, their values and ranks."""
        ranks = (vector.storage if isinstance(vector, Segmented) else vector for vector in (self.p, self.new))
        return sum(int(array.nbytes) for array in ranks) + self.member.stored_bytes


def rank_halo(spans: Sequence[Span], number: int, part: Part, n: int, exchange: ExchangeName, segments: int) -> Halo:
    """The halo of the ranks of a part's pages: blocks of segments are copied to the same places of theirs."""
    return halo_of(spans, number, part, n, exchange, group_size(segments) if segments else 1)


def shard_of(device: Device, part: Part, halo: Halo, graph: Pages, segments: int, overlap: bool) -> Shard:
    """A part of the graph's links, on the host, copied to its device; segments: 0 for fp64."""

    def room(device: Device, size: int) -> Any:
        """Zeros on the device, in segments if there are any."""
        array = device.allocate(padded_size(size, segments) if segments else size, np.float64)
        device.call(array.fill, 0.0)
        device.synchronize()
        return Segmented(array, size, segments) if segments else array

    pages = part.span.own
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
        dangling=copied(device, dangling[(dangling >= pages.start) & (dangling < pages.stop)] - pages.start),
        base=device.allocate(1, np.float64),
        host_base=device.allocate_host(1, np.float64),
        sums=device.allocate(device.operations.n_sums, np.float64),
        host_sums=device.allocate_host(2, np.float64),
    )


def whole_rows(stored: SharedMatrix, parts: int) -> tuple[Span, ...]:
    """Parts of nearly equal entries: each has all entries of the rows that begin in it if they were cut equally."""
    rows = [span.own for span in cut_by_entries(stored, (parts,))]
    borders = [(int(stored.major[own.start]), int(stored.major[own.stop])) for own in rows]
    return tuple(
        Span(start, end, own.start, own.stop, start_flag=False) for own, (start, end) in zip(rows, borders, strict=True)
    )
