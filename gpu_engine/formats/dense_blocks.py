"""Blocks: the nonzeros of a matrix as dense blocks, as finite elements with several unknowns per node have them."""

from dataclasses import dataclass
from typing import Any

from gpu_engine.csr_matrix import INDEX_LIMIT, CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import array_module

SIZES = (8, 7, 6, 5, 4, 3, 2)
"""Block sizes that are tried, the largest first."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The nonzeros of a matrix as dense blocks of `size` rows and columns.

    pointers  block row pointers, int32 [n_rows / size + 1]; columns: block columns, int32 [blocks]
    values    float64 [blocks, size, size]
    """

    size: int
    pointers: Any
    columns: Any
    values: Any

    @property
    def arrays(self) -> tuple[Any, Any, Any]:
        """(pointers, columns, values), in the order of the library's arguments."""
        return self.pointers, self.columns, self.values


def find_blocks(matrix: CsrMatrix) -> Blocks:
    """Return the largest blocks that the nonzeros fill, on the device of the matrix.

    Raises ParameterError if there are no such blocks.
    """
    candidates = (_blocks(matrix, size) for size in SIZES if matrix.nnz <= INDEX_LIMIT)
    blocks = next((blocks for blocks in candidates if blocks is not None), None)
    if blocks is None:
        raise ParameterError(
            f"Not applicable: the nonzeros do not form dense blocks of {SIZES[-1]} to {SIZES[0]} rows and columns."
        )
    return blocks


def _blocks(matrix: CsrMatrix, b: int) -> Blocks | None:
    """Return the blocks of a size, or None if a block would be incomplete."""
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
    # Rows of a block are `lengths` entries apart, as all rows of a block row are equally long.
    first = starts[row] + (block - pointers[row]) * b
    within = xp.arange(b)
    places = (first[:, None] + within * lengths[row, :1])[:, :, None] + within
    columns = matrix.indices[places[:, 0, 0]]
    if bool((columns % b).any()) or bool((matrix.indices[places] != columns[:, None, None] + within).any()):
        return None
    return Blocks(b, pointers.astype(xp.int32), columns // b, matrix.values[places])
