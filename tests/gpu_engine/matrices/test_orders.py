"""Orders: P·A·Pᵀ by value, and a study in a new order that gives back the same products."""

from typing import get_args, get_type_hints

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix, check_csr
from gpu_engine.errors import ParameterError
from gpu_engine.generators import generate
from gpu_engine.host.device import find_device
from gpu_engine.matrices.orders import ORDER_NAMES, ORDERS, moving, ordered, reorder
from gpu_engine.measure import open_bench
from gpu_engine.parameters import parse_params
from gpu_engine.records import MatrixInfo, Measurement
from gpu_engine.studies.formats import FormatsParams, FormatsStudy
from tests.battery import BATTERY

SQUARE = [name for name, make in BATTERY.items() if make().n_rows == make().n_cols]


@pytest.mark.parametrize("order", [o.name for o in ORDERS])
@pytest.mark.parametrize("name", SQUARE)
def test_a_product_in_the_new_order_is_the_product_moved(order: str, name: str) -> None:
    matrix = BATTERY[name]()
    found = reorder(order, matrix)
    check_csr(*found.matrix.shape, found.matrix.indptr, found.matrix.indices, found.matrix.values)
    np.testing.assert_array_equal(np.sort(found.permutation), np.arange(matrix.n_rows))
    np.testing.assert_array_equal(found.permutation[found.inverse], np.arange(matrix.n_rows))
    old, new = matrix.to_scipy().toarray(), found.matrix.to_scipy().toarray()
    np.testing.assert_array_equal(new, old[np.ix_(found.permutation, found.permutation)])
    assert found.matrix.nnz == matrix.nnz


def test_the_most_read_columns_come_first() -> None:
    counts = np.bincount(reorder("degree", generate("powerlaw", {"n": 600, "max_length": 300})).matrix.indices)
    assert (np.diff(counts) <= 0).all()


def test_rcm_brings_neighbours_near() -> None:
    path = np.random.default_rng(0).permutation(500)
    rows = np.concatenate([path[1:], path[:-1]])
    columns = np.concatenate([path[:-1], path[1:]])
    order = np.argsort(rows * 500 + columns)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows))]).astype(np.int32)
    matrix = CsrMatrix(500, 500, indptr, columns[order].astype(np.int32), np.ones(rows.size))
    found = reorder("rcm", matrix).matrix
    assert np.abs(np.repeat(np.arange(500), np.diff(found.indptr)) - found.indices).max() == 1


def test_vectors_are_moved_there_and_back() -> None:
    found = reorder("degree", generate("powerlaw", {"n": 600, "max_length": 300}))
    moved: list[np.ndarray] = []

    class Recorder:
        asarray, empty_like = np.asarray, np.empty_like

        @staticmethod
        def take(array: np.ndarray, places: np.ndarray, out: np.ndarray) -> None:
            moved.append(np.take(array, places, out=out))

    x = np.arange(found.matrix.n_rows, dtype=float)
    moving(found, x, x[found.permutation], Recorder)()
    np.testing.assert_array_equal(moved[0], x[found.permutation])
    np.testing.assert_array_equal(moved[1], x)


def test_a_rectangle_has_no_order() -> None:
    with pytest.raises(ParameterError, match="only square matrices"):
        reorder("rcm", BATTERY["wide"]())


def test_the_study_offers_every_order() -> None:
    assert get_args(get_type_hints(FormatsParams)["reorder"]) == ORDER_NAMES


@pytest.mark.parametrize("order", ORDER_NAMES)
def test_records_name_the_order(order: str) -> None:
    kernels = ["csr/scalar", "coo/segmented"]
    params = parse_params(
        FormatsParams, {"kernels": kernels, "reorder": order, "rounds": 9, "caches": ["warm"], "control": "csr/scalar"}
    )
    matrix = generate("delaunay", {"n": 800})
    device, study = find_device("cpu"), FormatsStudy()
    cases = tuple(study.cases(params, [MatrixInfo("m", "m", *matrix.shape, matrix.nnz)], device))
    assert [case.kernel for case in cases] == [ordered(kernel, order) for kernel in kernels]
    with open_bench(device) as bench:
        records = [r for r in study.run(params, cases, {"m": matrix}, bench) if isinstance(r, Measurement)]
    assert [(r.case, r.kernel, r.format, r.state) for r in records] == [
        (case.key, case.kernel, case.format, "ok") for case in cases
    ]
    for record in records:
        assert (record.details.reorder_s is None) == (record.details.permute_s is None) == (order == "none")
