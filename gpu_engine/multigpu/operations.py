"""Operations: what devices compute, one table for CPUs (cpu_operations.py) and one for GPUs (cuda_operations.py).

Ranks and their values are in segments or in fp64; a device writes the ranks of its own pages. Arithmetic is fp64, and
sums are those of the values as they were stored. Source: CPMS PageRank paper, Algorithm 1 and §IV.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from gpu_engine.cpms import Segmented
from gpu_engine.multigpu.chunk_products import ChunkProducts
from gpu_engine.multigpu.partition import Part, Partitioning, Span


class Update(NamedTuple):
    """new := damping · totals + base[0] on the pages of a device, from p in `read` segments, kept in `write`."""

    p: Any
    new: Any
    own: slice
    dangling: Any
    read: int
    write: int
    damping: float
    base: Any
    norm: str


@dataclass(frozen=True, slots=True)
class Operations:
    """Functions of arrays of one device, for `Device.call`: on a GPU they launch, on a CPU they compute in one thread.

    Those of a product or an iteration allocate nothing on a GPU, so that they can be captured.

    prepare   (partitioning, part, n_cols) → what `multiply` takes for a part that is multiplied often; for `returned`
    multiply  (partitioning, part or what was prepared, x, partial): partial := A_i·x, every element written.
              x has what the part's columns number: where columns are cut the segment of these; partial is the segment
              of the part's rows where rows are cut, else all rows
    rewrite   (partitioning, span, raw, local): what `partition.rewrite` does
    add       (total, more, lines): total[lines] := total[lines] + more, each line once; without lines on all
    combine   (y, sums, alpha, beta): y := α·sums + β·y; β = 0 does not read y; sums are lost
    gather    (vector, positions, k, packed): elements with these numbers, int32; where k is not None they are in
              segments: the first k, one segment after the other
    unpack    (packed, values, k, vector): the inverse for a range of values in segments, which leaves the others
    copy      (peer, values, k, vector, place): the first k segments of a range of values of a vector that the device
              reaches, to another one from `place` on; that and their first differ by whole groups
    fill      (p, value, k): a value into all ranks, in k segments or fp64
    finish    (totals, update, sums): the new ranks of a device's pages from what flows to them, which is lost;
              sums: γ (squared in L2) and the rank of dangling pages, as kept
    scale     (p, own, dangling, factor, k, totals, sums): p := factor · p on a device's pages, truncated to k segments;
              sums: Σ|p| and the rank of dangling pages; totals is room
    follow    (links, values, p, k, totals): what flows along the links to each page, from k segments of values and
              ranks; links are prepared
    to_ieee, to_segments  (vector): between segments and fp64 in the same memory
    copy_own  (p, own, k, found): the ranks of a device's pages, in k segments or fp64
    chunks    what is done with chunks of a part
    n_sums    elements of `sums`: the two that are found, and room
    """

    prepare: Callable[[Partitioning, Part, int], Any]
    multiply: Callable[[Partitioning, Any, Any, Any], None]
    rewrite: Callable[[Partitioning, Span, Any, Any], None]
    add: Callable[[Any, Any, Any], None]
    combine: Callable[[Any, Any, float, float], None]
    gather: Callable[[Any, Any, int | None, Any], None]
    unpack: Callable[[Any, slice, int, Segmented], None]
    copy: Callable[[Segmented, slice, int, Segmented, int], None]
    fill: Callable[[Any, float, int], None]
    finish: Callable[[Any, Update, Any], None]
    scale: Callable[[Segmented, slice, Any, float, int, Any, Any], None]
    follow: Callable[[Any, Segmented, Segmented, int, Any], None]
    to_ieee: Callable[[Segmented], None]
    to_segments: Callable[[Segmented], None]
    copy_own: Callable[[Any, slice, int, Any], None]
    chunks: ChunkProducts
    n_sums: int
