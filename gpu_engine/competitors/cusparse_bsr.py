"""cuSPARSE's SpMV on BSR, for matrices whose nonzeros form complete dense blocks."""

import ctypes
import functools

from gpu_engine.competitors.cusparse import CusparseLayout, descriptor, multiply
from gpu_engine.competitors.cusparse_library import (
    BASE_ZERO,
    BY_ROWS,
    INDEX_32,
    REAL_64,
    LibraryObject,
    pointer,
    version,
)
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.formats.base import Format, Kernel
from gpu_engine.formats.dense_blocks import Blocks, find_blocks

BSR_ALG1 = 6
"""cusparseSpMVAlg_t."""


def bsr_descriptor(matrix: CsrMatrix, blocks: Blocks) -> LibraryObject:
    """Return a new descriptor of the blocks of a matrix."""
    size = blocks.size
    sizes = matrix.n_rows // size, matrix.n_cols // size, blocks.columns.size, size, size
    kinds = INDEX_32, INDEX_32, BASE_ZERO, REAL_64, BY_ROWS
    arguments = (*map(ctypes.c_int64, sizes), *map(pointer, blocks.arrays), *map(ctypes.c_int, kinds))
    return descriptor("cusparseCreateBsr", *arguments)


def bytes_needed(matrix: CsrMatrix) -> int:
    """Return an upper bound of the bytes of the blocks."""
    return 12 * matrix.nnz


def _build(matrix: CsrMatrix) -> CusparseLayout:
    blocks = find_blocks(matrix)
    return CusparseLayout(matrix, blocks.arrays, bsr_descriptor(matrix, blocks))


FORMAT = Format(
    "cusparse",
    "cuSPARSE BSR",
    "NVIDIA's library with BSR, for nonzeros that form dense blocks.",
    bytes_needed,
    _build,
    (
        Kernel(
            "bsr_alg1",
            "cuSPARSE BSR_ALG1, with preprocessing.",
            cuda=lambda layout: functools.partial(multiply, layout, BSR_ALG1),
            libraries=version,
        ),
    ),
)
