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
from gpu_engine.text.units import number


class Layout(Protocol):
    """A matrix in one format: a frozen dataclass of arrays that all lie on the host or all on one GPU."""

    @property
    def stored_bytes(self) -> int:
        """Sum of the arrays that the format holds, padding included."""
        ...

    def to_csr(self) -> CsrMatrix:
        """Return the matrix, bit for bit, as CSR on the device of the layout."""
        ...


ENTRIES_PER_BLOCK = 2**22
"""Nonzeros that a conversion handles at a time, so that its temporaries stay small compared with the layout."""

POINTERS = ("int", "long long")
"""C++ types of a row pointer: 32 bits below 2³¹ nonzeros, 64 from there on."""

CLEAR, CLEAR_BLOCK, CLEAR_ROWS = "clear", 256, 4
"""Name of the kernel of cuda/clear.cuh, its threads per block, and the rows that each thread clears."""

Product = Callable[[Any, Any, Any], None]
"""`(layout, x, y)`: y := A·x; x float64 [n_cols], y float64 [n_rows]; launches on the current stream, never waits."""

Launch = Callable[[Any, Any], None]
"""`(x, y)`: the SpMV of one layout, with everything prepared that does not depend on x and y."""


@dataclass(frozen=True)
class Kernel:
    """One SpMV kernel of a format; `cpu` or `cuda` is None if the kernel does not exist on that back end.

    cuda         layout → its SpMV on the current GPU
    source       the CUDA file behind `cuda`
    parts        kernels of other formats that it launches, if it has no source of its own
    moved_bytes  bytes of the layout that any run must read; default: all that it stores
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
        """CUDA sources of the kernel and of its parts."""
        return tuple(each.source for each in (self, *self.parts) if each.source is not None)

    def runs_on(self, backend: str) -> bool:
        """Return whether the kernel exists on the back end, `cpu` or `cuda`."""
        return (self.cuda if backend == "cuda" else self.cpu) is not None

    def product(self, backend: str) -> Product | None:
        """Return the SpMV of a back end, or None if the kernel does not exist there."""
        return (lambda layout, x, y: self.bound(backend, layout)(x, y)) if self.runs_on(backend) else None

    def bound(self, backend: str, layout: Any) -> Launch:
        """Return the SpMV bound to one layout; raises KernelError if the kernel does not exist on the back end."""
        if backend == "cuda" and self.cuda is not None:
            return self.cuda(layout)
        if backend != "cuda" and self.cpu is not None:
            return partial(self.cpu, layout)
        raise KernelError(f"The kernel {self.variant} does not run on {backend}.")

    def layout_bytes(self, layout: Layout) -> int:
        """Return the bytes of the layout that every run must read."""
        return self.moved_bytes(layout) if self.moved_bytes else layout.stored_bytes

    def source_hash(self, backend: str) -> str:
        """Return the first 16 hex digits of the SHA-256 of the source that runs on a back end."""
        if self.parts:
            return digest(" ".join(part.source_hash(backend) for part in self.parts))
        function, source = (self.cuda, self.source) if backend == "cuda" else (self.cpu, None)
        return source_hash(function, source)


@dataclass(frozen=True)
class Format:
    """A storage format; a compressed one may store a nonzero in fewer than 12 bytes.

    bytes_needed    bytes of the layout, before anything is allocated; an upper bound if the format is compressed
    from_csr        CSR → layout, on the device where the CSR lies; raises ParameterError if the format does not apply
    symmetric_only  whether `from_csr` applies only to symmetric and skew-symmetric matrices
    """

    name: str
    title: str
    summary: str
    bytes_needed: Callable[[CsrMatrix], int]
    from_csr: Callable[[CsrMatrix], Any]
    kernels: tuple[Kernel, ...]
    compressed: bool = False
    symmetric_only: bool = False

    def kernels_on(self, backend: str) -> tuple[tuple[str, Kernel], ...]:
        """Return (`format/variant`, kernel) of every kernel that exists on a back end."""
        return tuple((self.name_of(kernel), kernel) for kernel in self.kernels if kernel.runs_on(backend))

    def name_of(self, kernel: Kernel) -> str:
        """Return `format/variant`, the name of a kernel in records, parameters, and pages."""
        return f"{self.name}/{kernel.variant}"


def source_hash(product: Callable[..., Any] | None, source: CudaSource | None) -> str:
    """Return the first 16 hex digits of the SHA-256 of a CUDA source, or of a function's module; "" without both."""
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
    """Return the SpMV of one kernel launch, which passes x and y after the arguments; 0 blocks launch nothing.

    clears   rows that the kernel CLEAR of the same source zeroes first, for a kernel that adds to y
    follows  the kernel begins with `await_previous`, so that consecutive launches overlap their starts
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
    """Set y := 0, the SpMV of a matrix without nonzeros."""
    y.data.memset_async(0, y.nbytes)


def array_module(array: Any) -> Any:
    """Return the module of the array, NumPy or CuPy, so that conversions are written once for both."""
    if isinstance(array, np.ndarray):
        return np
    import cupy

    return cupy


def entry_blocks(indptr: Any) -> Iterator[tuple[slice, Any, Any]]:
    """Yield (entries, row, slot) of a CSR matrix by blocks: a slice, and per nonzero its row and number in the row.

    indptr  [n_rows + 1]; row and slot are integers [entries of the block] on its device
    """
    xp = array_module(indptr)
    for block in blocks(int(indptr[-1])):
        entries = xp.arange(block.start, block.stop, dtype=indptr.dtype)
        row = xp.searchsorted(indptr, entries, side="right") - 1
        yield block, row, entries - indptr[row]


def blocks(entries: int) -> Iterator[slice]:
    """Yield the slices of ENTRIES_PER_BLOCK that cover `entries` nonzeros."""
    for first in range(0, entries, ENTRIES_PER_BLOCK):
        yield slice(first, min(first + ENTRIES_PER_BLOCK, entries))


def row_of_entries(matrix: CsrMatrix) -> Any:
    """Return the row of each nonzero: int32 [nnz], on the device of the matrix."""
    rows = array_module(matrix.indices).empty(matrix.nnz, dtype=np.int32)
    for entries, row, _ in entry_blocks(matrix.indptr):
        rows[entries] = row
    return rows


def transpose(matrix: CsrMatrix) -> CsrMatrix:
    """Return Aᵀ on the device of A, by a stable sort of the nonzeros by column."""
    xp = array_module(matrix.indices)
    order = xp.argsort(matrix.indices, kind="stable")
    indptr = pointers(xp.bincount(matrix.indices, minlength=matrix.n_cols), matrix.indptr.dtype)
    return CsrMatrix(matrix.n_cols, matrix.n_rows, indptr, row_of_entries(matrix)[order], matrix.values[order])


def row_lengths(matrix: CsrMatrix) -> Any:
    """Return the nonzeros of each row: int32 [n_rows]."""
    return (matrix.indptr[1:] - matrix.indptr[:-1]).astype(np.int32)


def max_row_length(matrix: CsrMatrix) -> int:
    """Return the nonzeros of the longest row; 0 for a matrix without rows."""
    return int((matrix.indptr[1:] - matrix.indptr[:-1]).max()) if matrix.n_rows else 0


def pointers(lengths: Any, dtype: Any) -> Any:
    """Return the offsets of consecutive parts of these lengths, and the end of the last: [parts + 1]."""
    begins = array_module(lengths).zeros(lengths.size + 1, dtype=dtype)
    begins[1:] = lengths.cumsum(dtype=np.int64)
    return begins


def longest_first(lengths: Any) -> Any:
    """Return the rows by a stable sort, longest first: int32 [n_rows]."""
    return array_module(lengths).argsort(-lengths, kind="stable").astype(np.int32)


def inverse(permutation: Any) -> Any:
    """Return the inverse permutation: int32 [n_rows], inverse[permutation[i]] = i."""
    xp = array_module(permutation)
    positions = xp.empty(permutation.size, dtype=np.int32)
    positions[permutation] = xp.arange(permutation.size, dtype=np.int32)
    return positions


def check_room(needed: float, allowed: float) -> None:
    """Raise LayoutTooLargeError if a layout of `needed` bytes exceeds the `allowed` bytes."""
    if needed > allowed:
        raise LayoutTooLargeError(f"needs {number(needed / 1e9)} GB of memory; the limit is {number(allowed / 1e9)} GB")


def lanes_for(entries: int, groups: int) -> int:
    """Return the lanes per row or column: the smallest power of two ≥ the mean length of `groups`, at most 32."""
    mean = -(-entries // groups) if groups else 1
    return min(32, power_of_two(mean))


def power_of_two(number: int) -> int:
    """Return the smallest power of two that is at least the number."""
    return 1 << max(number - 1, 0).bit_length()
