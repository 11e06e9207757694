"""Which matrices have dense blocks, and which blocks are found."""

import numpy as np
import pytest
import scipy.sparse

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.formats.dense_blocks import find_blocks
from gpu_engine.generators import generate


def blocks_of(size: int) -> CsrMatrix:
    """Blocks of that size in rows of two, one and no block."""
    values = np.arange(1.0, 3 * size * size + 1).reshape(3, size, size)
    bsr = scipy.sparse.bsr_array((values, [0, 3, 1], [0, 2, 3, 3]), shape=(3 * size, 4 * size))
    return CsrMatrix.from_scipy(bsr)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_blocks_that_the_entries_fill_are_found(size: int) -> None:
    found = find_blocks(blocks_of(size))
    assert found.size == size
    assert (found.pointers.dtype, found.columns.dtype) == (np.int32, np.int32)
    np.testing.assert_array_equal(found.pointers, [0, 2, 3, 3])
    np.testing.assert_array_equal(found.columns, [0, 3, 1])
    np.testing.assert_array_equal(found.values.ravel(), np.arange(1.0, 3 * size * size + 1))


def test_the_largest_blocks_are_taken() -> None:
    whole = CsrMatrix.from_scipy(scipy.sparse.csr_array(np.arange(1.0, 65.0).reshape(8, 8)))
    assert find_blocks(whole).size == 8


def test_finite_elements_are_blocks_of_their_unknowns() -> None:
    matrix = generate("fem", {"block": 3, "nx": 4, "ny": 3, "nz": 2})
    found = find_blocks(matrix)
    bsr = scipy.sparse.bsr_array((found.values, found.columns, found.pointers), shape=matrix.shape)
    assert found.size == 3
    np.testing.assert_array_equal(bsr.toarray(), matrix.to_scipy().toarray())


@pytest.mark.parametrize("change", ["moved column", "shorter row", "shifted blocks", "one row more", "no entries"])
def test_entries_that_fill_no_blocks_are_refused(change: str) -> None:
    matrix = blocks_of(3)
    indptr, indices = matrix.indptr.copy(), matrix.indices.copy()
    if change == "moved column":
        # The last column of the second row: outside its block.
        indices[11] -= 1
        indices[10] -= 1
        indices[9] -= 1
    if change == "shorter row":
        indptr[1:3] += [-3, 0]
    if change == "shifted blocks":
        indices += 1
    if change == "one row more":
        indptr = np.append(indptr, indptr[-1])
    if change == "no entries":
        indptr[:] = 0
    nnz = int(indptr[-1])
    changed = CsrMatrix(indptr.size - 1, matrix.n_cols + 3, indptr, indices[:nnz], matrix.values[:nnz])
    with pytest.raises(ParameterError, match="dense blocks of 2 to 8 rows and columns"):
        find_blocks(changed)
