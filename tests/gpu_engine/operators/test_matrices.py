"""Which matrices are taken, what of them is copied, and what is refused."""

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import DeviceError, InputError, ParameterError, TooLargeError
from gpu_engine.formats.base import transpose
from gpu_engine.operators.matrices import WrappedMatrix, wrap_arrays
from tests.battery import BATTERY
from tests.gpu_engine.operators.foreign import CupyxMatrix, OnGpu, TorchMatrix


def same(found: CsrMatrix, expected: CsrMatrix) -> None:
    assert found.shape == expected.shape
    for name in ("indptr", "indices", "values"):
        array, wanted = getattr(found, name), getattr(expected, name)
        assert array.dtype == wanted.dtype
        np.testing.assert_array_equal(array, wanted)


def shared(wrapped: WrappedMatrix, arrays: tuple[Any, ...]) -> list[bool]:
    own = wrapped.stored.indptr, wrapped.stored.indices, wrapped.stored.values
    return [np.shares_memory(mine, theirs) for mine, theirs in zip(own, arrays, strict=True)]


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_canonical_csr_is_not_copied(kind: Any) -> None:
    matrix = kind(BATTERY["band"]().to_scipy())
    wrapped = wrap_arrays(matrix)
    assert shared(wrapped, (matrix.indptr, matrix.indices, matrix.data)) == [True] * 3
    assert (wrapped.by_columns, wrapped.copied, wrapped.shape) == (False, "", matrix.shape)


def test_canonical_csc_is_the_transpose_by_rows() -> None:
    matrix = BATTERY["wide"]().to_scipy().tocsc()
    wrapped = wrap_arrays(matrix)
    assert shared(wrapped, (matrix.indptr, matrix.indices, matrix.data)) == [True] * 3
    assert (wrapped.by_columns, wrapped.copied, wrapped.shape) == (True, "", matrix.shape)
    assert wrapped.stored.shape == matrix.shape[::-1]


def test_a_csr_matrix_of_ours_is_itself() -> None:
    matrix = BATTERY["band"]()
    assert wrap_arrays(matrix).stored is matrix


@pytest.mark.parametrize("stored", ["csr", "csc", "coo"])
def test_tensors_are_known_by_their_layout(stored: Any) -> None:
    matrix = BATTERY["tall"]()
    tensor = TorchMatrix(matrix.to_scipy().asformat(stored))
    wrapped = wrap_arrays(tensor)
    same(transpose(wrapped.stored) if wrapped.by_columns else wrapped.stored, matrix)
    assert wrapped.copied == ("coordinates were sorted by row" if stored == "coo" else "cast from int64 to int32")


def test_only_what_has_another_type_is_cast() -> None:
    matrix = BATTERY["band"]().to_scipy()
    values = matrix.data.astype(np.float32)
    wrapped = wrap_arrays(scipy.sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape))
    assert shared(wrapped, (matrix.indptr, matrix.indices, values)) == [True, True, False]
    assert wrapped.copied == "cast from float32 to float64"
    np.testing.assert_array_equal(wrapped.stored.values, values.astype(np.float64))


@pytest.mark.parametrize("name", BATTERY)
def test_entries_in_any_order_become_canonical(name: str) -> None:
    """Halves of every entry, all of them in a random order: duplicates, unsorted rows, unsorted coordinates."""
    expected = BATTERY[name]()
    coo = expected.to_scipy().tocoo()
    twice = np.random.default_rng(3).permutation(np.repeat(np.arange(coo.nnz), 2))
    halves = scipy.sparse.coo_array((coo.data[twice] / 2, (coo.row[twice], coo.col[twice])), shape=coo.shape)
    same(wrap_arrays(halves).stored, expected)
    by_row = np.argsort(halves.row, kind="stable")
    rows = np.append(0, np.cumsum(np.bincount(halves.row, minlength=coo.shape[0])))
    parts = halves.data[by_row], halves.col[by_row], rows
    unsorted = SimpleNamespace(format="csr", shape=coo.shape, data=parts[0], indices=parts[1], indptr=parts[2])
    same(wrap_arrays(unsorted).stored, expected)


@pytest.mark.parametrize("name", BATTERY)
def test_the_transpose_is_that_of_scipy(name: str) -> None:
    matrix = BATTERY[name]()
    same(transpose(matrix), CsrMatrix.from_scipy(matrix.to_scipy().T))


def parts(**changed: Any) -> Any:
    good = {"format": "csr", "shape": (2, 2), "indptr": [0, 1, 2], "indices": [0, 1], "data": [1.0, 2.0]}
    arrays = good | changed
    return SimpleNamespace(**{n: np.asarray(a) if isinstance(a, list) else a for n, a in arrays.items()})


