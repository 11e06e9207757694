"""SpmmKernel: the contract of every kernel that multiplies a sparse matrix by a dense one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import KernelError
from gpu_engine.formats.base import source_hash
from gpu_engine.spmm.order import by_copies

Order = Literal["row", "column"]
"""Row major: the elements of a row are neighbors. Column major: those of a column are."""

ORDERS: tuple[Order, ...] = get_args(Order)

SpmmLaunch = Callable[[Any, Any, float, float], None]
"""SpMM `(X, Y, α, β)` of one layout, number of columns, and order: Y := α·A·X + β·Y.

X float64 [n_cols, k], Y float64 [n_rows, k], both row major with rows k or more elements apart, or both column major
with columns n_cols or n_rows or more apart. α = 0 does not read X, β = 0 does not read Y. It launches on the current
stream, and on a GPU it neither waits nor allocates.
"""


@dataclass(frozen=True)
class SpmmKernel:
    """A kernel of SpMM; `cpu` or `cuda` is None on a backend that it does not support.

    name          `format/variant`, in records, parameters, and pages
    store         CSR → layout, on the device where the CSR lies; it has `shape` and `stored_bytes`
    bytes_needed  bytes of the layout, before anything is allocated
    cpu           `(layout, X, Y, α, β)`, row major
    cuda          `(layout, k)` → row-major SpMM on the current GPU, whose buffers for k columns it allocates
    cuda_columns  the same, column major; None: `cuda` on row-major copies of X and Y
    orders        orders of X and Y that it supports
    libraries     version of each library that it calls, by name
    """

    name: str
    summary: str
    store: Callable[[CsrMatrix], Any]
    bytes_needed: Callable[[CsrMatrix], int]
    cpu: Callable[[Any, Any, Any, float, float], None] | None = None
    cuda: Callable[[Any, int], SpmmLaunch] | None = None
    cuda_columns: Callable[[Any, int], SpmmLaunch] | None = None
    source: CudaSource | None = None
    orders: tuple[Order, ...] = ORDERS
    libraries: Callable[[], Mapping[str, str]] = dict

    def runs_on(self, backend: str) -> bool:
        """Return whether the kernel exists on the backend, `cpu` or `cuda`."""
        return (self.cuda if backend == "cuda" else self.cpu) is not None

    def bound(self, backend: str, layout: Any, k: int, order: Order = "row") -> SpmmLaunch:
        """Return the SpMM of a layout for k columns in an order.

        Raises KernelError if the kernel does not exist on the backend, or not in the order.
        """
        if order not in self.orders:
            raise KernelError(f"The kernel {self.name} does not support {order}-major matrices.")
        if order == "column" and backend == "cuda" and self.cuda_columns is not None:
            return self.cuda_columns(layout, k)
        launch = self._by_rows(backend, layout, k)
        return launch if order == "row" else by_copies(launch, _array_module(backend), layout.shape, k)

    def _by_rows(self, backend: str, layout: Any, k: int) -> SpmmLaunch:
        """Return the row-major SpMM."""
        if backend == "cuda" and self.cuda is not None:
            return self.cuda(layout, k)
        if backend != "cuda" and self.cpu is not None:
            return partial(self.cpu, layout)
        raise KernelError(f"The kernel {self.name} does not run on {backend}.")

    def source_hash(self, backend: str) -> str:
        """Return the first 16 hex digits of the SHA-256 of the source that runs on a backend."""
        function, source = (self.cuda, self.source) if backend == "cuda" else (self.cpu, None)
        return source_hash(function, source)


def _array_module(backend: str) -> Any:
    """Return CuPy for `cuda`, NumPy for `cpu`."""
    if backend == "cpu":
        return np
    import cupy

    return cupy
