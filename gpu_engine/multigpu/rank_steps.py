"""RankSteps: what one device does of an iteration of PageRank; cpu_rank_steps.py and cuda_rank_steps.py do it.

Ranks are as long as the graph, in segments or in fp64; a device writes those of its own pages. Arithmetic is fp64, and
sums are those of the values as they were stored. Source: CPMS PageRank paper, Algorithm 1 and §IV.
"""

from typing import Any, NamedTuple, Protocol

from gpu_engine import cpms
from gpu_engine.cpms import Segmented
from gpu_engine.formats.base import array_module


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


class RankSteps(Protocol):
    """Functions for arrays of one device; each launches on the current stream, or computes in one thread of a CPU.

    SUMS  elements of `sums`: the two that are found, and room; nothing is allocated
    """

    SUMS: int

    def finish(self, totals: Any, update: Update, sums: Any) -> None:
        """The new ranks of a device's pages; sums: γ (squared in L2) and the rank of dangling pages, as kept.

        totals, what flows to each page, are lost.
        """
        ...

    def scale_segments(
        self, p: Segmented, own: slice, dangling: Any, factor: float, k: int, totals: Any, sums: Any
    ) -> None:
        """p := factor · p on a device's pages, truncated to k segments; sums: Σ|p| and the rank of dangling pages.

        totals  float64 [pages], room
        """
        ...

    def multiply_segments(self, links: Any, values: Segmented, p: Segmented, k: int, totals: Any) -> None:
        """What flows along the links to each page, from the first k segments of values and ranks.

        links  what `Device.prepare` made of them
        """
        ...

    def to_ieee(self, vector: Segmented) -> None:
        """Segments to fp64 in the same memory."""
        ...

    def to_segments(self, vector: Segmented) -> None:
        """The inverse of `to_ieee`."""
        ...

    def copy_own(self, p: Any, own: slice, k: int, found: Any) -> None:
        """found := the ranks of a device's pages, in k segments or fp64; float64 [pages]."""
        ...


def steps_of(virtual: bool) -> RankSteps:
    """Those for virtual devices, or for GPUs."""
    if virtual:
        from gpu_engine.multigpu import cpu_rank_steps

        return cpu_rank_steps
    from gpu_engine.multigpu import cuda_rank_steps

    return cuda_rank_steps


def fill(vector: Segmented, value: float, k: int) -> None:
    """Writes a value into the first k segments of all ranks."""
    cpms.write(vector, array_module(vector.storage).full(vector.n, value), k)
