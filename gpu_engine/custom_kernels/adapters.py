"""CustomKernel and CustomCudaKernel: kernels that users write, as a Format with one kernel."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.custom_kernels.sources import Reference
from gpu_engine.errors import KernelError
from gpu_engine.formats.base import Format, Kernel, Launch, launch, zeros

DEPTH = 6
"""Maximum depth of nested containers that are searched for arrays."""


@dataclass(frozen=True)
class CustomKernel:
    """An SpMV as two Python functions, over NumPy arrays on a CPU, over CuPy arrays on a GPU.

    prepare       matrix → state that `multiply` needs; called two to six times, for its memory and its time
    multiply      (state, x, y): y := A·x in place; on a GPU it launches on CuPy's current stream, never waits
    device        where it runs
    compressed    whether it stores a nonzero in fewer than 12 bytes; this lowers the least plausible time
    bytes_needed  bytes of the state, known before `prepare`; default: those of CSR
    """

    prepare: Callable[[CsrMatrix], Any]
    multiply: Callable[[Any, Any, Any], None]
    device: Literal["cpu", "cuda"] = "cpu"
    summary: str = ""
    compressed: bool = False
    bytes_needed: Callable[[CsrMatrix], int] | None = None

    def as_format(self, name: str) -> Format:
        """Return the kernel as a Format with that name."""

        def product(layout: State, x: Any, y: Any) -> None:
            self.multiply(layout.state, x, y)

        kernel = Kernel(
            "kernel",
            self.summary,
            cpu=product if self.device == "cpu" else None,
            cuda=(lambda layout: lambda x, y: product(layout, x, y)) if self.device == "cuda" else None,
            moved_bytes=lambda _: 0,
        )
        needed = self.bytes_needed or (lambda matrix: matrix.stored_bytes)
        return Format(
            name, name, self.summary, needed, lambda matrix: State(self.prepare(matrix)), (kernel,), self.compressed
        )


def csr_arguments(matrix: CsrMatrix) -> tuple[Any, ...]:
    """Return the default arguments of a kernel before x and y: n_rows (int), indptr, indices, values."""
    import numpy as np

    return np.int32(matrix.n_rows), matrix.indptr, matrix.indices, matrix.values


@dataclass(frozen=True)
class CustomCudaKernel:
    """An SpMV as one CUDA kernel, compiled by NVRTC as C++17.

    source           CUDA C++
    function         name of the kernel; for a template with its arguments: `spmv<32>`
    threads          threads per block
    threads_per_row  threads per row; with `threads` and n_rows they give the number of blocks
    arguments        matrix → the kernel's arguments before x and y: arrays on the GPU and NumPy scalars
    clears           whether y is zeroed before each call, because the kernel adds to it
    """

    source: str
    function: str
    threads: int = 128
    threads_per_row: int = 1
    arguments: Callable[[CsrMatrix], tuple[Any, ...]] = csr_arguments
    clears: bool = False
    summary: str = ""
    compressed: bool = False
    bytes_needed: Callable[[CsrMatrix], int] | None = None

    @property
    def cuda_source(self) -> "GivenSource":
        """Return the source to compile."""
        return GivenSource("", "custom_kernel.cu", (self.function,), self.source)

    def as_format(self, name: str) -> Format:
        """Return the kernel as a Format with that name."""

        def bound(layout: State) -> Launch:
            n_rows, arguments = layout.state
            blocks = -(-n_rows * self.threads_per_row // self.threads)
            # Unlike the Sparsight kernels, it may not wait for the kernel before it on its own.
            product = launch(self.cuda_source, self.function, blocks, self.threads, arguments, follows=False)
            return _after_zeros(product) if self.clears else product

        kernel = Kernel("kernel", self.summary, cuda=bound, source=self.cuda_source, moved_bytes=lambda _: 0)
        needed = self.bytes_needed or (lambda matrix: matrix.stored_bytes)

        def convert(matrix: CsrMatrix) -> State:
            return State((matrix.n_rows, self.arguments(matrix)))

        return Format(name, name, self.summary, needed, convert, (kernel,), self.compressed)


def _after_zeros(product: Launch) -> Launch:
    def call(x: Any, y: Any) -> None:
        zeros(x, y)
        product(x, y)

    return call


@dataclass(frozen=True)
class GivenSource(CudaSource):
    """CUDA source given as text; headers of Sparsight are not inlined."""

    includes: ClassVar[bool] = True
    given: str = ""

    @property
    def text(self) -> str:
        """CUDA source text."""
        return self.given


@dataclass(frozen=True)
class State:
    """The return value of `prepare`, as a layout."""

    state: Any

    @property
    def stored_bytes(self) -> int:
        """Bytes of all arrays in the state."""
        return sum({id(array): int(array.nbytes) for array in _arrays(self.state, DEPTH)}.values())


def _arrays(value: Any, depth: int) -> Iterator[Any]:
    """Yield the arrays in tuples, lists, mappings and attributes."""
    if hasattr(value, "nbytes") and getattr(value, "ndim", None):
        yield value
    elif depth and isinstance(value, Mapping):
        for entry in value.values():
            yield from _arrays(entry, depth - 1)
    elif depth and isinstance(value, tuple | list):
        for entry in value:
            yield from _arrays(entry, depth - 1)
    elif depth and not isinstance(value, type):
        names = (*getattr(value, "__dict__", ()), *getattr(type(value), "__slots__", ()))
        for name in names:
            yield from _arrays(getattr(value, name, None), depth - 1)


def format_of(custom: Any, reference: Reference, backend: str) -> tuple[Format, Kernel]:
    """Return the Format and the kernel of a reference on a backend; raise KernelError if there are none."""
    if isinstance(custom, CustomKernel | CustomCudaKernel):
        custom = custom.as_format(reference.kernel)
    if not isinstance(custom, Format):
        raise KernelError(
            f"{reference} has the type {type(custom).__name__}; expected CustomKernel, CustomCudaKernel or Format."
        )
    kernels = {kernel.variant: kernel for kernel in custom.kernels if kernel.runs_on(backend)}
    if not kernels:
        raise KernelError(f"{reference} has no kernel for the backend {backend}.")
    if reference.variant and reference.variant not in kernels:
        raise KernelError(f"{reference} is not a kernel of that Format. On {backend} it has {', '.join(kernels)}.")
    if not reference.variant and len(kernels) > 1:
        raise KernelError(f"{reference} has {len(kernels)} kernels on {backend}. Name one: {', '.join(kernels)}.")
    return custom, kernels[reference.variant or next(iter(kernels))]
