"""cuSPARSE's SpMV through its C API: all algorithms, with preprocessing and reused descriptors and buffers.

CuPy's `A @ x` builds descriptors and uses the default algorithm in every call, which is not a fair baseline.
"""

import ctypes
import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpu_engine.competitors.cusparse_library import (
    BASE_ZERO,
    INDEX_32,
    INDEX_64,
    NO_TRANSPOSE,
    ONE,
    REAL_64,
    TRANSPOSE,
    ZERO,
    LibraryObject,
    call,
    pointer,
    set_stream,
    shared_handle,
    vector,
    version,
)
from gpu_engine.csr_matrix import INDEX_LIMIT, CsrMatrix
from gpu_engine.errors import KernelError
from gpu_engine.formats.base import Format, Kernel, Launch, array_module, row_of_entries

CSR_ALG1, CSR_ALG2, COO_ALG1, COO_ALG2, SELL_ALG1 = 2, 3, 1, 4, 5
"""cusparseSpMVAlg_t."""

ALGORITHMS = {
    "csr_alg1": CSR_ALG1,
    "csr_alg2": CSR_ALG2,
    "coo_alg1": COO_ALG1,
    "coo_alg2": COO_ALG2,
    "sell_alg1": SELL_ALG1,
}
"""Variant of the kernel → cusparseSpMVAlg_t."""

SLICE = 32
"""Rows per SELL slice."""


def descriptor(create: str, *arguments: Any) -> LibraryObject:
    """Return a cusparseSpMatDescr_t."""
    return LibraryObject(create, "cusparseDestroySpMat", *arguments)


@dataclass(frozen=True, slots=True)
class SpmvPlan:
    """Descriptors and workspace of one algorithm for one matrix and one pair of vectors."""

    x: LibraryObject
    y: LibraryObject
    workspace: Any


@dataclass(frozen=True)
class CusparseLayout:
    """A matrix in cuSPARSE.

    arrays      device arrays of the descriptor, which must stay alive with it
    descriptor  cusparseSpMatDescr_t
    transposed  whether SpMVs use the transpose
    """

    matrix: CsrMatrix
    arrays: tuple[Any, ...]
    descriptor: LibraryObject
    transposed: bool = False
    plans: dict[tuple[int, int, int, bool], SpmvPlan] = field(default_factory=dict)

    @property
    def stored_bytes(self) -> int:
        """Bytes of the arrays of the descriptor."""
        return sum(int(array.nbytes) for array in self.arrays)

    def to_csr(self) -> CsrMatrix:
        """Return the matrix that the layout was built from."""
        return self.matrix


def _shape(matrix: CsrMatrix) -> tuple[ctypes.c_int64, ctypes.c_int64, ctypes.c_int64]:
    return ctypes.c_int64(matrix.n_rows), ctypes.c_int64(matrix.n_cols), ctypes.c_int64(matrix.nnz)


def _pointer_type(matrix: CsrMatrix) -> ctypes.c_int:
    return ctypes.c_int(INDEX_64 if matrix.indptr.dtype.itemsize == 8 else INDEX_32)


def csr(matrix: CsrMatrix, transposed: bool = False) -> CusparseLayout:
    """Return CSR, which shares the arrays of the matrix, or CSC of its transpose."""
    arrays = matrix.indptr, matrix.indices, matrix.values
    return CusparseLayout(matrix, arrays, csr_descriptor(matrix), transposed)


def csr_descriptor(matrix: CsrMatrix) -> LibraryObject:
    """Return a new descriptor of a matrix."""
    arrays = matrix.indptr, matrix.indices, matrix.values
    types = _pointer_type(matrix), ctypes.c_int(INDEX_32), ctypes.c_int(BASE_ZERO), ctypes.c_int(REAL_64)
    return descriptor("cusparseCreateCsr", *_shape(matrix), *map(pointer, arrays), *types)


