"""Vectors of any library in, vectors of the same kind out; on a GPU with stand-ins of CuPy and PyTorch."""

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpu_engine.errors import ParameterError
from gpu_engine.operators import operator
from gpu_engine.operators.vectors import DeviceVectors
from tests.battery import BATTERY
from tests.gpu_engine.operators.foreign import GPU, Capsule, Namespaced, OnGpu, Tensor

MATRIX = BATTERY["empty_rows_and_columns"]()
X = np.random.default_rng(0).uniform(size=MATRIX.n_cols)
Y = MATRIX.to_scipy() @ X


def test_tensors_are_answered_by_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tensor, "__module__", "torch")
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(from_dlpack=Tensor))
    answer = operator(MATRIX) @ Tensor(X)
    assert isinstance(answer, Tensor)
    np.testing.assert_allclose(answer.array, Y)


def test_arrays_of_the_array_api_are_answered_by_their_namespace() -> None:
    answer = operator(MATRIX) @ Namespaced(X)
    assert isinstance(answer, Namespaced)
    np.testing.assert_allclose(answer.array, Y)


@pytest.mark.parametrize("x", [X.tolist(), Capsule(X), Tensor(X)], ids=["list", "dlpack", "array"])
def test_what_makes_no_vectors_of_its_kind_is_answered_by_numpy(x: Any) -> None:
    answer = operator(MATRIX) @ x
    assert isinstance(answer, np.ndarray)
    np.testing.assert_allclose(answer, Y)


def test_out_is_written_in_place_whatever_its_kind() -> None:
    out = Tensor(np.empty(MATRIX.n_rows))
    assert operator(MATRIX).matvec(X, out=out) is out
    np.testing.assert_allclose(out.array, Y)


def test_x_that_cannot_be_written_is_read_and_such_an_out_refused() -> None:
    fixed, out = X.copy(), np.empty(MATRIX.n_rows)
    fixed.flags.writeable = out.flags.writeable = False
    np.testing.assert_allclose(operator(MATRIX) @ fixed, Y)
    with pytest.raises(ParameterError, match="out cannot be written"):
        operator(MATRIX).matvec(X, out=out)


@pytest.mark.parametrize("x", [OnGpu(X), Capsule(X, GPU)])
def test_a_vector_on_a_gpu_is_refused_by_a_matrix_on_the_host(x: Any) -> None:
    with pytest.raises(ParameterError, match="x lies on a GPU and the matrix on the host"):
        operator(MATRIX) @ x


class CupyArray:
    """What is asked of a CuPy array."""

    def __init__(self, pointer: int = 4096, size: int = 5, device: int = 0, dtype: str = "f8") -> None:
        self.dtype, self.shape, self.nbytes = np.dtype(dtype), (size,), 8 * size
        self.flags = SimpleNamespace(c_contiguous=True)
        self.data = SimpleNamespace(ptr=pointer, device_id=device)


class CupyStream:
    """A stream, the current one or somebody else's."""

    def __init__(self, pointer: int) -> None:
        self.ptr = pointer

    @classmethod
    def from_external(cls, stream: Any) -> "CupyStream":
        return cls(stream.__cuda_stream__()[1])


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """CuPy with two GPUs, of which the first is current, and the stream 7."""
    here: SimpleNamespace = SimpleNamespace(
        ndarray=CupyArray,
        asarray=lambda vector: CupyArray(size=vector.shape[0]),
        from_dlpack=lambda vector: CupyArray(size=len(vector._array)),
        cuda=SimpleNamespace(
            runtime=SimpleNamespace(getDevice=lambda: here.current),
            get_current_stream=lambda: CupyStream(7),
            Stream=CupyStream,
        ),
        current=0,
    )
    monkeypatch.setitem(sys.modules, "cupy", here)
    return here


def test_vectors_of_a_gpu_are_read_from_where_they_are(cupy: SimpleNamespace) -> None:
    vectors, own = DeviceVectors(0), CupyArray()
    assert vectors.read(own, 5) is own
    assert vectors.written(own, 5) is own
    assert isinstance(vectors.read(OnGpu(np.ones(5)), 5), CupyArray)
    assert isinstance(vectors.read(Capsule(np.ones(5), GPU), 5), CupyArray)


@pytest.mark.parametrize(
    ("vector", "said"),
    [
        (np.ones(5), "x lies on the host and the matrix on a GPU; bring it there once"),
        (Capsule(np.ones(5)), "x lies on the host"),
        (CupyArray(size=4), "one dimension of 5"),
        (CupyArray(dtype="f4"), "x is float32"),
        (CupyArray(device=1), "x lies on cuda:1, cuda:0 is current and the matrix lies on cuda:0"),
    ],
)
def test_other_vectors_are_refused_by_a_matrix_on_a_gpu(cupy: SimpleNamespace, vector: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        DeviceVectors(0).read(vector, 5)


def test_another_current_gpu_is_refused(cupy: SimpleNamespace) -> None:
    vectors, cupy.current = DeviceVectors(0), 1
    with pytest.raises(ParameterError, match="cuda:1 is current"):
        vectors.read(CupyArray(), 5)


@pytest.mark.parametrize(
    ("begin", "overlaps"), [(4096, True), (4096 + 32, True), (4096 + 40, False), (4096 - 40, False)]
)
def test_vectors_of_a_gpu_overlap_where_their_memory_does(cupy: SimpleNamespace, begin: int, overlaps: bool) -> None:
    assert DeviceVectors(0).overlap(CupyArray(4096), CupyArray(begin)) is overlaps


@pytest.mark.parametrize(("torch_stream", "expected"), [(7, None), (9, 9)])
def test_the_current_stream_is_that_of_the_library_of_the_vector(
    cupy: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, torch_stream: int, expected: int | None
) -> None:
    streams = SimpleNamespace(current_stream=lambda ordinal: SimpleNamespace(cuda_stream=torch_stream + 10 * ordinal))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=streams))
    monkeypatch.setattr(Tensor, "__module__", "torch")
    vectors = DeviceVectors(0)
    assert vectors.stream(CupyArray()) is None
    found: Any = vectors.stream(Tensor(X))
    assert (None if found is None else found.ptr) == expected
