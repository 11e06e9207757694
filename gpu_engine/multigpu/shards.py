"""Shards: what each of several devices has of PageRank, its pages, the links to them, and ranks."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.cpms import Segmented
from gpu_engine.cpms.layout import padded_size
from gpu_engine.multigpu.base import Device, copied, returned
from gpu_engine.multigpu.cut import cut_by_entries
from gpu_engine.multigpu.exchange import copy_part, drop_empty_lines, split_diagonal
from gpu_engine.multigpu.operations import PreparedPart
from gpu_engine.multigpu.partition import Part, Span, StoredMatrix, find_partitioning
from gpu_engine.pagerank.graph import TransitionMatrix

PARTITIONING = find_partitioning("pCSR")


@dataclass(frozen=True, slots=True)
class Links:
    """Links to the pages of a device.

    part      without values; prepared: the same, as the device multiplies it
    values    float64 [links], or in segments
    lines     int32, the pages to which they lead, counted from the first of the device; None: all
    totals    float64 [lines], what flows along them
    """

    part: Part
    prepared: PreparedPart
    values: Any
    lines: Any
    totals: Any


@dataclass(slots=True)
class Shard:
    """What one device has; ranks are as long as the graph, and hold its own pages and those that it has fetched.

    copy_stream    its second stream where it fetches while it multiplies, else the device itself
    links     all of them; where it fetches meanwhile, those from its own pages and those from others
    p, new    ranks, of which `new` are being written: float64 [n], or in segments
    dangling  int64, its dangling pages, counted from its first page
    base      float64 [1] on the device, what each page gets without a link; host_base: the same on the host
    sums      float64 [SUMS] on the device: γ (squared in L2) or Σ|p|, the rank of its dangling pages, and room
    host_sums  float64 [2], the first two on the host
    """

    device: Device
    copy_stream: Device
    own: slice
    links: tuple[Links, ...]
    p: Any
    new: Any
    dangling: Any
    base: Any
    host_base: Any
    sums: Any
    host_sums: Any

    @property
    def totals(self) -> Any:
        """What flows to each of its pages: float64 [pages], where the first links leave what flows along them."""
        return self.links[0].totals

    @property
    def stored_bytes(self) -> int:
        """Links, their values and ranks."""
        arrays = [self.p, self.new]
        for links in self.links:
            arrays += [links.part.major, links.part.minor, links.values]
            if links.lines is not None:
                arrays.append(links.lines)
        return sum(int((array.storage if isinstance(array, Segmented) else array).nbytes) for array in arrays)


def shard_of(device: Device, part: Part, graph: TransitionMatrix, segments: int, overlap: bool) -> Shard:
    """A part of the graph's links, on the host, copied to its device; segments: 0 for fp64."""
    own, n = part.span.own, graph.n
    dangling = graph.dangling.astype(np.int64)
    inside = dangling[(dangling >= own.start) & (dangling < own.stop)] - own.start
    parts: list[tuple[Part, Any]] = [(part, None)]
    if overlap:
        diagonal, off_diagonal = split_diagonal(PARTITIONING, part)
        parts = [(diagonal, None), drop_empty_lines(PARTITIONING, off_diagonal)]
    return Shard(
        device=device,
        copy_stream=device.copy_stream() if overlap else device,
        own=own,
        links=tuple(_links(device, part, lines, n, segments) for part, lines in parts),
        p=_room(device, n, segments),
        new=_room(device, n, segments),
        dangling=copied(device, inside),
        base=device.allocate(1, np.float64),
        host_base=device.allocate_host(1, np.float64),
        sums=device.allocate(device.operations.n_sums, np.float64),
        host_sums=device.allocate_host(2, np.float64),
    )


def whole_rows(stored: StoredMatrix, parts: int) -> tuple[Span, ...]:
    """Parts of nearly equal entries: each has all entries of the rows that begin in it if they were cut equally."""
    rows = [span.own for span in cut_by_entries(stored, (parts,))]
    borders = [(int(stored.major[own.start]), int(stored.major[own.stop])) for own in rows]
    return tuple(
        Span(start, end, own.start, own.stop, start_flag=False) for own, (start, end) in zip(rows, borders, strict=True)
    )


def _links(device: Device, part: Part, lines: Any, n: int, segments: int) -> Links:
    structure = copy_part(device, dataclasses.replace(part, values=np.empty(0)))
    values = _room(device, part.values.size, segments)
    device.upload(part.values, values.storage[: values.n] if segments else values)
    if segments:
        device.call(device.operations.to_segments, values)
    device.synchronize()
    totals = device.allocate(part.span.stop - part.span.first, np.float64)
    pages = None if lines is None else copied(device, lines)
    prepared = returned(device, device.operations.prepare, PARTITIONING, structure, n)
    return Links(structure, prepared, values, pages, totals)


def _room(device: Device, size: int, segments: int) -> Any:
    """Zeros on the device, in segments if there are any."""
    array = device.allocate(padded_size(size, segments) if segments else size, np.float64)
    device.call(array.fill, 0.0)
    device.synchronize()
    return Segmented(array, size, segments) if segments else array
