"""How the transition matrix lies in the memory of a GPU, and the launches that pull ranks through it.

A pull owns the pattern; the values, where there are any, are handed in with every launch, as they are stored then.
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

FP64, FP32, NONE = "Fp64", "Fp32", "None"
Storage = str | int
"""FP64, FP32, or the number of segments of a value."""

THREADS, ITEMS = 128, 8
"""Of a tile: twice the links of one of `split`, for a page has more to do than a row of y; fastest on an H200."""

WINDOW, FREE_WINDOW = 1024, 256
"""Rows of SELL-C-σ are sorted by length within so many, and ranks with them: a wide window leaves little padding, a
narrow one keeps neighbours near. Without values padding costs a third, so there the narrow one is the faster.
"""

LINKS_AHEAD = (4, 8)
"""Links of a page in flight in SELL-C-σ: few where rows are short, for more would only be instructions there."""

LONG = 16
"""Links of a page, in the mean, from which rows of CSR are long for one thread."""

CSR_BLOCK, CSR_BLOCKS = 256, (6, 3)
"""Threads of a block in CSR, one thread a page, and blocks of a multiprocessor where rows are short and where they are
long: they take one page after the other, and are so few that what their threads read next is still in the cache.
"""

BLOCKS_BY_SEGMENTS = {
    "Head<2, 1>": (6, 3),
    "Head<2, 2>": (6, 2),
    "Head<4, 1>": (6, 3),
    "Head<4, 2>": (6, 2),
    "Head<4, 3>": (6, 2),
    "Head<4, 4>": (6, 1),
}
"""The same where values are in segments, by how many are read: each is a stream that is to stay in the cache."""

LANES_A_PAGE = (2, 8, 32)
"""Threads that may share a page in CSR; the least that are not fewer than its mean links do."""

BLOCK, WARP, PROBE_BLOCK, PROBE_LINKS = 128, 32, 256, 4
SLOTS, SETTLE_BLOCK = 1024, 256
"""As ranks.cuh has them."""

NORMS = {"L1": 0, "L2": 1, "Linf": 2}
"""As ranks.cuh numbers them."""

NEVER = 0.5e300
"""A sum that no probe finds: it writes its sum if it equals this, so the compiler keeps the loads."""


def head(segments: int, k: int, short: bool = False) -> str:
    """The C++ type of values of which the first k segments are used; short: with short exponents."""
    return f"Head<{segments}, {k}, {CODES[True]}>" if short else f"Head<{segments}, {k}>"


def types_of(storage: Storage, free: bool, short: bool = False) -> Iterator[tuple[str, str, str]]:
    """(type of values, of ranks read, of ranks written) of all iterations with a storage.

    The iteration that reaches full precision writes fp64; from then on values are fp64 too, or stay in segments.
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
    """The pattern of a transition matrix on the device.

    values   float64 [slots] on the device, in the order of the layout; padding is 0; whoever stores them takes them
    links    columns int32 [slots] in the same order
    order    int32 [n], the page at each place of a rank vector; None where it is the page itself
    nbytes   of the pattern, without the values
    """

    values: Any
    links: Any
    order: Any
    nbytes: int

    def __init__(self, graph: TransitionMatrix, xp: Any, free: bool) -> None:
        """The matrix of the graph on the device of the module `xp`; `pattern`: its values will not be used."""
        ...

    @staticmethod
    def most_slots(pull: CsrMatrix) -> int:
        """At most so many slots for the links of a host matrix, known before anything is made."""
        ...

    @staticmethod
    def names(pointer: str, types: str) -> tuple[str, ...]:
        """The kernels of an iteration with these types (values, read, written)."""
        ...

    def launch(self, source: CudaSource, types: str, values: Any, ranks: tuple[Any, ...]) -> None:
        """One pull; `ranks` are the arguments from `pages` on."""
        ...


