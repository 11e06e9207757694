"""Block Jacobi: the inverses of the blocks on the diagonal, such as the unknowns of one node of a finite element."""

from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import array_module, entry_blocks
from gpu_engine.solvers.base import System

SOURCE = CudaSource(__package__, "block_jacobi.cu", ("block_jacobi",))
BLOCK = 256

SIZE, SIZES = 4, (2, 32)
"""Rows of a block unless the caller says otherwise, and the least and the most."""


class BlockJacobi:
    """A block diagonal matrix.

    inverse  float64 [blocks, size, size], each block transposed
    """

    diagonal, in_graph = None, True

    def __init__(self, inverse: Any, n: int) -> None:
        self._inverse, self._n, self._size = inverse, n, inverse.shape[1]

    def __call__(self, v: Any, out: Any) -> None:
        """Compute out := M·v."""
        if not isinstance(v, np.ndarray):
            arguments = np.int32(self._n), np.int32(self._size), self._inverse, v, out
            SOURCE.function("block_jacobi")((-(-self._n // BLOCK),), (BLOCK,), arguments)
            return
        padded = np.zeros(self._inverse.shape[0] * self._size)
        padded[: self._n] = v
        image = np.einsum("bji,bj->bi", self._inverse, padded.reshape(-1, self._size))
        out[...] = image.reshape(-1)[: self._n]


def block_jacobi(system: System, size: int = SIZE) -> BlockJacobi:
    """Return the inverses of the diagonal blocks of `size` rows; the last block may be smaller.

    Raises ParameterError for another size, and with the first row of a block that is singular.
    """
    least, most = SIZES
    if not least <= size <= most:
        raise ParameterError(f"The blocks of block-jacobi have {size} rows; expected {least} to {most}.")
    rows, xp = system.rows, array_module(system.rows.values)
    blocks = diagonal_blocks(rows, size)
    determinants = xp.linalg.det(blocks / xp.maximum(abs(blocks).max(axis=(1, 2), keepdims=True), np.finfo(float).tiny))
    is_singular = determinants == 0.0
    if bool(is_singular.any()):
        first = size * int(xp.argmax(is_singular))
        raise ParameterError(f"The diagonal block that begins at row {first} is singular. Use another preconditioner.")
    inverse = xp.linalg.inv(blocks)
    return BlockJacobi(xp.ascontiguousarray(inverse.transpose(0, 2, 1)), rows.n_rows)


def diagonal_blocks(rows: CsrMatrix, size: int) -> Any:
    """Return the diagonal blocks, the last one with ones in the rows that the matrix lacks: [blocks, size, size]."""
    xp, count = array_module(rows.values), -(-rows.n_rows // size)
    blocks = xp.zeros((count, size, size), np.float64)
    for entries, row, _ in entry_blocks(rows.indptr):
        column = rows.indices[entries]
        inside = row // size == column // size
        row, column, values = row[inside], column[inside], rows.values[entries][inside]
        blocks[row // size, row % size, column % size] = values
    for missing in range(rows.n_rows % size or size, size):
        blocks[-1, missing, missing] = 1.0
    return blocks
