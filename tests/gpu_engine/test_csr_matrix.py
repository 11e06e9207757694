from typing import Any

import numpy as np
import pytest
import scipy.sparse

from gpu_engine.csr_matrix import INDEX_LIMIT, CsrMatrix, canonical, check_csr, fingerprint
from gpu_engine.errors import InputError, TooLargeError
from tests.battery import BATTERY, coo


def test_by_hand() -> None:
    matrix = BATTERY["small_by_hand"]()
    # 1 . 2 . .
    # . . . . .
    # 3 4 5 6 7
    # . -8 . . 9
    assert matrix.shape == (4, 5)
    assert matrix.indptr.tolist() == [0, 2, 2, 7, 9]
    assert matrix.indices.tolist() == [0, 2, 0, 1, 2, 3, 4, 1, 4]
    assert matrix.values.tolist() == [1, 2, 3, 4, 5, 6, 7, -8, 9]
    assert matrix.nnz == 9
    assert matrix.stored_bytes == 4 * 5 + 9 * (4 + 8)
    assert matrix.compulsory_bytes == 9 * 12 + 4 * 5 + 8 * 5 + 8 * 4


@pytest.mark.parametrize("name", BATTERY)
def test_battery_is_canonical_and_repeatable(name: str) -> None:
    matrix = BATTERY[name]()
    check_csr(matrix.n_rows, matrix.n_cols, matrix.indptr, matrix.indices, matrix.values)
    assert (matrix.indptr.dtype, matrix.indices.dtype, matrix.values.dtype) == (np.int32, np.int32, np.float64)
    rows = np.repeat(np.arange(matrix.n_rows), np.diff(matrix.indptr))
    assert (np.diff(rows * (matrix.n_cols + 1) + matrix.indices) > 0).all()
    assert matrix.nnz <= 200_000
    assert fingerprint(matrix) == fingerprint(BATTERY[name]())


def test_battery_matrices_differ() -> None:
    assert len({fingerprint(build()) for build in BATTERY.values()}) == len(BATTERY)


def test_from_scipy_sums_duplicates_and_keeps_zeros() -> None:
    matrix = coo(2, 3, [1, 0, 1, 0], [2, 1, 2, 0], [1.5, 0.0, 2.0, 4.0])
    assert matrix.indices.tolist() == [0, 1, 2]
    assert matrix.values.tolist() == [4.0, 0.0, 3.5]


def test_from_scipy_copies_and_to_scipy_shares() -> None:
    source = scipy.sparse.csr_array(np.array([[1.0, 2.0]]))
    matrix = CsrMatrix.from_scipy(source)
    source.data[:] = 7
    assert matrix.values.tolist() == [1, 2]
    assert np.shares_memory(matrix.to_scipy().data, matrix.values)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((2, 2, [0, 1], [0], [1.0]), "indptr has 2 entries; a matrix of 2 rows needs 3"),
        ((1, 2, [1, 1], [0], [1.0]), "from 0 to 1, not from 1 to 1"),
        ((1, 2, [0, -1], [0], [1.0]), "from 0 to 1, not from 0 to -1"),
        ((2, 2, [0, 2, 1], [0], [1.0]), "decreases"),
        ((1, 2, [0, 1], [2], [1.0]), "outside 0 … 1"),
        ((1, 2, [0, 1], [-1], [1.0]), "outside 0 … 1"),
        ((1, 2, [0, 1], [0], [1.0, 2.0]), "1 column indices but 2 values"),
        ((1, 2, [0.0, 1.0], [0], [1.0]), "indptr must be"),
        ((1, 2, [0, 1], [[0]], [1.0]), "indices must be"),
    ],
)
def test_corrupt_arrays_are_refused(arguments: tuple[int, int, Any, Any, Any], words: str) -> None:
    n_rows, n_cols, *arrays = arguments
    with pytest.raises(InputError, match=words):
        canonical(n_rows, n_cols, *map(np.array, arrays))


def test_indices_beyond_32_bits_are_refused() -> None:
    with pytest.raises(TooLargeError, match="at most 2147483647"):
        canonical(1, INDEX_LIMIT + 1, np.array([0, 0]), np.empty(0, np.int64), np.empty(0))


def test_fingerprint_ignores_how_the_arrays_are_stored() -> None:
    matrix = BATTERY["band"]()
    wide = CsrMatrix(*matrix.shape, matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.values)
    assert fingerprint(wide) == fingerprint(matrix)
    negative = CsrMatrix(*matrix.shape, matrix.indptr, matrix.indices, matrix.values * 0.0)
    positive = CsrMatrix(*matrix.shape, matrix.indptr, matrix.indices, matrix.values * -0.0)
    assert fingerprint(negative) == fingerprint(positive) != fingerprint(matrix)


def test_fingerprint_sees_every_array() -> None:
    matrix = BATTERY["small_by_hand"]()
    moved, longer, changed = matrix.indices.copy(), matrix.indptr.copy(), matrix.values.copy()
    moved[1], longer[1], changed[0] = 3, 1, 2.0
    others = [
        CsrMatrix(4, 5, matrix.indptr, moved, matrix.values),
        CsrMatrix(4, 5, longer, matrix.indices, matrix.values),
        CsrMatrix(4, 5, matrix.indptr, matrix.indices, changed),
        CsrMatrix(4, 6, matrix.indptr, matrix.indices, matrix.values),
    ]
    assert len({fingerprint(m) for m in [matrix, *others]}) == 5
