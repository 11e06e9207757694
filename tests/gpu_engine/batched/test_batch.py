"""Batches and their compositions, against plain loops over matrices."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from gpu_engine.batched.batch import Batch, repeat
from gpu_engine.batched.composition import Composition
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import LayoutTooLargeError, ParameterError
from tests.battery import BATTERY, dense
from tests.gpu_engine.batched.batteries import BATCHES

FIRST = dense([[1, 0, 2], [0, 0, 0], [0, 3, 0]])
SECOND = dense([[0, 4]])
EMPTY = BATTERY["n_by_zero"]()
batches = pytest.mark.parametrize("name", BATCHES)


def problems(composition: Composition) -> list[CsrMatrix]:
    return [composition.matrices[number] for number in composition.order]


def assert_same(found: CsrMatrix, expected: CsrMatrix) -> None:
    assert found.shape == expected.shape
    for name in ("indptr", "indices", "values"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


def test_arrays_by_hand() -> None:
    batch = Composition.of([FIRST, EMPTY, SECOND]).batch(np)
    expected = {
        "rows": [0, 3, 10, 11],
        "cols": [0, 3, 3, 5],
        "entries": [0, 3, 3, 4],
        "indptr": [0, 2, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        "indices": [0, 2, 1, 1],
        "values": [1.0, 2.0, 3.0, 4.0],
    }
    assert {name: getattr(batch, name).tolist() for name in expected} == expected
    assert (batch.count, batch.n_rows, batch.n_cols, batch.nnz) == (3, 11, 5, 4)
    types = [str(getattr(batch, name).dtype) for name in expected]
    assert types == ["int64", "int64", "int64", "int32", "int32", "float64"]


def test_bytes_by_hand() -> None:
    batch = Composition.of([FIRST, EMPTY, SECOND]).batch(np)
    assert batch.stored_bytes == 3 * 4 * 8 + 14 * 4 + 4 * 12
    assert batch.compulsory_bytes(adds=False) == 4 * 12 + 14 * 4 + 5 * 8 + 11 * 8
    assert batch.compulsory_bytes(adds=True) == batch.compulsory_bytes(adds=False) + 11 * 8


@batches
def test_each_problem_is_the_matrix_it_was_made_of(name: str) -> None:
    composition = BATCHES[name]()
    batch = composition.batch(np)
    assert batch.count == composition.count
    for p, matrix in enumerate(problems(composition)):
        assert_same(batch.problem(p), matrix)


@batches
def test_block_diagonal_has_the_problems_on_its_diagonal(name: str) -> None:
    composition = BATCHES[name]()
    found = composition.batch(np).block_diagonal()
    entries: list[Any] = []
    n_rows = n_cols = 0
    for matrix in problems(composition):
        coordinates = scipy.sparse.coo_array(matrix.to_scipy())
        rows, cols = coordinates.coords
        entries += zip(rows + n_rows, cols + n_cols, coordinates.data, strict=True)
        n_rows, n_cols = n_rows + matrix.n_rows, n_cols + matrix.n_cols
    assert found.shape == (n_rows, n_cols)
    listed = np.repeat(np.arange(n_rows), np.diff(found.indptr)), found.indices, found.values
    assert list(zip(*listed, strict=True)) == entries


@batches
def test_bytes_are_known_before(name: str) -> None:
    composition = BATCHES[name]()
    batch = composition.batch(np)
    assert (composition.bytes_needed, composition.nnz) == (batch.stored_bytes, batch.nnz)


@pytest.mark.parametrize("adds", [False, True])
@batches
def test_reference_is_that_of_a_loop_over_problems(name: str, adds: bool) -> None:
    composition = BATCHES[name]()
    found, start = composition.reference(5, adds), composition.start(5)
    row = col = 0
    for matrix in problems(composition):
        rows, x = slice(row, row + matrix.n_rows), found.x[col : col + matrix.n_cols]
        before = start[rows] if adds else np.zeros(matrix.n_rows)
        csr = matrix.to_scipy()
        scale = np.abs(before) + abs(csr) @ np.abs(x)
        assert np.all(np.abs(found.y[rows] - (before + csr @ x)) <= 1e-15 * scale)
        np.testing.assert_allclose(found.scale[rows], scale, rtol=1e-14)
        np.testing.assert_array_equal(found.limit[rows], 2 * (np.diff(matrix.indptr) + (2 if adds else 1)))
        row, col = row + matrix.n_rows, col + matrix.n_cols
    assert (found.y.size, found.x.size, start.size) == (row, col, row)
    assert np.all(np.abs(found.x) < 1)


def test_references_differ_by_seed() -> None:
    composition = Composition.of([FIRST])
    assert np.all(composition.reference(0).x != composition.reference(1).x)
    assert np.all(composition.start(0) != composition.start(1))


def test_copies_lie_apart() -> None:
    batch = Composition.copies(FIRST, 3).batch(np)
    batch.values[:3] = 0.0
    assert batch.values.tolist() == [0, 0, 0, 1, 2, 3, 1, 2, 3]


def test_mixed_takes_each_matrix_equally_often_in_an_order_of_the_seed() -> None:
    composition = Composition.mixed([FIRST, SECOND, EMPTY], 50, seed=2)
    assert np.bincount(composition.order).tolist() == [17, 17, 16]
    np.testing.assert_array_equal(composition.order, Composition.mixed([FIRST, SECOND, EMPTY], 50, seed=2).order)
    assert np.any(composition.order != Composition.mixed([FIRST, SECOND, EMPTY], 50, seed=3).order)


@pytest.mark.parametrize("count", [0, -1])
def test_no_problems_are_no_copies(count: int) -> None:
    with pytest.raises(ParameterError, match=f"batch size is {count}"):
        Composition.copies(FIRST, count)
    with pytest.raises(ParameterError, match=f"batch size is {count}"):
        Composition.mixed([FIRST], count)


def test_no_matrices_are_no_mixture() -> None:
    with pytest.raises(ParameterError, match="at least one matrix"):
        Composition.mixed([], 3)


def test_a_batch_over_the_limit_is_refused() -> None:
    composition = Composition.copies(FIRST, 1000)
    assert composition.batch(np, composition.bytes_needed).count == 1000
    with pytest.raises(LayoutTooLargeError, match="the limit is"):
        composition.batch(np, composition.bytes_needed - 1)


def test_a_batch_on_its_device_is_not_copied() -> None:
    batch = Composition.of([FIRST, SECOND]).batch(np)
    moved = batch.on(np)
    assert isinstance(moved, Batch)
    assert np.shares_memory(moved.values, batch.values)


def test_repeat_skips_what_counts_none() -> None:
    values, counts = np.array([4, 5, 6]), np.array([2, 0, 1], dtype=np.int64)
    assert repeat(values, counts).tolist() == [4, 4, 6]
