"""RankSteps on a GPU: the links in tiles, as formats/split.py cuts them, then a pass over the pages.

Sums are added up by blocks of which there are always as many, so that they come out the same every time.
"""

from typing import Any

import cupy

from gpu_engine import cpms
from gpu_engine.cpms import SEGMENTS, Segmented
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats import tiles
from gpu_engine.formats.base import POINTERS
from gpu_engine.formats.split import ITEMS, JOIN, THREADS
from gpu_engine.multigpu.rank_steps import Update
from gpu_engine.pagerank.cuda_pulls import FP64, NORMS, head

BLOCK, BLOCKS = 256, 512
SUMS = 2 + 2 * BLOCKS

HEADS = tuple(head(segments, k) for segments in SEGMENTS for k in range(1, segments + 1))
STEPS = (
    (FP64, FP64),
    *((head(segments, k), head(segments, k)) for segments in SEGMENTS for k in range(1, segments + 1)),
    *((head(segments, k), head(segments, k + 1)) for segments in SEGMENTS for k in range(1, segments)),
)
"""(type of ranks read, of ranks written) of all iterations."""

SOURCE = CudaSource(
    __package__,
    "rank_steps.cu",
    (
        *(f"tile_totals<{pointer}, {THREADS}, {ITEMS}, {kind}>" for pointer in POINTERS for kind in HEADS),
        *(f"finish_pages<{read}, {write}>" for read, write in STEPS),
        *(f"scale_pages<{kind}>" for kind in HEADS),
        *(f"copy_pages<{kind}>" for kind in (FP64, *HEADS)),
        *("sum_picked", "join_found", JOIN),
    ),
)


def finish(totals: Any, update: Update, sums: Any) -> None:
    """The new ranks of a device's pages."""
    types = f"{_type(update.p, update.read)}, {_type(update.new, update.write)}"
    ranks = (_units(update.p), _units(update.new), update.damping, update.base, cupy.int32(NORMS[update.norm]))
    _over_pages(f"finish_pages<{types}>", update.own, (*ranks, totals, sums[2:]))
    _join(NORMS[update.norm], update.dangling, totals, sums)


def scale_segments(p: Segmented, own: slice, dangling: Any, factor: float, k: int, totals: Any, sums: Any) -> None:
    """p := factor · p on a device's pages, truncated to k segments."""
    _over_pages(f"scale_pages<{_type(p, k)}>", own, (_units(p), factor, totals, sums[2:]))
    _join(NORMS["L1"], dangling, totals, sums)


def multiply_segments(links: Any, values: Segmented, p: Segmented, k: int, totals: Any) -> None:
    """What flows along the links to each page."""
    matrix, cut = links.layout.matrix, links.layout.tiles
    pointer = POINTERS[matrix.indptr.dtype.itemsize == 8]
    kernel = SOURCE.function(f"tile_totals<{pointer}, {THREADS}, {ITEMS}, {_type(p, k)}>")
    arrays = (matrix.indptr, matrix.indices, values.units)
    if totals.size:
        tiles.launch(kernel, SOURCE.function(JOIN), THREADS, cut, arrays, p.units, totals)


def to_ieee(vector: Segmented) -> None:
    """Segments to fp64 in the same memory."""
    cpms.to_ieee(vector)


def to_segments(vector: Segmented) -> None:
    """The inverse of `to_ieee`."""
    cpms.to_cpms(vector.storage, vector.n, vector.segments)


def copy_own(p: Any, own: slice, k: int, found: Any) -> None:
    """found := the ranks of a device's pages."""
    count = own.stop - own.start
    if count:
        arguments = (cupy.int64(own.start), cupy.int64(count), _units(p), found)
        SOURCE.function(f"copy_pages<{_type(p, k)}>")((-(-count // BLOCK),), (BLOCK,), arguments)


def _over_pages(kernel: str, own: slice, arguments: tuple[Any, ...]) -> None:
    pages = (cupy.int64(own.start), cupy.int64(own.stop - own.start))
    SOURCE.function(kernel)((BLOCKS,), (BLOCK,), (*pages, *arguments))


def _join(norm: int, dangling: Any, totals: Any, sums: Any) -> None:
    """Of what the blocks found, which is to come behind the sums."""
    changes, picked = sums[2 : 2 + BLOCKS], sums[2 + BLOCKS :]
    SOURCE.function("sum_picked")((BLOCKS,), (BLOCK,), (cupy.int64(dangling.size), dangling, totals, picked))
    SOURCE.function("join_found")((1,), (BLOCKS,), (cupy.int32(norm), changes, picked, sums))


def _type(ranks: Any, k: int) -> str:
    return head(ranks.segments, k) if isinstance(ranks, Segmented) else FP64


def _units(ranks: Any) -> Any:
    return ranks.units if isinstance(ranks, Segmented) else ranks
