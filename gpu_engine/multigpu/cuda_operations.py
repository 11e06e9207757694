"""Operations on a GPU: kernels on the current stream.

A partition that is multiplied once is used as received. `prepare` divides one that is multiplied often into the tiles
of formats/split.py, the fastest Sparsight kernel on plain CSR. Sums use a constant number of thread blocks, so that
they are bitwise reproducible.
"""

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from gpu_engine import cpms, spmm
from gpu_engine.cpms import Segmented
from gpu_engine.cpms.layout import group_size
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats import coo, csc, split, tiles
from gpu_engine.formats.base import POINTERS, Kernel
from gpu_engine.formats.coo import CooLayout
from gpu_engine.formats.csc import CscLayout
from gpu_engine.formats.csr import smart
from gpu_engine.formats.csr.layout import CsrLayout
from gpu_engine.formats.split import ITEMS, THREADS, SplitLayout
from gpu_engine.multigpu import cuda_chunks, cuda_solve
from gpu_engine.multigpu.base import Operations, Update
from gpu_engine.multigpu.merge import combine
from gpu_engine.multigpu.partition import Part, Partitioning, Span
from gpu_engine.pagerank.cuda_pulls import FP64, NORMS, head

BLOCK, BLOCKS, VALUES = 256, 512, 16
"""Threads per block; blocks per reduction; values per thread in copies from a peer (four words of 32-bit segments)."""

ALL_LINES = np.uint64(0)
"""Null pointer in place of line numbers: all lines."""

PACK_BYTES, LINES = 16, {4: "int", 8: "long long"}
"""Bytes of the largest load of a thread; bytes of a line number or pointer → its C type."""

WORDS = {16: "uint4", 4: "unsigned", 1: "unsigned char"}
"""Bytes of a copied word → its C type, the largest first."""

