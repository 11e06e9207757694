"""PULLS: layouts of the transition matrix in GPU memory, and the launches that pull ranks through it.

A pull owns the pattern. Every launch gets the values, if there are any, in their current storage.
"""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from gpu_engine.cpms.convert import CODES
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats import tiles
from gpu_engine.formats.base import POINTERS, inverse, max_row_length
from gpu_engine.formats.ell import PADDING, fill_slots
from gpu_engine.formats.sellp import Slices
from gpu_engine.pagerank.graph import TransitionMatrix
from gpu_engine.pagerank.launch_shapes import CSR_BLOCKS, CSR_THREADS, ELL_THREADS, LONG, segments_of_values

FP64, FP32, NONE = "Fp64", "Fp32", "None"
Storage = str | int
"""FP64, FP32, or the number of segments per value."""

THREADS, ITEMS = 128, 8
"""Threads and links per thread of a tile: twice the links of `split`, because a page needs more work than a row."""

WINDOW, FREE_WINDOW = 1024, 256
"""Sorting windows of SELL-C-σ in rows, with and without values; without values padding costs only a third."""

LINKS_AHEAD = (4, 8)
"""Links of a page that are loaded ahead in SELL-C-σ, for short and for long rows."""

LANES_A_PAGE = (2, 8, 32)
"""Numbers of threads that can share a page in CSR; the least one that is at least the mean links per page is used."""

BLOCK, WARP, PROBE_BLOCK, PROBE_LINKS = 128, 32, 256, 4
SLOTS, SETTLE_BLOCK = 1024, 256
"""Constants of ranks.cuh."""

NORMS = {"L1": 0, "L2": 1, "Linf": 2}
"""Numbers of the norms in ranks.cuh."""

NEVER = 0.5e300
"""Impossible sum: the probe writes its sum only if it equals this, so that the compiler keeps the loads."""


def head(segments: int, k: int, short: bool = False) -> str:
    """Return the C++ type of values whose first k segments are used; short: with short exponents."""
    return f"Head<{segments}, {k}, {CODES[True]}>" if short else f"Head<{segments}, {k}>"


def types_of(storage: Storage, free: bool, short: bool = False) -> Iterator[tuple[str, str, str]]:
    """Yield (type of values, of ranks read, of ranks written) of all iterations with a storage.

    The iteration that reaches full precision writes fp64; afterwards values are fp64 too, or stay in segments.
    """
    if not isinstance(storage, int):
        yield (NONE if free else storage), storage, storage
        return
    for k in range(1, storage):
        read = head(storage, k, short)
        for write in (read, FP64 if k + 1 == storage else head(storage, k + 1, short)):
            yield (NONE if free else read), read, write
    for values in (NONE,) if free else (FP64, head(storage, storage, short)):
        yield values, FP64, FP64


class Pull(Protocol):
    """Pattern of a transition matrix on the device.

    values   float64 [slots] on the device, in the order of the layout; padding is 0; the state of the ranks takes them
    links    columns int32 [slots] in the same order
    order    int32 [n], the page at each index of a rank vector; None for the identity
    nbytes   bytes of the pattern, without the values
    """

    values: Any
    links: Any
    order: Any
    nbytes: int

    def __init__(self, graph: TransitionMatrix, xp: Any, free: bool) -> None:
        """Store the matrix of the graph on the device of the module `xp`; free: its values will not be used."""
        ...

    @staticmethod
    def most_slots(pull: CsrMatrix) -> int:
        """Return the most slots for the links of a host matrix, without creating the layout."""
        ...

    @staticmethod
    def names(pointer: str, types: str) -> tuple[str, ...]:
        """Return the kernel names of an iteration with these types (values, read, written)."""
        ...

    def launch(self, source: CudaSource, types: str, values: Any, ranks: tuple[Any, ...]) -> None:
        """Launch one pull; `ranks` are the arguments from `pages` on."""
        ...