def pointers(lines: Any, n_lines: int, handle: LibraryObject) -> Any:
    """Return the pointers, int32 [n_lines + 1], of nonzeros sorted by line, int32, on the current stream.

    Raises KernelError for 2³¹ nonzeros or more, which cuSPARSE does not support.
    """
    if lines.size > INDEX_LIMIT:
        raise KernelError(
            f"cuSPARSE converts at most {INDEX_LIMIT} coordinates to CSR, not {lines.size}. Use more devices or pCSR."
        )
    import cupy

    result = cupy.empty(n_lines + 1, np.int32)
    set_stream(handle)
    sizes = ctypes.c_int(lines.size), ctypes.c_int(n_lines)
    call("cusparseXcoo2csr", handle, pointer(lines), *sizes, pointer(result), ctypes.c_int(BASE_ZERO))
    return result


def _coo(matrix: CsrMatrix) -> CusparseLayout:
    rows = row_of_entries(matrix)
    return CusparseLayout(matrix, (rows, matrix.indices, matrix.values), coo_descriptor(matrix, rows))


def coo_descriptor(matrix: CsrMatrix, rows: Any) -> LibraryObject:
    """Return a new descriptor of the nonzeros of a matrix; rows: the row of each, int32 [nnz]."""
    arrays = rows, matrix.indices, matrix.values
    types = ctypes.c_int(INDEX_32), ctypes.c_int(BASE_ZERO), ctypes.c_int(REAL_64)
    return descriptor("cusparseCreateCoo", *_shape(matrix), *map(pointer, arrays), *types)


