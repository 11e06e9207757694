"""Format and Kernel: the contract of everything in FORMATS."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource, digest


class Layout(Protocol):
    """A matrix in one format: a frozen dataclass of arrays that all lie on the host or all on one GPU."""

    @property
    def stored_bytes(self) -> int:
        """Sum of the arrays that the format holds, padding included."""
        ...

    def to_csr(self) -> CsrMatrix:
        """The same matrix, exactly, as CSR on the same device."""
        ...


Product = Callable[[Any, Any, Any], None]
"""`(layout, x, y)`: y := A·x; x float64 [n_cols], y float64 [n_rows]; launches on the current stream, never waits."""


@dataclass(frozen=True)
class Kernel:
    """One way to multiply with a format; None for a backend on which it has no meaning.

    source       the CUDA file behind `cuda`
    moved_bytes  bytes of the layout that any run must read at least; default: all that it stores
    """

    variant: str
    summary: str
    cpu: Product | None = None
    cuda: Product | None = None
    source: CudaSource | None = None
    moved_bytes: Callable[[Any], int] | None = None

    def runs_on(self, backend: str) -> bool:
        """Whether the kernel exists for `cpu` or `cuda`."""
        return self.product(backend) is not None

    def product(self, backend: str) -> Product | None:
        """The product of that backend."""
        return self.cuda if backend == "cuda" else self.cpu

    def layout_bytes(self, layout: Layout) -> int:
        """Bytes of the layout that a run reads at least."""
        return self.moved_bytes(layout) if self.moved_bytes else layout.stored_bytes

    def source_hash(self, backend: str) -> str:
        """First 16 hex digits of the sha256 of the source that a record of this backend was measured with."""
        if backend == "cuda" and self.source is not None:
            return digest(self.source.text)
        module = inspect.getmodule(self.cpu)
        return digest(inspect.getsource(module)) if module is not None else ""


@dataclass(frozen=True)
class Format:
    """A storage format.

    bytes_needed  bytes of the layout of a matrix, known before anything is allocated
    from_csr      CSR → layout, on the device where the CSR lies
    """

    name: str
    title: str
    summary: str
    bytes_needed: Callable[[CsrMatrix], int]
    from_csr: Callable[[CsrMatrix], Any]
    kernels: tuple[Kernel, ...]

    def kernels_on(self, backend: str) -> tuple[tuple[str, Kernel], ...]:
        """(`format/variant`, kernel) of every kernel of that backend."""
        return tuple((self.name_of(kernel), kernel) for kernel in self.kernels if kernel.runs_on(backend))

    def name_of(self, kernel: Kernel) -> str:
        """`format/variant`: how records, parameters and pages name a kernel."""
        return f"{self.name}/{kernel.variant}"


def array_module(array: Any) -> Any:
    """NumPy or CuPy: the module of the array. Conversions are written once, for both."""
    if isinstance(array, np.ndarray):
        return np
    import cupy

    return cupy


def row_of_entries(matrix: CsrMatrix) -> Any:
    """Row of each entry: int32 [nnz], on the device of the matrix."""
    xp = array_module(matrix.indices)
    entries = xp.arange(matrix.nnz, dtype=matrix.indptr.dtype)
    return (xp.searchsorted(matrix.indptr, entries, side="right") - 1).astype(xp.int32)


def max_row_length(matrix: CsrMatrix) -> int:
    """Longest row in entries; 0 for a matrix without rows."""
    return int((matrix.indptr[1:] - matrix.indptr[:-1]).max()) if matrix.n_rows else 0
