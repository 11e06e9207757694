"""Half storage: a matrix by hand, skew-symmetric ones, and what is refused."""

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.formats import symmetric
from gpu_engine.formats.packing import WIDE
from gpu_engine.formats.symmetric import FORMAT, SymmetricLayout
from gpu_engine.generators import generate
from tests.battery import BATTERY, coo, dense, mirrored, with_row_lengths
from tests.gpu_engine.formats import contract

SMALL = dense([[1, 0, 2, 0], [0, 0, 3, 4], [2, 3, 5, 0], [0, 4, 0, 6]])


def check(matrix: CsrMatrix) -> None:
    expected = *contract.references(matrix), contract.not_finite(matrix)
    contract.check_format(FORMAT, "cpu", matrix, matrix, expected, np)


def test_triangles_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symmetric, "PADDING_MAX", 100.0)
    layout = SymmetricLayout.from_csr(SMALL)
    lower, upper = layout.lower.to_csr(), layout.upper
    assert (layout.sign, layout.ranks) == (1, None)
    assert (lower.indptr.tolist(), lower.indices.tolist()) == ([0, 1, 1, 4, 6], [0, 0, 1, 2, 1, 3])
    assert lower.values.tolist() == [1, 2, 3, 5, 4, 6]
    # Row 0 finds 2 in slot 0 of row 2; row 1 finds 3 in slot 1 of row 2, and 4 in slot 0 of row 3.
    assert upper.slices.lengths.tolist() == [1, 2, 0, 0]
    assert upper.columns.at(np.array([0, 1, 33])).tolist() == [2, 2, 3]
    assert upper.numbers[[0, 1, 33]].tolist() == [0, 1, 0]
    assert upper.numbers.dtype == np.uint8
    assert layout.stored_bytes == layout.lower.stored_bytes + upper.nbytes


def test_rows_are_sorted_where_that_saves_padding() -> None:
    """Rows 2, 3, 0, 1 have 3, 2, 1, 0 nonzeros in the lower triangle; the rows above find them at places 0 and 1."""
    layout = SymmetricLayout.from_csr(SMALL)
    upper = layout.upper
    assert layout.ranks.tolist() == [2, 3, 0, 1]
    assert layout.lower.slices.lengths.tolist() == [3, 2, 1, 0]
    assert upper.slices.lengths.tolist() == [0, 0, 1, 2]
    assert upper.columns.at(np.array([2, 3, 35])).tolist() == [0, 0, 1]
    assert upper.numbers[[2, 3, 35]].tolist() == [0, 1, 0]
    check(SMALL)


def test_ranks_are_those_in_a_window() -> None:
    matrix = mirrored(with_row_lengths([*range(1, 101)] * 6, 600, 4))
    layout = SymmetricLayout.from_csr(matrix)
    rows = np.arange(600) // 256 * 256 + layout.ranks
    assert sorted(rows) == list(range(600))
    assert layout.lower.slices.size < 1.3 * layout.lower.nnz
    check(matrix)


@pytest.mark.parametrize("name", BATTERY)
def test_skew_symmetric_matrices(name: str) -> None:
    matrix = mirrored(BATTERY[name](), sign=-1.0)
    check(matrix)
    if np.any(matrix.values):
        assert SymmetricLayout.from_csr(matrix).sign == -1


def test_a_zero_diagonal_may_be_stored_in_a_skew_symmetric_matrix() -> None:
    matrix = coo(2, 2, [0, 0, 1, 1], [0, 1, 0, 1], [0.0, 2.0, -2.0, 0.0])
    assert SymmetricLayout.from_csr(matrix).sign == -1
    check(matrix)


@pytest.mark.parametrize(("longest", "kind"), [(255, np.uint8), (256, np.int32), (300, np.int32)])
def test_lengths_and_numbers_are_narrow_in_short_rows(longest: int, kind: type) -> None:
    matrix = mirrored(with_row_lengths([*[1] * 400, longest], 401, 3))
    matrix = mirrored(CsrMatrix(401, 401, matrix.indptr, matrix.indices, matrix.values))
    layout = SymmetricLayout.from_csr(matrix)
    assert int(np.diff(layout.lower.to_csr().indptr).max()) == longest
    assert {a.dtype.type for a in (layout.upper.numbers, layout.upper.slices.lengths, layout.lower.slices.lengths)} == {
        kind
    }
    check(matrix)


def test_columns_are_wide_where_they_are_far_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symmetric, "PADDING_MAX", np.inf)
    matrix = mirrored(coo(70_000, 70_000, [40, 69_990, 69_991], [3, 40, 69_990], [1.0, 2.0, 3.0]))
    layout = SymmetricLayout.from_csr(matrix)
    assert WIDE not in layout.upper.columns.bases
    check(matrix)
    far = mirrored(coo(70_000, 70_000, [40, 69_990, 69_991], [3, 3, 40], [1.0, 2.0, 3.0]))
    assert layout.upper.columns.wide.size < SymmetricLayout.from_csr(far).upper.columns.wide.size
    check(far)


@pytest.mark.parametrize(
    "matrix",
    [
        pytest.param(dense([[1, 2, 3], [4, 5, 6]]), id="not square"),
        pytest.param(dense([[1, 2], [0, 3]]), id="a nonzero without its mirror image"),
        pytest.param(dense([[0, 2, 0], [0, 0, 3], [4, 0, 0]]), id="as many below as above"),
        pytest.param(dense([[1, 2], [2.0000000000000004, 3]]), id="a value in the last bit"),
        pytest.param(dense([[1, 2], [-2, 3]]), id="skew but for the diagonal"),
    ],
)
def test_other_matrices_are_refused(matrix: CsrMatrix) -> None:
    with pytest.raises(ParameterError):
        FORMAT.from_csr(matrix)
    assert FORMAT.bytes_needed(matrix) >= 0


def test_a_stencil_takes_at_most_seven_bytes_per_nonzero() -> None:
    stencil = generate("stencil", {"points": 27, "nx": 32, "ny": 32, "nz": 24})
    values = np.random.default_rng(1).random(stencil.nnz)
    matrix = mirrored(CsrMatrix(*stencil.shape, stencil.indptr, stencil.indices, values))
    layout = SymmetricLayout.from_csr(matrix)
    assert layout.stored_bytes <= 7.0 * matrix.nnz
    assert FORMAT.kernels[0].layout_bytes(layout) <= 6.8 * matrix.nnz
