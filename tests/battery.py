"""BATTERY: the named hostile matrices on which every sparse test runs."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from gpu_engine.csr_matrix import CsrMatrix

WARP = 32
BLOCK = 1024


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def coo(n_rows: int, n_cols: int, rows: Any, cols: Any, values: Any) -> CsrMatrix:
    """The matrix of coordinate entries; duplicates are summed, zeros stay entries."""
    rows, cols = np.asarray(rows, dtype=np.int64), np.asarray(cols, dtype=np.int64)
    data = np.asarray(values, dtype=np.float64)
    return CsrMatrix.from_scipy(scipy.sparse.coo_array((data, (rows, cols)), shape=(n_rows, n_cols)))


def dense(entries: Sequence[Sequence[float]]) -> CsrMatrix:
    """The nonzeros of a small dense matrix."""
    return CsrMatrix.from_scipy(scipy.sparse.csr_array(np.array(entries, dtype=np.float64)))


def with_row_lengths(lengths: Any, n_cols: int, seed: int) -> CsrMatrix:
    """Rows of exactly these lengths, distinct random columns and values in ±[0.5, 1.5)."""
    rng = _rng(seed)
    lengths = np.asarray(lengths, dtype=np.int64)
    rows = np.repeat(np.arange(lengths.size), lengths)
    cols = np.concatenate([np.empty(0, np.int64), *(rng.choice(n_cols, size, replace=False) for size in lengths)])
    return coo(lengths.size, n_cols, rows, cols, _signed(rng, rows.size))


def _signed(rng: np.random.Generator, size: int) -> Any:
    return (0.5 + rng.random(size)) * rng.choice([-1.0, 1.0], size)


def _empty(n_rows: int, n_cols: int) -> CsrMatrix:
    return coo(n_rows, n_cols, [], [], [])


def _empty_rows_and_columns() -> CsrMatrix:
    """Rows and columns 0–2, a run in the middle, every third, and the last ones are empty."""
    rng = _rng(1)
    rows, cols = rng.integers(3, 90, 600), rng.integers(3, 80, 600)
    keep = (rows % 3 != 0) & (cols % 3 != 0) & ~((rows >= 40) & (rows < 55)) & ~((cols >= 30) & (cols < 45))
    return coo(97, 85, rows[keep], cols[keep], _signed(rng, int(keep.sum())))


def _one_dense_row() -> CsrMatrix:
    rng = _rng(2)
    cols = np.arange(5000)
    rows = np.full(5000, 7)
    extra = rng.integers(0, 300, 200)
    return coo(300, 5000, [*rows, *extra], [*cols, *rng.integers(0, 5000, 200)], _signed(rng, 5200))


def _one_dense_column() -> CsrMatrix:
    rng = _rng(3)
    rows = np.arange(5000)
    extra = rng.integers(0, 300, 200)
    return coo(5000, 300, [*rows, *rng.integers(0, 5000, 200)], [*np.full(5000, 7), *extra], _signed(rng, 5200))


def _band() -> CsrMatrix:
    offsets = [-17, -3, -1, 0, 1, 4, 20]
    matrix = scipy.sparse.diags_array([float(i + 2) for i in range(7)], offsets=offsets, shape=(1000, 1000))
    return CsrMatrix.from_scipy(matrix)


def _random(n_rows: int, n_cols: int, nnz: int, seed: int) -> CsrMatrix:
    rng = _rng(seed)
    return coo(n_rows, n_cols, rng.integers(0, n_rows, nnz), rng.integers(0, n_cols, nnz), _signed(rng, nnz))


def _duplicates() -> CsrMatrix:
    """Coordinates repeated up to five times, one of them summing to an explicit zero."""
    rng = _rng(4)
    rows, cols = rng.integers(0, 40, 400), rng.integers(0, 40, 400)
    copies = rng.integers(1, 6, 400)
    rows, cols = np.repeat(rows, copies), np.repeat(cols, copies)
    return coo(41, 41, [*rows, 40, 40], [*cols, 40, 40], [*_signed(rng, rows.size), 2.5, -2.5])


def _explicit_zeros() -> CsrMatrix:
    rng = _rng(5)
    base = _random(200, 150, 2000, 5)
    values = np.where(rng.random(base.nnz) < 0.3, 0.0, base.values)
    return CsrMatrix(base.n_rows, base.n_cols, base.indptr, base.indices, values)


def _power_law() -> CsrMatrix:
    lengths = np.minimum(_rng(6).zipf(1.7, 4000), 2500)
    return with_row_lengths(lengths, 3000, 6)


def _spread() -> CsrMatrix:
    """Magnitudes from 1e-150 to 1e150 of both signs: sums must not leave the order of the error bound."""
    rng = _rng(7)
    base = _random(300, 300, 9000, 7)
    values = base.values * 10.0 ** rng.integers(-150, 151, base.nnz)
    return CsrMatrix(base.n_rows, base.n_cols, base.indptr, base.indices, values)


BATTERY: dict[str, Callable[[], CsrMatrix]] = {
    "zero_by_zero": lambda: _empty(0, 0),
    "zero_by_n": lambda: _empty(0, 7),
    "n_by_zero": lambda: _empty(7, 0),
    "all_rows_empty": lambda: _empty(40, 33),
    "single_entry": lambda: coo(1, 1, [0], [0], [-3.25]),
    "single_entry_in_a_corner": lambda: coo(70, 50, [69], [49], [2.5]),
    "small_by_hand": lambda: dense([[1, 0, 2, 0, 0], [0, 0, 0, 0, 0], [3, 4, 5, 6, 7], [0, -8, 0, 0, 9]]),
    "one_row": lambda: with_row_lengths([700], 1000, 10),
    "one_column": lambda: coo(1000, 1, np.arange(0, 1000, 3), np.zeros(334), np.arange(334) + 0.5),
    "identity": lambda: CsrMatrix.from_scipy(scipy.sparse.eye_array(1025)),
    "band": _band,
    "empty_rows_and_columns": _empty_rows_and_columns,
    "one_dense_row": _one_dense_row,
    "one_dense_column": _one_dense_column,
    "tall": lambda: _random(9000, 40, 20_000, 11),
    "wide": lambda: _random(40, 9000, 20_000, 12),
    "fully_dense": lambda: dense((_rng(13).random((48, 37)) + 0.5).tolist()),
    "duplicates_summed": _duplicates,
    "explicit_zeros": _explicit_zeros,
    "all_explicit_zeros": lambda: coo(20, 20, np.arange(20), np.arange(20)[::-1], np.zeros(20)),
    "around_a_warp": lambda: with_row_lengths([0, 1, 31, WARP, 33, 0, 63, 64, 65, 100, 2], 300, 14),
    "around_a_block": lambda: with_row_lengths([1, BLOCK - 1, BLOCK, BLOCK + 1, 0, 3000, 2], 4000, 15),
    "long_row_first": lambda: with_row_lengths([3000, *[1] * 500], 4000, 16),
    "long_row_last": lambda: with_row_lengths([*[1] * 500, 3000], 4000, 17),
    "power_law": _power_law,
    "alternating_empty_and_long": lambda: with_row_lengths([0, 150] * 150, 1000, 18),
    "every_row_one_entry": lambda: with_row_lengths([1] * 2049, 2049, 19),
    "spread_of_magnitudes": _spread,
}
"""Name → the matrix, built anew by each call and the same each time; at most 2·10⁵ nonzeros."""


def mirrored(matrix: CsrMatrix, sign: float = 1.0) -> CsrMatrix:
    """The lower triangle of the matrix (upper, if it is wide), made square, and its mirror image, bit for bit.

    sign  −1: the skew-symmetric matrix, without the diagonal
    """
    n = max(matrix.shape)
    rows, cols = np.repeat(np.arange(matrix.n_rows), np.diff(matrix.indptr)), matrix.indices
    if matrix.n_cols > matrix.n_rows:
        rows, cols = cols, rows
    stored = rows >= cols if sign > 0 else rows > cols
    below = rows > cols
    pairs = (np.concatenate([rows[stored], cols[below]]), np.concatenate([cols[stored], rows[below]]))
    return coo(n, n, *pairs, np.concatenate([matrix.values[stored], sign * matrix.values[below]]))
