"""The CUDA kernels of half storage and of column blocks on a CPU, by the contract; tests/gpu runs them on a GPU."""

from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats import cache_blocked, propagation_blocked, symmetric
from gpu_engine.formats.base import Format
from tests.battery import BATTERY, mirrored
from tests.gpu_engine.cuda import emulator
from tests.gpu_engine.formats import contract
from tests.gpu_engine.formats.test_cache_blocked import both, of_width

NAMES = (
    *("zero_by_n", "all_rows_empty", "identity", "empty_rows_and_columns", "one_dense_row", "one_dense_column"),
    *("tall", "around_a_block", "long_row_first", "power_law", "spread_of_magnitudes"),
)


@pytest.fixture(autouse=True)
def launches_on_this_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CudaSource, "bound", emulator.bound)
    for module in (cache_blocked, propagation_blocked):
        monkeypatch.setattr(module, "zeros", lambda _, y: y.fill(0.0))


def check(f: Format, matrix: CsrMatrix) -> None:
    expected = *contract.references(matrix), contract.not_finite(matrix)
    contract.check_format(f, "cuda", matrix, matrix, expected, np)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("name", NAMES)
def test_half_storage(name: str, sign: float) -> None:
    check(symmetric.FORMAT, mirrored(BATTERY[name](), sign))


@both
@pytest.mark.parametrize("name", NAMES)
def test_column_blocks(f: Format, name: str) -> None:
    matrix = BATTERY[name]()
    check(f, matrix)
    check(of_width(f, max(7, matrix.n_cols // 5)), matrix)


def with_values(matrix: CsrMatrix, values: Any) -> CsrMatrix:
    return CsrMatrix(*matrix.shape, matrix.indptr, matrix.indices, values)


@pytest.mark.parametrize("kind", ["floats", "codes", "constant", "long pointers"])
@pytest.mark.parametrize("name", ["power_law", "around_a_block"])
def test_every_kind_of_values_and_pointers(name: str, kind: str) -> None:
    matrix, source = BATTERY[name](), np.random.default_rng(3)
    values = {
        "floats": source.integers(1, 5000, matrix.nnz) / 8.0,
        "codes": source.integers(1, 20, matrix.nnz) * 0.1,
        "constant": np.full(matrix.nnz, 0.1),
    }
    for f, tried in (
        (of_width(cache_blocked.FORMAT, matrix.n_cols // 5), with_values(matrix, values.get(kind, matrix.values))),
        (
            of_width(propagation_blocked.FORMAT, matrix.n_cols // 5),
            with_values(matrix, values.get(kind, matrix.values)),
        ),
        (symmetric.FORMAT, mirrored(with_values(matrix, values.get(kind, matrix.values)))),
    ):
        pointer = np.int64 if kind == "long pointers" else np.int32
        check(f, CsrMatrix(*tried.shape, tried.indptr.astype(pointer), tried.indices, tried.values))
