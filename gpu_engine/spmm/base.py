"""SpmmKernel: the contract of every kernel that multiplies a sparse matrix by a dense one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import KernelError
from gpu_engine.formats.base import source_hash

SpmmLaunch = Callable[[Any, Any, float, float], None]
"""SpMM `(X, Y, α, β)` of one layout and number of columns: Y := α·A·X + β·Y.

X float64 [n_cols, k], Y float64 [n_rows, k], both row major: the elements of a row are neighbours, rows may be further
apart than k. α = 0 does not read X, β = 0 does not read Y. It launches on the current stream, and neither waits nor
allocates.
"""


@dataclass(frozen=True)
class SpmmKernel:
    """A kernel of SpMM; `cpu` or `cuda` is None on a backend that it does not support.

    name          `format/variant`, in records, parameters, and pages
    store         CSR → layout, on the device where the CSR lies
    bytes_needed  bytes of the layout, before anything is allocated
    cpu           `(layout, X, Y, α, β)`
    cuda          `(layout, k)` → SpMM on the current GPU, whose buffers for k columns it allocates
    libraries     version of each library that it calls, by name
    """

    name: str
    summary: str
    store: Callable[[CsrMatrix], Any]
    bytes_needed: Callable[[CsrMatrix], int]
    cpu: Callable[[Any, Any, Any, float, float], None] | None = None
    cuda: Callable[[Any, int], SpmmLaunch] | None = None
    source: CudaSource | None = None
    libraries: Callable[[], Mapping[str, str]] = dict

    def runs_on(self, backend: str) -> bool:
        """Return whether the kernel exists on the backend, `cpu` or `cuda`."""
        return (self.cuda if backend == "cuda" else self.cpu) is not None

    def bound(self, backend: str, layout: Any, k: int) -> SpmmLaunch:
        """Return the SpMM of a layout for k columns; raises KernelError if the kernel does not exist on the backend."""
        if backend == "cuda" and self.cuda is not None:
            return self.cuda(layout, k)
        if backend != "cuda" and self.cpu is not None:
            return partial(self.cpu, layout)
        raise KernelError(f"The kernel {self.name} does not run on {backend}.")

    def source_hash(self, backend: str) -> str:
        """Return the first 16 hex digits of the SHA-256 of the source that runs on a backend."""
        function, source = (self.cuda, self.source) if backend == "cuda" else (self.cpu, None)
        return source_hash(function, source)
