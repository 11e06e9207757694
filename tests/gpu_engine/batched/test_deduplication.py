"""What problems of a batch share: each of the five cases alone, and near misses that are not shared."""

from typing import Any

import numpy as np
import pytest

from gpu_engine.batched import deduplication
from gpu_engine.batched.composition import Composition
from gpu_engine.batched.deduplication import Duplicates
from gpu_engine.csr_matrix import CsrMatrix
from tests.battery import BATTERY, dense, with_row_lengths

BASE = with_row_lengths([3, 0, 40, 1, 7], 50, 1)
KINDS = "sizes", "lengths", "patterns", "values", "multiples"


def with_values(matrix: CsrMatrix, values: Any) -> CsrMatrix:
    return CsrMatrix(matrix.n_rows, matrix.n_cols, matrix.indptr, matrix.indices, np.asarray(values))


def with_columns(matrix: CsrMatrix, indices: Any, n_cols: int) -> CsrMatrix:
    return CsrMatrix(matrix.n_rows, n_cols, matrix.indptr, np.asarray(indices, np.int32), matrix.values)


def nudged(values: Any, entry: int) -> Any:
    """One value the next double."""
    copy = values.copy()
    copy[entry] = np.nextafter(copy[entry], np.inf)
    return copy


def found(*matrices: CsrMatrix) -> Duplicates:
    return Duplicates.of(Composition.of(matrices).batch(np))


def shared(second: CsrMatrix) -> set[str]:
    """What a matrix shares with BASE, which stands before and after an unlike one."""
    other = with_row_lengths([2, 2], 9, 2)
    result = found(BASE, other, BASE, second)
    for kind in KINDS:
        assert getattr(result, kind).tolist()[:3] == [0, 1, 0], kind
    return {kind for kind in KINDS if getattr(result, kind)[3] == 0}


RNG = np.random.default_rng(3)
NOISE = RNG.uniform(0.5, 1.5, BASE.nnz)


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (BASE, set(KINDS)),
        (with_row_lengths([1, 2], 50, 4), set()),
        (with_row_lengths([1, 2, 3, 4, 5], 50, 4), {"sizes"}),
        (with_row_lengths([3, 0, 40, 1, 7], 60, 4), {"lengths"}),
        (with_row_lengths([3, 0, 40, 1, 7], 50, 4), {"sizes", "lengths"}),
        (with_values(BASE, NOISE), {"sizes", "lengths", "patterns"}),
        (with_columns(BASE, BASE.indices + 1, 51), {"lengths", "values"}),
        (with_values(with_row_lengths([51], 60, 5), BASE.values), {"values"}),
        (with_values(BASE, BASE.values * 0.1), {"sizes", "lengths", "patterns", "multiples"}),
        (with_values(BASE, BASE.values * -3e-7), {"sizes", "lengths", "patterns", "multiples"}),
        (with_columns(BASE, BASE.indices, 51), {"lengths", "values"}),
        (with_values(BASE, nudged(BASE.values, 50)), {"sizes", "lengths", "patterns"}),
        (with_values(BASE, nudged(BASE.values * 0.1, 20)), {"sizes", "lengths", "patterns"}),
        (with_values(BASE, nudged(BASE.values * 0.1, 0)), {"sizes", "lengths", "patterns"}),
        (with_values(BASE, BASE.values[::-1].copy()), {"sizes", "lengths", "patterns"}),
    ],
    ids=[
        "the same",
        "nothing",
        "size",
        "row lengths in another width",
        "size and row lengths",
        "pattern",
        "row lengths and values",
        "values",
        "a multiple",
        "a negative multiple",
        "all but one more column",
        "one value in its last bit",
        "one value of a multiple in its last bit",
        "the first value of a multiple in its last bit",
        "values in another order",
    ],
)
def test_what_a_problem_shares(second: CsrMatrix, expected: set[str]) -> None:
    assert shared(second) == expected


def test_a_column_moved_by_one_is_another_pattern() -> None:
    first, second = dense([[1, 2, 0], [3, 0, 0]]), dense([[1, 0, 2], [3, 0, 0]])
    result = found(first, second)
    assert (result.lengths.tolist(), result.values.tolist()) == ([0, 0], [0, 0])
    assert (result.patterns.tolist(), result.multiples.tolist()) == ([0, 1], [0, 1])


def test_row_lengths_in_another_order_are_others() -> None:
    result = found(dense([[1, 2], [3, 0]]), dense([[1, 0], [2, 3]]))
    assert result.sizes.tolist() == [0, 0]
    assert result.lengths.tolist() == [0, 1]
    assert result.values.tolist() == [0, 0]