class CsrPull:
    """CSR, one thread a page, as the paper has it."""

    order = None

    def __init__(self, graph: TransitionMatrix, xp: Any, free: bool) -> None:  # noqa: ARG002 (the same with values)
        pull = graph.pull.on(xp)
        self._n = np.int32(graph.n)
        self._pointer = pointer_of(pull)
        self._indptr, self.links, self.values = pull.indptr, pull.indices, pull.values
        self._long, self._multiprocessors = pull.nnz > LONG * graph.n, multiprocessors(xp)
        self.nbytes = int(self._indptr.nbytes + self.links.nbytes)

    @staticmethod
    def most_slots(pull: CsrMatrix) -> int:
        """One a link."""
        return pull.nnz

    @staticmethod
    def names(pointer: str, types: str) -> tuple[str, ...]:
        """One kernel."""
        return (f"csr_thread<{pointer}, {types}>",)

    def launch(self, source: CudaSource, types: str, values: Any, ranks: tuple[Any, ...]) -> None:
        """One thread for one page after the other."""
        arrays = self._n, self._indptr, self.links, values
        kernel = source.function(CsrPull.names(self._pointer, types)[0])
        kernel((self.blocks(types),), (CSR_BLOCK,), (*arrays, *ranks))

    def blocks(self, types: str) -> int:
        """Of a launch with these types (values, read, written)."""
        values = types[: types.index(">") + 1] if types.startswith("Head") else ""
        resident = (
            BLOCKS_BY_SEGMENTS.get(values.replace(f", {CODES[True]}", ""), CSR_BLOCKS)[self._long]
            * self._multiprocessors
        )
        return min(-(-int(self._n) // CSR_BLOCK), resident)


class VectorPull(CsrPull):
    """CSR, several threads a page, which the paper found slightly slower than one."""

    def __init__(self, graph: TransitionMatrix, xp: Any, free: bool) -> None:
        super().__init__(graph, xp, free)
        links = graph.pull.nnz / max(graph.n, 1)
        self._choice = sum(lanes < links for lanes in LANES_A_PAGE[:-1])

    @staticmethod
    def names(pointer: str, types: str) -> tuple[str, ...]:
        """For each number of threads a page."""
        return tuple(f"csr_vector<{lanes}, {pointer}, {types}>" for lanes in LANES_A_PAGE)

    def launch(self, source: CudaSource, types: str, values: Any, ranks: tuple[Any, ...]) -> None:
        """A warp for as many pages as it has threads."""
        kernel = source.function(self.names(self._pointer, types)[self._choice])
        kernel((-(-int(self._n) // BLOCK),), (BLOCK,), (self._n, self._indptr, self.links, values, *ranks))


class EllPull:
    """ELLPACK, one thread a page, as the paper has it."""

    order = None

    def __init__(self, graph: TransitionMatrix, xp: Any, free: bool) -> None:  # noqa: ARG002 (the same with values)
        pull = graph.pull.on(xp)
        columns, values = fill_slots(pull, max_row_length(pull), None, PADDING)
        self._size = np.int32(graph.n), np.int32(columns.shape[0])
        self.links, self.values = columns.ravel(), values.ravel()
        self.nbytes = int(self.links.nbytes)

    @staticmethod
    def most_slots(pull: CsrMatrix) -> int:
        """Every page as many as the one with most."""
        return pull.n_rows * max_row_length(pull)

    @staticmethod
    def names(_: str, types: str) -> tuple[str, ...]:
        """One kernel."""
        return (f"ell_thread<{types}>",)

    def launch(self, source: CudaSource, types: str, values: Any, ranks: tuple[Any, ...]) -> None:
        """One thread a page."""
        kernel = source.function(self.names("", types)[0])
        kernel((-(-int(self._size[0]) // BLOCK),), (BLOCK,), (*self._size, self.links, values, *ranks))


class SellpPull:
    """SELL-C-σ, one thread a page: ours, the fastest where neighbouring pages have about as many links."""

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
        """Of rows sorted within windows, the padding of a slice is at most what the next one lacks."""
        if not pull.n_rows:
            return 0
        lengths = np.diff(pull.indptr)
        longest = np.maximum.reduceat(lengths, np.arange(0, lengths.size, FREE_WINDOW))
        return pull.nnz + WARP * int(longest.sum())

    @staticmethod
    def names(_: str, types: str) -> tuple[str, ...]:
        """For short rows and for long ones."""
        return tuple(f"sellp_thread<{ahead}, {types}>" for ahead in LINKS_AHEAD)

    def launch(self, source: CudaSource, types: str, values: Any, ranks: tuple[Any, ...]) -> None:
        """One thread a page."""
        arrays = self._n, self._offsets, self.links, values
        narrow, wide = (source.function(name) for name in self.names("", types))
        kernel = narrow if self._narrow else wide
        kernel((-(-int(self._n) // BLOCK),), (BLOCK,), (*arrays, *ranks))


class TilePull(CsrPull):
    """CSR cut into the tiles of `split`, a block a tile: ours, the fastest on most graphs."""

    def __init__(self, graph: TransitionMatrix, xp: Any, free: bool) -> None:
        super().__init__(graph, xp, free)
        n = graph.n
        self._tiles = tiles.cut(CsrMatrix(n, n, self._indptr, self.links, self.values), THREADS * ITEMS)
        self.nbytes += self._tiles.nbytes

    @staticmethod
    def names(pointer: str, types: str) -> tuple[str, ...]:
        """The tiles, the rows that borders cut, and pages one by one for a graph without links, which has no tiles."""
        tile = f"tile_pages<{pointer}, {THREADS}, {ITEMS}, {types}>"
        return (tile, f"join_pages<{types}>", *CsrPull.names(pointer, types))

    def launch(self, source: CudaSource, types: str, values: Any, ranks: tuple[Any, ...]) -> None:
        """All tiles, then the pages whose links are in several of them."""
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
    """Of the current device of CuPy; NumPy has one."""
    return 1 if xp is np else int(xp.cuda.Device().attributes["MultiProcessorCount"])


def pointer_of(pull: CsrMatrix) -> str:
    """The C++ type of the row pointers."""
    return POINTERS[pull.indptr.dtype.itemsize == 8]


def source_of(layout: str, storage: Storage, free: bool, pointer: str, short: bool = False) -> CudaSource:
    """All kernels of runs in a layout of PULLS and a storage, without values if `pattern`."""
    names: list[str] = []
    for values, read, write in types_of(storage, free, short):
        names += PULLS[layout].names(pointer, f"{values}, {read}, {write}")
        names.append(f"gather_pages<{values}, {read}>")
    return CudaSource(__package__, "iterate.cu", tuple(dict.fromkeys(names)))
