import math

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.generators import generate
from gpu_engine.matrices.features import DISTINCT_CAP, features, power_law_exponent, row_length_histogram, spy
from tests.battery import BATTERY, coo, dense


def test_by_hand() -> None:
    found = features(dense([[1, 0, 2, 0, 0], [0, 0, 0, 0, 0], [3, 4, 5, 6, 0], [0, -8, 0, 1, 0]]))
    assert math.isnan(found.pop("power_law_exponent"))
    assert math.isnan(found.pop("power_law_exponent_cols"))
    assert found == {
        "n_rows": 4,
        "n_cols": 5,
        "nnz": 8,
        "ave": 2.0,
        "sigma": math.sqrt(2.0),
        "max": 4,
        "min": 0,
        "max_min": 4,
        "empty_rows": 1,
        "empty_cols": 1,
        "bandwidth": 2,
        "symmetric_pattern": False,
        "symmetric": False,
        "explicit_zeros": 0,
        "distinct_values": 7,
        "n_iter_ellr": 4,
        "n_iter_pellr": 4,
        "n_iter_sorted": 4,
        "n_p": -16,
        "float_values": True,
        "narrow_runs": 1.0,
        "narrow_slices": 1.0,
        "sectors_run": 1 / 8,
        "sectors_slice": 1 / 8,
    }


@pytest.mark.parametrize("name", BATTERY)
def test_battery_agrees_with_slow_counting(name: str) -> None:
    matrix = BATTERY[name]()
    found = features(matrix)
    rows = np.repeat(np.arange(matrix.n_rows), np.diff(matrix.indptr)).tolist()
    entries = list(zip(rows, matrix.indices.tolist(), matrix.values.tolist(), strict=True))
    pattern = {(row, col) for row, col, _ in entries}
    square = matrix.n_rows == matrix.n_cols
    assert found["nnz"] == len(entries) == sum(rows for _, _, rows in _entries_per_bin(matrix))
    assert found["empty_rows"] == matrix.n_rows - len({row for row, _ in pattern})
    assert found["empty_cols"] == matrix.n_cols - len({col for _, col in pattern})
    assert found["bandwidth"] == max((abs(row - col) for row, col in pattern), default=0)
    assert found["symmetric_pattern"] == (square and pattern == {(col, row) for row, col in pattern})
    assert found["symmetric"] == (square and set(entries) == {(col, row, value) for row, col, value in entries})
    assert found["explicit_zeros"] == sum(value == 0.0 for _, _, value in entries)
    assert found["distinct_values"] == min(len({value for _, _, value in entries}), DISTINCT_CAP)
    lengths = np.diff(matrix.indptr).tolist()
    longest_first = sorted(lengths, reverse=True)
    for feature, order in (("n_iter_ellr", lengths), ("n_iter_pellr", longest_first)):
        assert found[feature] == sum(max(order[warp : warp + 32]) for warp in range(0, matrix.n_rows, 32))
    assert found["n_p"] == sum(2 * length - 1 for length in lengths) - -matrix.n_rows % 32
    assert all(type(value) in (int, float, bool) for value in found.values())


def _entries_per_bin(matrix: CsrMatrix) -> list[tuple[int, int, int]]:
    """Entries in the rows of each bin, after checking the bin against the rows."""
    lengths = np.diff(matrix.indptr)
    bins = row_length_histogram(matrix)
    inside = [(lengths >= low) & (lengths <= high) for low, high, _ in bins]
    assert [int(mask.sum()) for mask in inside] == [rows for _, _, rows in bins]
    assert np.sum(inside, axis=0).tolist() == [1] * matrix.n_rows if bins else matrix.n_rows == 0
    return [(low, high, int(lengths[mask].sum())) for (low, high, _), mask in zip(bins, inside, strict=True)]