class CsrPull:
    """CSR with one thread per page, as in the paper."""

    order = None

    def __init__(self, graph: TransitionMatrix, xp: Any, free: bool) -> None:  # noqa: ARG002 (same pattern with values)
        pull = graph.pull.on(xp)
        self._n = np.int32(graph.n)
        self._pointer = pointer_of(pull)
        self._indptr, self.links, self.values = pull.indptr, pull.indices, pull.values
        self._long, self._multiprocessors = pull.nnz > LONG * graph.n, multiprocessors(xp)
        self.nbytes = int(self._indptr.nbytes + self.links.nbytes)

    @staticmethod
    def most_slots(pull: CsrMatrix) -> int:
        """Return one slot per link."""
        return pull.nnz

    @staticmethod
    def names(pointer: str, types: str) -> tuple[str, ...]:
        """Return the name of the only kernel."""
        return (f"csr_thread<{pointer}, {types}>",)

    def launch(self, source: CudaSource, types: str, values: Any, ranks: tuple[Any, ...]) -> None:
        """Launch threads that process one page after the other."""
        arrays = self._n, self._indptr, self.links, values
        kernel = source.function(CsrPull.names(self._pointer, types)[0])
        kernel((self.blocks(types),), (CSR_THREADS,), (*arrays, *ranks))

    def blocks(self, types: str) -> int:
        """Return the number of blocks of a launch with these types (values, read, written)."""
        resident = CSR_BLOCKS[segments_of_values(types)][self._long] * self._multiprocessors
        return min(-(-int(self._n) // CSR_THREADS), resident)


class VectorPull(CsrPull):
    """CSR with several threads per page, slightly slower than one thread according to the paper."""

    def __init__(self, graph: TransitionMatrix, xp: Any, free: bool) -> None:
        super().__init__(graph, xp, free)
        links = graph.pull.nnz / max(graph.n, 1)
        self._choice = sum(lanes < links for lanes in LANES_A_PAGE[:-1])

    @staticmethod
    def names(pointer: str, types: str) -> tuple[str, ...]:
        """Return one kernel name per number of threads per page."""
        return tuple(f"csr_vector<{lanes}, {pointer}, {types}>" for lanes in LANES_A_PAGE)

    def launch(self, source: CudaSource, types: str, values: Any, ranks: tuple[Any, ...]) -> None:
        """Launch warps that each process as many pages as they have threads."""
        kernel = source.function(self.names(self._pointer, types)[self._choice])
        kernel((-(-int(self._n) // BLOCK),), (BLOCK,), (self._n, self._indptr, self.links, values, *ranks))


class EllPull:
    """ELLPACK with one thread per page, as in the paper."""

    order = None

    def __init__(self, graph: TransitionMatrix, xp: Any, free: bool) -> None:  # noqa: ARG002 (same pattern with values)
        pull = graph.pull.on(xp)
        columns, values = fill_slots(pull, max_row_length(pull), None, PADDING)
        self._size = np.int32(graph.n), np.int32(columns.shape[0])
        self.links, self.values = columns.ravel(), values.ravel()
        self.nbytes = int(self.links.nbytes)

    @staticmethod
    def most_slots(pull: CsrMatrix) -> int:
        """Return the slots if every page has as many as the page with the most links."""
        return pull.n_rows * max_row_length(pull)

    @staticmethod
    def names(_: str, types: str) -> tuple[str, ...]:
        """Return the name of the only kernel."""
        return (f"ell_thread<{types}>",)

    def launch(self, source: CudaSource, types: str, values: Any, ranks: tuple[Any, ...]) -> None:
        """Launch one thread per page."""
        kernel, threads = source.function(self.names("", types)[0]), ELL_THREADS[segments_of_values(types)]
        kernel((-(-int(self._size[0]) // threads),), (threads,), (*self._size, self.links, values, *ranks))


class SellpPull:
    """SELL-C-σ with one thread per page; fastest if neighboring pages have similar numbers of links."""

    def __init__(self, graph: TransitionMatrix, xp: Any, free: bool) -> None:
        pull = graph.pull.on(xp)
        self._n = np.int32(graph.n)
        slices = Slices.of(pull, WARP, FREE_WINDOW if free else WINDOW)
        self._offsets, self.order = slices.offsets, slices.order
        self._narrow = slices.size <= LINKS_AHEAD[0] * graph.n
        places = inverse(slices.order)
        self.links, self.values = xp.full(slices.size, PADDING, np.int32), xp.zeros(slices.size)
        for entries, slots in slices.slots(pull.indptr):
            self.links[slots], self.values[slots] = places[pull.indices[entries]], pull.values[entries]
        self.nbytes = int(self._offsets.nbytes + self.links.nbytes)

    @staticmethod
    def most_slots(pull: CsrMatrix) -> int:
        """Return a bound: with sorted rows, the padding of a slice is at most the decrease to the next slice."""
        if not pull.n_rows:
            return 0
        lengths = np.diff(pull.indptr)
        longest = np.maximum.reduceat(lengths, np.arange(0, lengths.size, FREE_WINDOW))
        return pull.nnz + WARP * int(longest.sum())

    @staticmethod
    def names(_: str, types: str) -> tuple[str, ...]:
        """Return the kernel names for short and for long rows."""
        return tuple(f"sellp_thread<{ahead}, {types}>" for ahead in LINKS_AHEAD)

    def launch(self, source: CudaSource, types: str, values: Any, ranks: tuple[Any, ...]) -> None:
        """Launch one thread per page."""
        arrays = self._n, self._offsets, self.links, values
        narrow, wide = (source.function(name) for name in self.names("", types))
        kernel = narrow if self._narrow else wide
        kernel((-(-int(self._n) // BLOCK),), (BLOCK,), (*arrays, *ranks))


class TilePull(CsrPull):
    """CSR in the tiles of `split`, with one block per tile; fastest on most graphs."""

    def __init__(self, graph: TransitionMatrix, xp: Any, free: bool) -> None:
        super().__init__(graph, xp, free)
        n = graph.n
        self._tiles = tiles.cut(CsrMatrix(n, n, self._indptr, self.links, self.values), THREADS * ITEMS)
        self.nbytes += self._tiles.nbytes

    @staticmethod
    def names(pointer: str, types: str) -> tuple[str, ...]:
        """Return the kernel names for tiles, for cut rows, and for a graph without links, which has no tiles."""
        tile = f"tile_pages<{pointer}, {THREADS}, {ITEMS}, {types}>"
        return (tile, f"join_pages<{types}>", *CsrPull.names(pointer, types))

    def launch(self, source: CudaSource, types: str, values: Any, ranks: tuple[Any, ...]) -> None:
        """Launch all tiles, then the pages whose links lie in several tiles."""
        t = self._tiles
        if not t.count:
            super().launch(source, types, values, ranks)
            return
        tile, join, *_ = self.names(self._pointer, types)
        arrays = (t.borders, t.first_rows, self._indptr, self.links, values, t.first_sums, t.last_sums)
        source.function(tile)((t.count,), (THREADS,), (*arrays, *ranks))
        if cut := int(t.cut_rows.size):
            parts = (np.int32(cut), t.cut_rows, t.first_tiles, t.last_tiles, t.first_sums, t.last_sums)
            blocks = -(-cut // (tiles.JOIN_BLOCK // WARP))
            source.function(join)((blocks,), (tiles.JOIN_BLOCK,), (*parts, *ranks))


PULLS: dict[str, type[Pull]] = {
    "csr/thread": CsrPull,
    "csr/vector": VectorPull,
    "ell/thread": EllPull,
    "sellp/thread": SellpPull,
    "split/tile": TilePull,
}


def multiprocessors(xp: Any) -> int:
    """Return the number of multiprocessors of the current device of CuPy; 1 for NumPy."""
    return 1 if xp is np else int(xp.cuda.Device().attributes["MultiProcessorCount"])


def pointer_of(pull: CsrMatrix) -> str:
    """Return the C++ type of the row pointers."""
    return POINTERS[pull.indptr.dtype.itemsize == 8]


def source_of(layout: str, storage: Storage, free: bool, pointer: str, short: bool = False) -> CudaSource:
    """Return all kernels of runs in a layout of PULLS and a storage; free: without values."""
    names: list[str] = []
    for values, read, write in types_of(storage, free, short):
        names += PULLS[layout].names(pointer, f"{values}, {read}, {write}")
        names.append(f"gather_pages<{values}, {read}>")
    return CudaSource(__package__, "iterate.cu", tuple(dict.fromkeys(names)))
