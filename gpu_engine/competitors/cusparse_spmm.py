"""cuSPARSE's SpMM through its C API: all algorithms for fp64, in both orders, with reused descriptors and workspaces.

X and Y have to be aligned to 16 bytes, with even leading dimensions if k is even: a misaligned load ends the process.

CuPy's `A @ X` builds descriptors and uses the default algorithm, column major, in every call, which is not a fair
baseline.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpu_engine.competitors import cusparse_bsr
from gpu_engine.competitors.cusparse import coo_descriptor, csr_descriptor
from gpu_engine.competitors.cusparse_bsr import bsr_descriptor
from gpu_engine.competitors.cusparse_library import (
    NO_TRANSPOSE,
    REAL_64,
    DenseMatrix,
    LibraryObject,
    call,
    pointer,
    shared_handle,
    version,
)
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.formats.base import row_of_entries
from gpu_engine.formats.csr.layout import CsrLayout
from gpu_engine.formats.dense_blocks import Blocks, find_blocks
from gpu_engine.spmm.base import Order, SpmmKernel, SpmmLaunch


@dataclass(frozen=True, slots=True)
class CooLayout:
    """COO, which shares columns and values with a matrix; rows: int32 [nnz]."""

    matrix: CsrMatrix
    rows: Any

    @staticmethod
    def from_csr(matrix: CsrMatrix) -> "CooLayout":
        """Store the row of each nonzero."""
        return CooLayout(matrix, row_of_entries(matrix))

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_cols)."""
        return self.matrix.shape

    @property
    def stored_bytes(self) -> int:
        """Bytes of rows, columns, and values."""
        return 16 * self.matrix.nnz