def test_histogram_bins() -> None:
    matrix = coo(6, 9, [0, *[1] * 9, *[2] * 4, 3], [0, *range(9), *range(4), 8], [1.0] * 15)
    assert row_length_histogram(matrix) == [(0, 0, 2), (1, 1, 2), (2, 3, 0), (4, 7, 1), (8, 15, 1)]
    assert row_length_histogram(BATTERY["zero_by_n"]()) == []


@pytest.mark.parametrize("name", BATTERY)
@pytest.mark.parametrize("size", [1, 7, 256])
def test_spy_agrees_with_slow_counting(name: str, size: int) -> None:
    matrix = BATTERY[name]()
    height, width = min(size, matrix.n_rows), min(size, matrix.n_cols)
    expected = np.zeros((height, width), np.uint32)
    rows = np.repeat(np.arange(matrix.n_rows), np.diff(matrix.indptr))
    for row, col in zip(rows.tolist(), matrix.indices.tolist(), strict=True):
        expected[row * height // matrix.n_rows, col * width // matrix.n_cols] += 1
    counts = spy(matrix, size)
    assert counts.dtype == np.uint32
    assert np.array_equal(counts, expected)


def test_spy_of_a_small_matrix_is_its_pattern() -> None:
    assert spy(dense([[1, 0, 2], [0, 3, 0]])).tolist() == [[1, 0, 1], [0, 1, 0]]


def test_spy_in_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = BATTERY["one_dense_row"]()
    whole = spy(matrix, 16)
    monkeypatch.setattr("gpu_engine.matrices.features.ENTRIES_PER_BLOCK", 100)
    assert np.array_equal(spy(matrix, 16), whole)
    assert features(matrix)["distinct_values"] == np.unique(matrix.values).size


def test_distinct_values_are_capped() -> None:
    assert features(generate("rmat", {"scale": 14}))["distinct_values"] == DISTINCT_CAP
    assert features(generate("rmat", {"scale": 14, "values": "ones"}))["distinct_values"] == 1


@pytest.mark.parametrize(("exponent", "mean"), [(1.03, 90.0), (1.5, 30.0), (2.1, 16.0), (3.0, 4.0)])
def test_power_law_is_found_again(exponent: float, mean: float) -> None:
    matrix = generate("powerlaw", {"n": 100_000, "exponent": exponent, "mean": mean, "seed": 3})
    assert features(matrix)["power_law_exponent"] == pytest.approx(exponent, rel=0.08)


@pytest.mark.parametrize("exponent", [0.7, 1.0, 1.03, 2.4])
def test_an_exponent_may_be_one_and_less(exponent: float) -> None:
    """Of lengths from 3 to 8000 in exact proportion."""
    lengths = np.arange(3, 8001)
    shares = lengths**-exponent
    counts = np.round(1e6 * shares / shares.sum()).astype(np.int64)
    assert power_law_exponent(lengths.repeat(counts)) == pytest.approx(exponent, abs=0.05)


def test_columns_have_an_exponent_of_their_own() -> None:
    rows = generate("powerlaw", {"n": 50_000, "exponent": 1.6, "seed": 3})
    both = generate("powerlaw", {"n": 50_000, "exponent": 1.6, "columns": "powerlaw", "mean": 30.0, "seed": 3})
    assert features(both)["power_law_exponent_cols"] == pytest.approx(1.6, rel=0.1)
    turned = rows.to_scipy().T.tocsr()
    turned.sort_indices()
    transposed = CsrMatrix(*turned.shape, turned.indptr, turned.indices, turned.data)
    assert features(transposed)["power_law_exponent_cols"] == features(rows)["power_law_exponent"]
    assert math.isnan(features(transposed)["power_law_exponent"])


def test_equal_lengths_have_no_power_law() -> None:
    assert math.isnan(power_law_exponent(np.full(1000, 5)))
    assert math.isnan(power_law_exponent(np.zeros(1000, np.int64)))
    assert math.isnan(power_law_exponent(np.empty(0, np.int64)))
    assert math.isnan(power_law_exponent(np.arange(100, 140).repeat(50)))
