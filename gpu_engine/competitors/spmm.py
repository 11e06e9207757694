"""LIBRARY_KERNELS: the SpMM of libraries, with the contract of the kernels of Sparsight."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import scipy

from gpu_engine.competitors import cusparse_spmm
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.spmm import SpmmKernel


@dataclass(frozen=True, slots=True)
class ScipyLayout:
    """A matrix of SciPy that shares the arrays of a CSR matrix on the host."""

    csr: CsrMatrix
    matrix: Any

    @staticmethod
    def from_csr(matrix: CsrMatrix) -> "ScipyLayout":
        """Return the matrix of SciPy; the arrays are not copied."""
        return ScipyLayout(matrix, matrix.to_scipy())

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_cols)."""
        return self.csr.shape

    @property
    def stored_bytes(self) -> int:
        """Bytes of the arrays of the matrix."""
        return self.csr.stored_bytes


def _multiply(layout: ScipyLayout, x: Any, y: Any, alpha: float, beta: float) -> None:
    product = layout.matrix @ x if alpha == 1.0 else alpha * (layout.matrix @ x)
    y[...] = product if beta == 0.0 else product + beta * y


SCIPY = SpmmKernel(
    "scipy/spmm",
    "SciPy: A @ X on one thread, copied to Y.",
    ScipyLayout.from_csr,
    lambda matrix: matrix.stored_bytes,
    cpu=_multiply,
    libraries=lambda: {"SciPy": scipy.__version__},
)

LIBRARY_KERNELS: Sequence[SpmmKernel] = (SCIPY, *cusparse_spmm.KERNELS)

LIBRARIES = frozenset(kernel.name.partition("/")[0] for kernel in LIBRARY_KERNELS)
"""Libraries whose kernels are measured: the part of a kernel's name before the slash."""


def library_kernels(backend: str) -> tuple[SpmmKernel, ...]:
    """Return the kernels of libraries on a backend, `cpu` or `cuda`."""
    return tuple(kernel for kernel in LIBRARY_KERNELS if kernel.runs_on(backend))