def _slice_widths(matrix: CsrMatrix) -> Any:
    """Return the longest row of each slice, on the device of the matrix: [⌈n_rows / SLICE⌉]."""
    xp = array_module(matrix.indptr)
    lengths = xp.zeros(-(-matrix.n_rows // SLICE) * SLICE, dtype=xp.int64)
    lengths[: matrix.n_rows] = matrix.indptr[1:] - matrix.indptr[:-1]
    return lengths.reshape(-1, SLICE).max(axis=1)


def _sell(matrix: CsrMatrix) -> CusparseLayout:
    import cupy

    widths = _slice_widths(matrix)
    slots = SLICE * int(widths.sum())
    # cuSPARSE requires the same type for offsets and columns.
    index, code = (cupy.int32, INDEX_32) if slots <= INDEX_LIMIT else (cupy.int64, INDEX_64)
    offsets = cupy.zeros(widths.size + 1, dtype=index)
    offsets[1:] = cupy.cumsum(widths * SLICE)
    columns = cupy.full(slots, -1, dtype=index)
    values = cupy.zeros(slots)
    row = row_of_entries(matrix)
    place = cupy.arange(matrix.nnz, dtype=cupy.int64) - matrix.indptr[row]
    place = offsets[row // SLICE] + place * SLICE + row % SLICE
    columns[place], values[place] = matrix.indices, matrix.values
    arrays = offsets, columns, values
    sizes = ctypes.c_int64(slots), ctypes.c_int64(SLICE)
    types = ctypes.c_int(code), ctypes.c_int(code), ctypes.c_int(BASE_ZERO), ctypes.c_int(REAL_64)
    matrix_descriptor = descriptor("cusparseCreateSlicedEll", *_shape(matrix), *sizes, *map(pointer, arrays), *types)
    return CusparseLayout(matrix, arrays, matrix_descriptor)


def multiply(
    layout: CusparseLayout,
    algorithm: int,
    x: Any,
    y: Any,
    adds: bool = False,
    handle: LibraryObject | None = None,
    once: bool = False,
) -> None:
    """Compute y := A·x, or y := A·x + y if it `adds`, on the current stream; the first call prepares a plan.

    handle  handle of the current GPU; None: the shared one
    once    skip preprocessing, which pays off only after several SpMVs
    """
    if not layout.matrix.nnz:
        if not adds:
            y.data.memset_async(0, y.nbytes)
        return
    if handle is None:
        handle = shared_handle()
    else:
        set_stream(handle)
    call("cusparseSpMV", *_prepared(handle, layout, algorithm, x, y, adds, once))


def bind(layout: CusparseLayout, algorithm: int, x: Any, y: Any, adds: bool = False) -> Callable[[], None]:
    """Return the SpMV of a matrix with nonzeros as a call that allocates nothing, on the shared handle's stream."""
    arguments = _prepared(shared_handle(), layout, algorithm, x, y, adds, once=False)
    return functools.partial(call, "cusparseSpMV", *arguments)


def _prepared(
    handle: LibraryObject, layout: CusparseLayout, algorithm: int, x: Any, y: Any, adds: bool, once: bool
) -> tuple[Any, ...]:
    """Return the arguments of the SpMV; prepare a plan for new vectors."""
    key = algorithm, x.data.ptr, y.data.ptr, adds
    if key not in layout.plans:
        layout.plans[key] = _plan(handle, layout, algorithm, x, y, adds, once)
    plan = layout.plans[key]
    return *_arguments(handle, layout, algorithm, plan.x, plan.y, adds), pointer(plan.workspace)


def _product(algorithm: int) -> Callable[[CusparseLayout], Launch]:
    return lambda layout: functools.partial(multiply, layout, algorithm)


def _plan(
    handle: LibraryObject, layout: CusparseLayout, algorithm: int, x: Any, y: Any, adds: bool, once: bool
) -> SpmvPlan:
    """Return a new plan; workspace and preprocessing are shared by all vectors of the matrix."""
    import cupy

    vectors = vector(x), vector(y)
    for (other, _, _, added), plan in layout.plans.items():
        if (other, added) == (algorithm, adds):
            return SpmvPlan(*vectors, plan.workspace)
    arguments = _arguments(handle, layout, algorithm, *vectors, adds)
    size = ctypes.c_size_t()
    call("cusparseSpMV_bufferSize", *arguments, ctypes.byref(size))
    workspace = cupy.empty(max(size.value, 1), dtype=cupy.uint8)
    if not once:
        call("cusparseSpMV_preprocess", *arguments, pointer(workspace))
    return SpmvPlan(*vectors, workspace)


def _arguments(handle: Any, layout: CusparseLayout, algorithm: int, x: Any, y: Any, adds: bool) -> tuple[Any, ...]:
    operation, compute = ctypes.c_int(TRANSPOSE if layout.transposed else NO_TRANSPOSE), ctypes.c_int(REAL_64)
    alpha, beta = ctypes.byref(ONE), ctypes.byref(ONE if adds else ZERO)
    return handle, operation, alpha, layout.descriptor, x, beta, y, compute, ctypes.c_int(algorithm)


def _sell_bytes(matrix: CsrMatrix) -> int:
    return 12 * SLICE * int(_slice_widths(matrix).sum()) if matrix.n_rows else 0


def _format(
    structure: str,
    bytes_needed: Callable[[CsrMatrix], int],
    build: Callable[[CsrMatrix], CusparseLayout],
    *algorithms: str,
) -> Format:
    kernels = tuple(
        Kernel(
            variant,
            f"cuSPARSE {variant.upper()}, with preprocessing.",
            cuda=_product(ALGORITHMS[variant]),
            libraries=version,
        )
        for variant in algorithms
    )
    return Format(
        "cusparse", f"cuSPARSE {structure}", f"NVIDIA's library with {structure}.", bytes_needed, build, kernels
    )


FORMATS = (
    _format("CSR", lambda matrix: matrix.stored_bytes, csr, "csr_alg1", "csr_alg2"),
    _format("COO", lambda matrix: 16 * matrix.nnz, _coo, "coo_alg1", "coo_alg2"),
    _format("SELL", _sell_bytes, _sell, "sell_alg1"),
)
