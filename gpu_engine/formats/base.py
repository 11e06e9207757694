"""Format and Kernel: the contract of everything in FORMATS."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource, digest
from gpu_engine.errors import KernelError, LayoutTooLargeError


class Layout(Protocol):
    """A matrix in one format: a frozen dataclass of arrays that all lie on the host or all on one GPU."""

    @property
    def stored_bytes(self) -> int:
        """Sum of the arrays that the format holds, padding included."""
        ...

    def to_csr(self) -> CsrMatrix:
        """The same matrix, exactly, as CSR on the same device."""
        ...


ENTRIES_PER_BLOCK = 2**22
"""Conversions take so many entries at a time: their temporaries stay small beside the layout."""

POINTERS = ("int", "long long")
"""C++ types of a row pointer: 32 bits below 2³¹ nonzeros, 64 from there on."""

CLEAR, CLEAR_BLOCK, CLEAR_ROWS = "clear", 256, 4
"""The kernel of cuda/clear.cuh, the threads of a block, and the rows of each."""

Product = Callable[[Any, Any, Any], None]
"""`(layout, x, y)`: y := A·x; x float64 [n_cols], y float64 [n_rows]; launches on the current stream, never waits."""

Launch = Callable[[Any, Any], None]
"""`(x, y)`: the product of one layout, with all prepared that does not change with x and y."""


@dataclass(frozen=True)
class Kernel:
    """One way to multiply with a format; None for a backend on which it has no meaning.

    cuda         layout → its product on the current GPU
    source       the CUDA file behind `cuda`
    parts        kernels of other formats that it launches, where it has no source of its own
    moved_bytes  bytes of the layout that any run must read at least; default: all that it stores
    libraries    version of each library that it calls, by name
    """

    variant: str
    summary: str
    cpu: Product | None = None
    cuda: Callable[[Any], Launch] | None = None
    source: CudaSource | None = None
    parts: tuple["Kernel", ...] = ()
    moved_bytes: Callable[[Any], int] | None = None
    libraries: Callable[[], Mapping[str, str]] = dict

    @property
    def sources(self) -> tuple[CudaSource, ...]:
        """The CUDA files behind it and its parts."""
        return tuple(each.source for each in (self, *self.parts) if each.source is not None)

    def runs_on(self, backend: str) -> bool:
        """Whether the kernel exists for `cpu` or `cuda`."""
        return (self.cuda if backend == "cuda" else self.cpu) is not None

    def product(self, backend: str) -> Product | None:
        """The product of that backend."""
        return (lambda layout, x, y: self.bound(backend, layout)(x, y)) if self.runs_on(backend) else None

    def bound(self, backend: str, layout: Any) -> Launch:
        """The product of one layout on that backend; raises KernelError where the kernel does not exist there."""
        if backend == "cuda" and self.cuda is not None:
            return self.cuda(layout)
        if backend != "cuda" and self.cpu is not None:
            return partial(self.cpu, layout)
        raise KernelError(f"The kernel {self.variant} does not exist on {backend}.")

    def layout_bytes(self, layout: Layout) -> int:
        """Bytes of the layout that a run reads at least."""
        return self.moved_bytes(layout) if self.moved_bytes else layout.stored_bytes

    def source_hash(self, backend: str) -> str:
        """First 16 hex digits of the sha256 of the source that a record of this backend was measured with."""
        if self.parts:
            return digest(" ".join(part.source_hash(backend) for part in self.parts))
        own, source = (self.cuda, self.source) if backend == "cuda" else (self.cpu, None)
        return source_hash(own, source)


@dataclass(frozen=True)
class Format:
    """A storage format; a compressed one may hold an entry in fewer than 12 bytes.

    bytes_needed  bytes of the layout of a matrix, known before anything is allocated; at most, where it is compressed
    from_csr      CSR → layout, on the device where the CSR lies
    """

    name: str
    title: str
    summary: str
    bytes_needed: Callable[[CsrMatrix], int]
    from_csr: Callable[[CsrMatrix], Any]
    kernels: tuple[Kernel, ...]
    compressed: bool = False

    def kernels_on(self, backend: str) -> tuple[tuple[str, Kernel], ...]:
        """(`format/variant`, kernel) of every kernel of that backend."""
        return tuple((self.name_of(kernel), kernel) for kernel in self.kernels if kernel.runs_on(backend))

    def name_of(self, kernel: Kernel) -> str:
        """`format/variant`: how records, parameters and pages name a kernel."""
        return f"{self.name}/{kernel.variant}"


def source_hash(product: Callable[..., Any] | None, source: CudaSource | None) -> str:
    """First 16 hex digits of the sha256 of a CUDA source, else of the module of a function; empty without either."""
    if source is not None:
        return digest(source.text)
    module = inspect.getmodule(product)
    return digest(inspect.getsource(module)) if module is not None else ""


def launch(
    source: CudaSource,
    name: str,
    blocks: int,
    threads: int,
    arguments: tuple[Any, ...],
    shared_mem: int = 0,
    clears: int | None = None,
    follows: bool = True,
) -> Launch:
    """A product that is one kernel, which takes x and y after its arguments; without blocks nothing is launched.

    clears   of a kernel that adds to y: the rows that CLEAR, which its source has, zeroes before
    follows  as of `bind`: the kernel begins with `await_previous`, so that products in a row overlap their starts
    """
    if not blocks or clears == 0:
        return _nothing if clears is None else zeros
    product = source.bound(name, blocks, threads, (*arguments, None, None), shared_mem, follows)
    if clears is None:
        return product
    clear = source.bound(
        CLEAR, -(-clears // (CLEAR_BLOCK * CLEAR_ROWS)), CLEAR_BLOCK, (np.int64(clears), None), follows=True
    )

    def call(x: Any, y: Any) -> None:
        clear(y)
        product(x, y)

    return call


def _nothing(x: Any, y: Any) -> None:
    pass


def zeros(x: Any, y: Any) -> None:  # noqa: ARG001 (a product)
    """The product of a matrix without entries: y := 0."""
    y.data.memset_async(0, y.nbytes)


def array_module(array: Any) -> Any:
    """NumPy or CuPy: the module of the array. Conversions are written once, for both."""
    if isinstance(array, np.ndarray):
        return np
    import cupy

    return cupy


def entry_blocks(indptr: Any) -> Iterator[tuple[slice, Any, Any]]:
    """(entries, row, slot) of a CSR matrix, block by block: which entries, the row of each and its number in the row.

    indptr  [n_rows + 1]; row and slot are integers [entries of the block] on its device
    """
    xp = array_module(indptr)
    for block in blocks(int(indptr[-1])):
        entries = xp.arange(block.start, block.stop, dtype=indptr.dtype)
        row = xp.searchsorted(indptr, entries, side="right") - 1
        yield block, row, entries - indptr[row]


def blocks(entries: int) -> Iterator[slice]:
    """All of so many entries, ENTRIES_PER_BLOCK at a time."""
    for first in range(0, entries, ENTRIES_PER_BLOCK):
        yield slice(first, min(first + ENTRIES_PER_BLOCK, entries))


def row_of_entries(matrix: CsrMatrix) -> Any:
    """Row of each entry: int32 [nnz], on the device of the matrix."""
    rows = array_module(matrix.indices).empty(matrix.nnz, dtype=np.int32)
    for entries, row, _ in entry_blocks(matrix.indptr):
        rows[entries] = row
    return rows


def transpose(matrix: CsrMatrix) -> CsrMatrix:
    """Aᵀ, on the device of A; its entries are sorted by column, stably."""
    xp = array_module(matrix.indices)
    order = xp.argsort(matrix.indices, kind="stable")
    indptr = pointers(xp.bincount(matrix.indices, minlength=matrix.n_cols), matrix.indptr.dtype)
    return CsrMatrix(matrix.n_cols, matrix.n_rows, indptr, row_of_entries(matrix)[order], matrix.values[order])


def row_lengths(matrix: CsrMatrix) -> Any:
    """Entries of each row: int32 [n_rows]."""
    return (matrix.indptr[1:] - matrix.indptr[:-1]).astype(np.int32)


def max_row_length(matrix: CsrMatrix) -> int:
    """Longest row in entries; 0 for a matrix without rows."""
    return int((matrix.indptr[1:] - matrix.indptr[:-1]).max()) if matrix.n_rows else 0


def pointers(lengths: Any, dtype: Any) -> Any:
    """Where parts of these lengths begin, and where the last one ends: [parts + 1]."""
    begins = array_module(lengths).zeros(lengths.size + 1, dtype=dtype)
    begins[1:] = lengths.cumsum(dtype=np.int64)
    return begins


def longest_first(lengths: Any) -> Any:
    """The rows by length, longest first, rows of one length in their order: int32 [n_rows]."""
    return array_module(lengths).argsort(-lengths, kind="stable").astype(np.int32)


def inverse(permutation: Any) -> Any:
    """Where each row went: int32 [n_rows], inverse[permutation[place]] = place."""
    xp = array_module(permutation)
    places = xp.empty(permutation.size, dtype=np.int32)
    places[permutation] = xp.arange(permutation.size, dtype=np.int32)
    return places


def check_room(needed: float, allowed: float) -> None:
    """Raises LayoutTooLargeError where a layout of so many bytes is over the memory allowed for one."""
    if needed > allowed:
        raise LayoutTooLargeError(f"needs {needed / 1e9:.3g} GB, {allowed / 1e9:.3g} GB allowed")


def lanes_for(entries: int, groups: int) -> int:
    """Lanes of a warp for each of `groups` rows or columns: the power of two from their mean length up, at most 32."""
    mean = -(-entries // groups) if groups else 1
    return min(32, 1 << max(mean - 1, 0).bit_length())