ENTRIES = CudaSource(
    __package__,
    "entries.cu",
    (
        *("add_entries", "add_lines", "gather"),
        *(f"copy_words<{word}>" for word in WORDS.values()),
        *(f"rewrite_lines<{LINES[size]}, {pack}>" for size in LINES for pack in (PACK_BYTES // size, 1)),
    ),
)

SEGMENTS = CudaSource(
    __package__,
    "segments.cu",
    tuple(f"{kernel}<{segments}>" for kernel in ("pack", "unpack", "copy_segments") for segments in cpms.SEGMENTS),
)

HEADS = tuple(head(segments, k) for segments in cpms.SEGMENTS for k in range(1, segments + 1))
STEPS = (
    (FP64, FP64),
    *((head(segments, k), head(segments, k)) for segments in cpms.SEGMENTS for k in range(1, segments + 1)),
    *((head(segments, k), head(segments, k + 1)) for segments in cpms.SEGMENTS for k in range(1, segments)),
)
"""Pairs (type of the ranks read, type of the ranks written) that occur in iterations."""

RANKS = CudaSource(
    __package__,
    "rank_steps.cu",
    (
        *(f"tile_totals<{pointer}, {THREADS}, {ITEMS}, {kind}>" for pointer in POINTERS for kind in HEADS),
        *(f"finish_pages<{read}, {write}>" for read, write in STEPS),
        *(f"scale_pages<{kind}>" for kind in HEADS),
        *(f"copy_pages<{kind}>" for kind in (FP64, *HEADS)),
        *("sum_picked", "join_found", tiles.JOIN),
    ),
)

KERNELS = (split.FORMAT.kernels[0], coo.KERNEL, smart.KERNEL, csc.FORMAT.kernels[0])
"""SpMV kernels: tiles for prepared row partitions, and one kernel per kind of partition."""

SOURCES = (
    ENTRIES,
    SEGMENTS,
    RANKS,
    cuda_solve.SOURCE,
    *(source for kernel in KERNELS for source in kernel.sources),
)
"""CUDA sources of everything that a device launches."""


def prepare(partitioning: Partitioning, part: Part, n_cols: int) -> Any:
    """Return a CSR partition divided into tiles; return others unchanged."""
    if partitioning.axis != "rows" or not partitioning.compressed:
        return part
    return SplitLayout.from_csr(_csr(part, n_cols))


def multiply(partitioning: Partitioning, part: Any, x: Any, partial: Any) -> None:
    """Launch the kernel for this kind of partition; each kernel writes all of the partial result."""
    if not partial.size:
        return
    if isinstance(part, SplitLayout):
        _launch(split.FORMAT.kernels[0], part, x, partial)
    elif not partitioning.compressed and partitioning.axis == "rows":
        layout = CooLayout(partial.size, x.size, cupy.int32, part.major, part.minor, part.values)
        _launch(coo.KERNEL, layout, x, partial)
    elif not partitioning.compressed:
        _add_entries(part, x, partial)
    elif partitioning.axis == "rows":
        _launch(smart.KERNEL, CsrLayout(_csr(part, x.size)), x, partial)
    else:
        arrays = (part.major, part.minor, part.values)
        _launch(csc.FORMAT.kernels[0], CscLayout(partial.size, x.size, *arrays), x, partial)


def bind_columns(part: Part, n_cols: int, k: int) -> Callable[[Any, Any], None]:
    """Return the SpMM of a CSR partition for k columns."""
    matrix = _csr(part, n_cols)
    kernel = spmm.kernel_for(matrix, "cuda")
    launch = kernel.bound("cuda", kernel.store(matrix), k)
    return lambda x, partial: launch(x.reshape(-1, k), partial.reshape(-1, k), 1.0, 0.0)


def rewrite(partitioning: Partitioning, span: Span, raw: Any, local: Any) -> None:
    """Rewrite pointers or lines as `partition.rewrite` does, at the speed of a copy."""
    info, kind = np.iinfo(raw.dtype), raw.dtype.type
    limits = (info.min, info.max, span.first)
    if partitioning.compressed:
        limits = (span.start, span.end, span.start)
    pack = PACK_BYTES // raw.itemsize
    if (raw.data.ptr | local.data.ptr) % PACK_BYTES:
        pack = 1
    kernel = ENTRIES.function(f"rewrite_lines<{LINES[raw.itemsize]}, {pack}>")
    _launch_threads(kernel, -(-raw.size // pack), (cupy.int64(raw.size), raw, *map(kind, limits), local))


def add(total: Any, summand: Any, lines: Any) -> None:
    """Launch total[lines] += summand; lines = None: all lines."""
    arguments = (cupy.int64(summand.size), ALL_LINES if lines is None else lines, summand, total)
    _launch_threads(ENTRIES.function("add_lines"), summand.size, arguments)


def gather(vector: Any, positions: Any, k: int | None, packed: Any) -> None:
    """Pack elements by position; of a vector in segments, the leading k, one segment after the other."""
    count = cupy.int64(positions.size)
    if k is None:
        _launch_threads(ENTRIES.function("gather"), positions.size, (count, positions, vector, packed))
    else:
        kernel = SEGMENTS.function(f"pack<{vector.segments}>")
        _launch_threads(kernel, positions.size, (count, positions, cupy.int32(k), vector.units, packed))


def copy_words(peer: Any, array: Any) -> None:
    """Launch array := peer, an array of this or a reachable GPU, by words as large as its alignment allows."""
    size = next(size for size in WORDS if not (peer.data.ptr | array.data.ptr | array.nbytes) % size)
    words = array.nbytes // size
    _launch_threads(ENTRIES.function(f"copy_words<{WORDS[size]}>"), words, (cupy.int64(words), peer, array))


def unpack(packed: Any, values: slice, k: int, vector: Segmented) -> None:
    """Unpack the leading k segments of a range of values; the other segments stay unchanged."""
    count = values.stop - values.start
    arguments = (cupy.int64(values.start), cupy.int64(count), cupy.int32(k), vector.units, packed)
    _launch_threads(SEGMENTS.function(f"unpack<{vector.segments}>"), count, arguments)


def copy(peer: Segmented, values: slice, k: int, vector: Segmented, place: int) -> None:
    """Copy the leading k segments of a range of values from the memory of a peer, starting at `place`."""
    size, count = group_size(vector.segments), values.stop - values.start
    begin = place % size
    # Both pointers start at the group of the first value; within groups, positions are equal.
    there, here = (group // size * vector.segments * size for group in (values.start, place))
    extent = (cupy.int64(begin), cupy.int64(begin + count), cupy.int32(k))
    kernel = SEGMENTS.function(f"copy_segments<{vector.segments}>")
    _launch_threads(kernel, -(-count // VALUES), (*extent, peer.units[there:], vector.units[here:]))


def fill(p: Any, value: float, k: int) -> None:
    """Set all ranks to a value."""
    if isinstance(p, Segmented):
        cpms.write(p, cupy.full(p.n, value), k)
    else:
        p.fill(value)


def finish_ranks(totals: Any, update: Update, sums: Any) -> None:
    """Compute the new ranks of the owned pages, and γ and the dangling rank as sums."""
    types = f"{_type(update.p, update.read)}, {_type(update.new, update.write)}"
    ranks = (_units(update.p), _units(update.new), update.damping, update.base, cupy.int32(NORMS[update.norm]))
    _over_pages(f"finish_pages<{types}>", update.owned, (*ranks, totals, sums[2:]))
    _reduce_blocks(NORMS[update.norm], update.dangling, totals, sums)


def scale(p: Segmented, owned: slice, dangling: Any, factor: float, k: int, totals: Any, sums: Any) -> None:
    """Compute p := factor · p on the owned pages, truncated to k segments."""
    _over_pages(f"scale_pages<{_type(p, k)}>", owned, (_units(p), factor, totals, sums[2:]))
    _reduce_blocks(NORMS["L1"], dangling, totals, sums)


def sum_in_links(links: Any, values: Segmented, p: Segmented, k: int, totals: Any) -> None:
    """Compute the weighted sum over the in-links of each page."""
    matrix, tiling = links.matrix, links.tiles
    pointer = POINTERS[matrix.indptr.dtype.itemsize == 8]
    kernel = f"tile_totals<{pointer}, {THREADS}, {ITEMS}, {_type(p, k)}>"
    arrays = (matrix.indptr, matrix.indices, values.units)
    if totals.size:
        tiles.launch(RANKS, kernel, THREADS, tiling, arrays)(p.units, totals)


def to_ieee(vector: Segmented) -> None:
    """Convert segments to fp64 in place."""
    cpms.to_ieee(vector)


def to_segments(vector: Segmented) -> None:
    """Convert fp64 to segments in place."""
    cpms.to_cpms(vector.storage, vector.n, vector.segments)


def copy_owned(p: Any, owned: slice, k: int, ranks: Any) -> None:
    """Copy the ranks of the owned pages to `ranks`."""
    count = owned.stop - owned.start
    arguments = (cupy.int64(owned.start), cupy.int64(count), _units(p), ranks)
    _launch_threads(RANKS.function(f"copy_pages<{_type(p, k)}>"), count, arguments)


def _launch_threads(kernel: Any, threads: int, arguments: tuple[Any, ...]) -> None:
    """Launch a kernel with the given number of threads; do nothing for 0 threads."""
    if threads:
        kernel((-(-threads // BLOCK),), (BLOCK,), arguments)


def _csr(part: Part, n_cols: int) -> CsrMatrix:
    return CsrMatrix(part.span.stop - part.span.first, n_cols, part.major, part.minor, part.values)


def _add_entries(part: Part, x: Any, y: Any) -> None:
    """Multiply nonzeros sorted by column, which the COO kernel does not support."""
    y.data.memset_async(0, y.nbytes)
    arguments = (cupy.int64(part.values.size), part.minor, part.major, part.values, x, y)
    _launch_threads(ENTRIES.function("add_entries"), part.values.size, arguments)


def _launch(kernel: Kernel, layout: Any, x: Any, y: Any) -> None:
    kernel.bound("cuda", layout)(x, y)


def _over_pages(kernel: str, owned: slice, arguments: tuple[Any, ...]) -> None:
    pages = (cupy.int64(owned.start), cupy.int64(owned.stop - owned.start))
    RANKS.function(kernel)((BLOCKS,), (BLOCK,), (*pages, *arguments))


def _reduce_blocks(norm: int, dangling: Any, totals: Any, sums: Any) -> None:
    """Reduce the results of the thread blocks, which lie behind the two sums in `sums`."""
    changes, picked = sums[2 : 2 + BLOCKS], sums[2 + BLOCKS :]
    RANKS.function("sum_picked")((BLOCKS,), (BLOCK,), (cupy.int64(dangling.size), dangling, totals, picked))
    RANKS.function("join_found")((1,), (BLOCKS,), (cupy.int32(norm), changes, picked, sums))


def _type(ranks: Any, k: int) -> str:
    return head(ranks.segments, k) if isinstance(ranks, Segmented) else FP64


def _units(ranks: Any) -> Any:
    return ranks.units if isinstance(ranks, Segmented) else ranks


OPERATIONS = Operations(
    prepare=prepare,
    multiply=multiply,
    bind_columns=bind_columns,
    rewrite=rewrite,
    add=add,
    combine=combine,
    gather=gather,
    unpack=unpack,
    copy=copy,
    fill=fill,
    finish_ranks=finish_ranks,
    scale=scale,
    sum_in_links=sum_in_links,
    to_ieee=to_ieee,
    to_segments=to_segments,
    copy_owned=copy_owned,
    chunks=cuda_chunks,
    solve=cuda_solve,
    n_sums=2 + 2 * BLOCKS,
)