@pytest.mark.parametrize("factor", [1.0, -1.0, 0.1, 1 / 3, 1e-100, -7e99, 2.0**-1000])
def test_factors_are_exact(factor: float) -> None:
    for seed in range(20):
        base = with_row_lengths([5, 9, 2], 20, seed)
        scaled = with_values(base, base.values * factor)
        result = found(base, scaled)
        assert result.multiples.tolist() == [0, 0]
        assert (base.values * result.factors[1]).tolist() == scaled.values.tolist()
        assert result.factors[0] == 1.0


def test_signs_of_zeros_are_kept() -> None:
    zeros = with_values(BASE, np.zeros(BASE.nnz))
    negative = with_values(BASE, -np.zeros(BASE.nnz))
    mixed = with_values(BASE, np.where(np.arange(BASE.nnz) == 7, -0.0, BASE.values))
    positive = with_values(BASE, np.where(np.arange(BASE.nnz) == 7, 0.0, BASE.values))
    result = found(BASE, zeros, negative, mixed, positive, zeros)
    assert result.values.tolist() == [0, 1, 2, 3, 4, 1]
    assert result.multiples.tolist() == [0, 1, 2, 3, 4, 1]
    assert result.factors.tolist() == [1.0] * 6


def test_quotients_beyond_all_doubles_are_no_error() -> None:
    vast = dense([[1e-300, 1e300], [-1e300, 1.0]])
    assert found(vast, vast).values.tolist() == [0, 0]


def test_a_leading_zero_is_no_pivot() -> None:
    values = np.where(np.arange(BASE.nnz) < 5, 0.0, BASE.values)
    result = found(with_values(BASE, values), with_values(BASE, 4.0 * values))
    assert (result.multiples.tolist(), result.factors.tolist()) == ([0, 0], [1.0, 4.0])


def test_problems_without_entries_or_rows() -> None:
    empty, none = BATTERY["all_rows_empty"](), BATTERY["zero_by_zero"]()
    result = found(BASE, empty, none, empty, none)
    for kind in ("sizes", "lengths", "patterns", "multiples"):
        assert getattr(result, kind).tolist() == [0, 1, 2, 1, 2], kind
    assert result.values.tolist() == [0, 1, 1, 1, 1]
    assert result.factors.tolist() == [1.0] * 5


def test_summary_of_a_mixed_batch() -> None:
    """Three patterns; of the first also a multiple and other values; one of the second's values in the third."""
    second = with_row_lengths([6, 5], 50, 6)
    third = with_columns(second, second.indices, 51)
    matrices = BASE, with_values(BASE, 2 * BASE.values), with_values(BASE, NOISE), second, third
    composition = Composition(matrices, np.array([3, 0, 1, 2, 4, 1, 0, 3]))
    result = Duplicates.of(composition.batch(np))
    assert result.summary() == {"sizes": 3, "lengths": 2, "patterns": 3, "values": 4, "multiples": 4}
    assert result.sizes.tolist() == [0, 1, 1, 1, 4, 1, 1, 0]
    assert result.lengths.tolist() == [0, 1, 1, 1, 0, 1, 1, 0]
    assert result.patterns.tolist() == [0, 1, 1, 1, 4, 1, 1, 0]
    assert result.values.tolist() == [0, 1, 2, 3, 0, 2, 1, 0]
    assert result.multiples.tolist() == [0, 1, 1, 3, 4, 1, 1, 0]
    assert result.factors.tolist() == [1.0, 1.0, 2.0, 1.0, 1.0, 2.0, 1.0, 1.0]


def test_hashes_only_propose(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one hash for all, what is found is the same."""
    matrices = [
        BASE,
        with_values(BASE, NOISE),
        with_columns(BASE, BASE.indices, 51),
        BASE,
        with_values(BASE, -BASE.values),
    ]
    expected = found(*matrices)
    monkeypatch.setattr(deduplication._Slices, "hashes", lambda self: np.zeros(self.starts.size - 1, np.uint64))
    monkeypatch.setattr(deduplication, "NEAR", np.inf)
    result = found(*matrices)
    for kind in (*KINDS, "factors"):
        assert getattr(result, kind).tolist() == getattr(expected, kind).tolist(), kind


def test_parts_longer_than_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpu_engine.formats.base.ENTRIES_PER_BLOCK", 7)
    assert shared(with_values(BASE, 3.0 * BASE.values)) == set(KINDS) - {"values"}
    assert shared(with_values(BASE, nudged(BASE.values, 50))) == {"sizes", "lengths", "patterns"}
