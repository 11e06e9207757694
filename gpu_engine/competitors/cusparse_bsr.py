"""cuSPARSE's SpMV on BSR: where the entries of a matrix are dense blocks, and fill them."""

import ctypes
import functools
from dataclasses import dataclass
from typing import Any

from gpu_engine.competitors.cusparse import CusparseLayout, descriptor, multiply
from gpu_engine.competitors.cusparse_library import BASE_ZERO, INDEX_32, REAL_64, pointer, version
from gpu_engine.csr_matrix import INDEX_LIMIT, CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import Format, Kernel, array_module

BSR_ALG1 = 6
"""cusparseSpMVAlg_t."""

BY_ROWS = 2
"""cusparseOrder_t: of the values of a block."""

SIZES = (8, 7, 6, 5, 4, 3, 2)
"""Rows and columns of the blocks that are looked for, the largest first."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The entries of a matrix as dense blocks of `size` rows and columns.

    pointers  of the rows of blocks, int32 [n_rows / size + 1]; columns  of blocks, int32 [blocks]
    values    float64 [blocks, size, size]
    """

    size: int
    pointers: Any
    columns: Any
    values: Any


def find_blocks(matrix: CsrMatrix) -> Blocks:
    """The largest blocks that the entries fill, on the device of the matrix.

    Raises ParameterError where there are none.
    """
    found = (_blocks(matrix, size) for size in SIZES if matrix.nnz <= INDEX_LIMIT)
    blocks = next((blocks for blocks in found if blocks is not None), None)
    if blocks is None:
        raise ParameterError(f"The entries are no dense blocks of {SIZES[-1]} to {SIZES[0]} rows and columns.")
    return blocks


def _blocks(matrix: CsrMatrix, b: int) -> Blocks | None:
    """Blocks of that size, None where entries would have to be filled in."""
    xp = array_module(matrix.indptr)
    if not matrix.nnz or matrix.n_rows % b or matrix.n_cols % b or matrix.nnz % (b * b):
        return None
    lengths = (matrix.indptr[1:] - matrix.indptr[:-1]).reshape(-1, b)
    if bool((lengths != lengths[:, :1]).any()) or bool((lengths[:, 0] % b).any()):
        return None
    starts = matrix.indptr[::b].astype(xp.int64)
    pointers = starts // (b * b)
    block = xp.arange(matrix.nnz // (b * b))
    row = xp.searchsorted(pointers, block, side="right") - 1
    # The rows of a block lie as far apart as its row of blocks has columns, beginning where that begins.
    first = starts[row] + (block - pointers[row]) * b
    within = xp.arange(b)
    places = (first[:, None] + within * lengths[row, :1])[:, :, None] + within
    columns = matrix.indices[places[:, 0, 0]]
    if bool((columns % b).any()) or bool((matrix.indices[places] != columns[:, None, None] + within).any()):
        return None
    return Blocks(b, pointers.astype(xp.int32), columns // b, matrix.values[places])


def _build(matrix: CsrMatrix) -> CusparseLayout:
    blocks = find_blocks(matrix)
    arrays = blocks.pointers, blocks.columns, blocks.values
    sizes = matrix.n_rows // blocks.size, matrix.n_cols // blocks.size, blocks.columns.size, blocks.size, blocks.size
    kinds = INDEX_32, INDEX_32, BASE_ZERO, REAL_64, BY_ROWS
    arguments = (*map(ctypes.c_int64, sizes), *map(pointer, arrays), *map(ctypes.c_int, kinds))
    made = descriptor("cusparseCreateBsr", *arguments)
    return CusparseLayout(matrix, arrays, made)


FORMAT = Format(
    "cusparse",
    "cuSPARSE BSR",
    "NVIDIA's library on BSR, where the entries are dense blocks.",
    lambda matrix: 12 * matrix.nnz,
    _build,
    (
        Kernel(
            "bsr_alg1",
            "cuSPARSE BSR_ALG1, preprocessed.",
            cuda=lambda layout: functools.partial(multiply, layout, BSR_ALG1),
            libraries=version,
        ),
    ),
)