class Unconvertible:
    """A matrix of a library that has no such conversion for its format."""

    format, shape = "dia", (2, 2)

    def tocsr(self) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("stored", ["bsr", "dia", "lil", "dok"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_other_formats_of_scipy_are_converted(stored: str, kind: str) -> None:
    expected = BATTERY["band"]()
    matrix = getattr(scipy.sparse, f"{stored}_{kind}")(expected.to_scipy())
    wrapped = wrap_arrays(matrix).stored.to_scipy()
    wrapped.eliminate_zeros()
    same(CsrMatrix.from_scipy(wrapped), expected)


@pytest.mark.parametrize("numbers", [[2**53, -(2**53)], [2**60, -(2**62)], [-(2**63), 0], [2**53 + 2, 3]])
def test_whole_numbers_that_fp64_holds_are_taken(numbers: list[int]) -> None:
    assert wrap_arrays(parts(data=numbers)).stored.values.tolist() == [float(number) for number in numbers]


def test_a_matrix_that_wants_a_gradient_is_refused() -> None:
    tensor = TorchMatrix(BATTERY["band"]().to_scipy(), lambda array: SimpleNamespace(requires_grad=True))
    with pytest.raises(ParameterError, match=r"matrix\.detach\(\)"):
        wrap_arrays(tensor)


@pytest.mark.parametrize(
    ("matrix", "error", "said"),
    [
        (np.eye(3), ParameterError, r"ndarray is dense\. Pass a sparse matrix: scipy\.sparse\.csr_array"),
        ([[1.0]], ParameterError, r"list is dense\. .*scipy\.sparse\.csr_array"),
        (OnGpu(np.eye(3)), ParameterError, r"OnGpu is dense\. .*cupyx\.scipy\.sparse\.csr_matrix"),
        (SimpleNamespace(layout="torch.strided"), ParameterError, r"is dense\. .*to_sparse_csr"),
        (SimpleNamespace(layout="torch.sparse_bsr"), ParameterError, "layout torch.sparse_bsr are not supported"),
        (aslinearoperator(np.eye(3)), ParameterError, "nonzeros are unknown"),
        (scipy.sparse.coo_array(np.ones((2, 2, 2))), ParameterError, r"shape \(2, 2, 2\); expected"),
        ("matrix.mtx", ParameterError, "Unsupported matrix type str"),
        (parts(data=[2**53 + 1, 1]), ParameterError, r"above 2\^53 .* int64"),
        (parts(data=[1, -(2**63) + 1]), ParameterError, r"above 2\^53"),
        (parts(data=np.array([1, 2**64 - 1], np.uint64)), ParameterError, r"above 2\^53 .* uint64"),
        (Unconvertible(), ParameterError, "Unconvertible has no conversion to CSR"),
        (scipy.sparse.csr_array(np.ones(3)), ParameterError, r"the shape \(3,\); expected"),
        (parts(data=[1.0, 2.0j]), ParameterError, "values are complex128; expected real numbers"),
        (parts(data=[[1.0], [2.0]]), ParameterError, "one value per nonzero"),
        (parts(indices=[0, 2]), InputError, "column index lies outside 0 … 1"),
        (parts(indptr=[0, 2]), InputError, "2 rows needs 3"),
        (parts(shape=(2, 2**31)), TooLargeError, "at most 2147483647"),
        (
            SimpleNamespace(format="coo", shape=(2, 2), row=np.array([2]), col=np.array([0]), data=np.ones(1)),
            ParameterError,
            "row index lies outside 0 … 1",
        ),
    ],
)
def test_what_is_no_matrix_is_refused(matrix: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        wrap_arrays(matrix)


@pytest.mark.parametrize("make", [CupyxMatrix, lambda matrix: TorchMatrix(matrix, OnGpu)])
def test_a_matrix_on_a_gpu_is_an_error_where_no_gpu_answers(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cupy = pytest.importorskip("cupy")

    def nothing() -> int:
        raise cupy.cuda.runtime.CUDARuntimeError(100)

    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", nothing)
    with pytest.raises(DeviceError, match="lies on a GPU, but no GPU responds"):
        wrap_arrays(make(BATTERY["band"]().to_scipy()))


def test_a_matrix_on_a_gpu_needs_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(DeviceError, match=r"CuPy is not installed: pip install 'sparsight\[cuda13\]'"):
        wrap_arrays(CupyxMatrix(BATTERY["band"]().to_scipy()))


def test_a_matrix_in_two_places_is_refused() -> None:
    with pytest.raises(ParameterError, match="Move all of them to one"):
        wrap_arrays(CupyxMatrix(BATTERY["band"]().to_scipy(), ("data",)))
