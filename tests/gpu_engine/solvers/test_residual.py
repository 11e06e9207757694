"""The true residual on the host: as exact as fractions where fp64 alone has no correct digit."""

from fractions import Fraction

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.solvers import residual
from tests.battery import with_row_lengths


def exact(matrix: CsrMatrix, b: np.ndarray, x: np.ndarray) -> list[Fraction]:
    sums = []
    for row in range(matrix.n_rows):
        entries = range(matrix.indptr[row], matrix.indptr[row + 1])
        products = (Fraction(matrix.values[e]) * Fraction(x[matrix.indices[e]]) for e in entries)
        sums.append(Fraction(b[row]) - sum(products))
    return sums


def test_a_residual_that_cancels_has_correct_digits() -> None:
    rng = np.random.default_rng(3)
    matrix = with_row_lengths([0, 1, 7, 40, 3] * 8, 40, seed=1)
    x = rng.standard_normal(matrix.n_cols) * 10.0 ** rng.integers(-8, 9, matrix.n_cols)
    b = matrix.to_scipy() @ x
    r = np.empty(matrix.n_rows)
    squared = residual.on_host(matrix, b, x, r)
    expected = exact(matrix, b, x)
    largest = [float(max(abs(Fraction(v)) for v in (b[row], 1e-300))) for row in range(matrix.n_rows)]
    differences = [abs(float(Fraction(r[row]) - expected[row])) for row in range(matrix.n_rows)]
    # An error of fp64 would be some 1e-16 of b.
    assert max(d / scale for d, scale in zip(differences, largest, strict=True)) < 1e-25
    assert squared == float(r @ r)
    assert np.any(r != b - matrix.to_scipy() @ x)


def test_products_beyond_the_range_are_not_finite() -> None:
    matrix = CsrMatrix(1, 1, np.array([0, 1]), np.array([0]), np.array([1e300]))
    r = np.empty(1)
    assert not np.isfinite(residual.on_host(matrix, np.array([1.0]), np.array([1e300]), r))