@dataclass(frozen=True, slots=True)
class BsrLayout:
    """BSR of a matrix whose nonzeros form dense blocks."""

    matrix: CsrMatrix
    blocks: Blocks

    @staticmethod
    def from_csr(matrix: CsrMatrix) -> "BsrLayout":
        """Store the blocks; raises ParameterError if the nonzeros do not form any."""
        return BsrLayout(matrix, find_blocks(matrix))

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_cols)."""
        return self.matrix.shape

    @property
    def stored_bytes(self) -> int:
        """Bytes of the arrays of the blocks."""
        return sum(int(array.nbytes) for array in self.blocks.arrays)


@dataclass(frozen=True, slots=True)
class Structure:
    """A storage structure of the library; describe: layout → new descriptor of its arrays."""

    store: Callable[[CsrMatrix], Any]
    bytes_needed: Callable[[CsrMatrix], int]
    describe: Callable[[Any], LibraryObject]


CSR = Structure(CsrLayout.from_csr, lambda m: m.stored_bytes, lambda layout: csr_descriptor(layout.matrix))
COO = Structure(CooLayout.from_csr, lambda m: 16 * m.nnz, lambda layout: coo_descriptor(layout.matrix, layout.rows))
BSR = Structure(
    BsrLayout.from_csr, cusparse_bsr.bytes_needed, lambda layout: bsr_descriptor(layout.matrix, layout.blocks)
)


@dataclass(frozen=True, slots=True)
class Algorithm:
    """An algorithm of cusparseSpMM.

    number           cusparseSpMMAlg_t
    is_reproducible  whether it gives the same bits in every run; preprocessed, CSR_ALG3 does not
    is_preprocessed  whether cusparseSpMM_preprocess runs when the SpMM is bound; it is for CSR_ALG1 and CSR_ALG3 only
    """

    name: str
    structure: Structure
    number: int
    is_reproducible: bool = False
    is_preprocessed: bool = False

    @property
    def variant(self) -> str:
        """Name of the kernel after `cusparse/`."""
        return f"spmm_{self.name.lower()}{'_pre' if self.is_preprocessed else ''}"


ALGORITHMS = (
    Algorithm("CSR_DEFAULT", CSR, 0),
    Algorithm("CSR_ALG1", CSR, 4),
    Algorithm("CSR_ALG1", CSR, 4, is_preprocessed=True),
    Algorithm("CSR_ALG2", CSR, 6),
    Algorithm("CSR_ALG3", CSR, 12, is_reproducible=True),
    Algorithm("CSR_ALG3", CSR, 12, is_preprocessed=True),
    Algorithm("COO_ALG1", COO, 1),
    Algorithm("COO_ALG2", COO, 2, is_reproducible=True),
    Algorithm("COO_ALG3", COO, 3),
    Algorithm("COO_ALG4", COO, 5),
    Algorithm("BSR_ALG1", BSR, 14),
)


class BoundSpmm:
    """An SpMM of one layout, algorithm, order, and number of columns, with its descriptors and its workspace.

    It has a descriptor of the matrix of its own: cuSPARSE keeps the workspace of the preprocessing there.
    """

    def __init__(self, algorithm: Algorithm, order: Order, layout: Any, k: int) -> None:
        """Allocate the workspace and preprocess; wait until that is done, so that any stream may multiply."""
        import cupy

        # The descriptor has addresses only: the arrays live as long as the launch.
        self._layout = layout
        self._number, self._matrix = ctypes.c_int(algorithm.number), algorithm.structure.describe(layout)
        self._x, self._y = DenseMatrix(order), DenseMatrix(order)
        # No call here reads or writes X or Y, but their descriptors need arrays.
        room = cupy.empty(max(layout.shape) * k)
        x, y = (_shaped(room, rows, k, order) for rows in reversed(layout.shape))
        arguments, size = self._arguments(x, y, 1.0, 0.0), ctypes.c_size_t()
        call("cusparseSpMM_bufferSize", *arguments, ctypes.byref(size))
        self._workspace = cupy.empty(max(size.value, 1), dtype=cupy.uint8)
        if algorithm.is_preprocessed:
            call("cusparseSpMM_preprocess", *arguments, pointer(self._workspace))
            cupy.cuda.get_current_stream().synchronize()

    def multiply(self, x: Any, y: Any, alpha: float, beta: float) -> None:
        """Launch Y := α·A·X + β·Y on the current stream."""
        if alpha == 0.0:
            # The library may read X.
            scale(x, y, alpha, beta)
        else:
            call("cusparseSpMM", *self._arguments(x, y, alpha, beta), pointer(self._workspace))

    def _arguments(self, x: Any, y: Any, alpha: float, beta: float) -> tuple[Any, ...]:
        """Return the arguments that all calls share; α and β lie on the host."""
        plain = ctypes.c_int(NO_TRANSPOSE)
        read = ctypes.byref(ctypes.c_double(alpha)), self._matrix, self._x.describe(x)
        written = ctypes.byref(ctypes.c_double(beta)), self._y.describe(y)
        return shared_handle(), plain, plain, *read, *written, ctypes.c_int(REAL_64), self._number


def _shaped(room: Any, rows: int, k: int, order: Order) -> Any:
    """Return the beginning of a buffer as a matrix [rows, k] of an order."""
    part = room[: rows * k]
    return part.reshape(rows, k) if order == "row" else part.reshape(k, rows).T


def scale(x: Any, y: Any, alpha: float, beta: float) -> None:  # noqa: ARG001 (an SpMM)
    """Set Y := β·Y, the SpMM of a matrix without nonzeros; β = 0 does not read Y."""
    if beta == 0.0:
        y.fill(0.0)
    elif beta != 1.0:
        y *= beta


def _binder(algorithm: Algorithm, order: Order) -> Callable[[Any, int], SpmmLaunch]:
    """Return the function that binds the SpMM of an algorithm, in an order, to a layout and a number of columns."""

    def bind(layout: Any, k: int) -> SpmmLaunch:
        return BoundSpmm(algorithm, order, layout, k).multiply if layout.matrix.nnz and k else scale

    return bind


def _kernel(algorithm: Algorithm) -> SpmmKernel:
    structure, suffix = algorithm.structure, ", preprocessed" if algorithm.is_preprocessed else ""
    return SpmmKernel(
        f"cusparse/{algorithm.variant}",
        f"cuSPARSE SpMM {algorithm.name}{suffix}.",
        structure.store,
        structure.bytes_needed,
        cuda=_binder(algorithm, "row"),
        cuda_columns=_binder(algorithm, "column"),
        libraries=version,
    )


KERNELS = tuple(_kernel(algorithm) for algorithm in ALGORITHMS)
"""SpMM of cuSPARSE, one kernel per algorithm."""
