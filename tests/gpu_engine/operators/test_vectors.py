"""Vectors of any library in, vectors of the same kind out; on a GPU with stand-ins of CuPy and PyTorch."""

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpu_engine.errors import DeviceError, ParameterError
from gpu_engine.operators import forks, operator
from gpu_engine.operators.vectors import DeviceVectors
from tests.battery import BATTERY
from tests.gpu_engine.operators.foreign import GPU, Capsule, Namespaced, OnGpu, Tensor

MATRIX = BATTERY["empty_rows_and_columns"]()
X = np.random.default_rng(0).uniform(size=MATRIX.n_cols)
Y = MATRIX.to_scipy() @ X


def test_vectors_are_answered_by_the_library_of_their_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tensor, "__module__", "library")
    monkeypatch.setitem(sys.modules, "library", SimpleNamespace(from_dlpack=Tensor))
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
    with pytest.raises(ParameterError, match="out is read-only"):
        operator(MATRIX).matvec(X, out=out)


@pytest.mark.parametrize("x", [OnGpu(X), Capsule(X, GPU)])
def test_a_vector_on_a_gpu_is_refused_by_a_matrix_on_the_host(x: Any) -> None:
    with pytest.raises(ParameterError, match="x lies on a GPU and the matrix on the host"):
        operator(MATRIX) @ x


class CupyArray:
    """What is asked of a CuPy array."""

    def __init__(self, pointer: int = 4096, size: int = 5, device: int = 0, dtype: str = "f8") -> None:
        self.dtype, self.shape, self.nbytes = np.dtype(dtype), (size,), 8 * size
        self.strides, self.flags = (8,), SimpleNamespace(c_contiguous=True)
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
    """CuPy with two GPUs, the first of which is current, and the stream 7; it copies to the current GPU."""
    here: SimpleNamespace = SimpleNamespace(
        ndarray=CupyArray,
        asarray=lambda vector: CupyArray(size=vector.shape[0], device=here.current),
        from_dlpack=lambda vector: CupyArray(size=len(vector._array)),
        cuda=SimpleNamespace(
            runtime=SimpleNamespace(
                getDevice=lambda: here.current,
                setDevice=lambda device: use(device + 100),
                pointerGetAttributes=lambda pointer: SimpleNamespace(device=here.lies_on),
            ),
            driver=SimpleNamespace(ctxGetCurrent=lambda: here.context, ctxSetCurrent=lambda context: use(context)),
            get_current_stream=lambda: CupyStream(7),
            Stream=CupyStream,
        ),
        current=0,
        context=100,
        lies_on=0,
    )

    def use(context: int) -> None:
        """The context of a GPU is its number and 100; a thread without one works on the first GPU."""
        here.context, here.current = context, context - 100 if context else 0

    monkeypatch.setitem(sys.modules, "cupy", here)
    return here


def test_vectors_of_a_gpu_are_read_from_where_they_are(cupy: SimpleNamespace) -> None:
    vectors, own = DeviceVectors(0), CupyArray()
    assert vectors.read(own, 5, False) is own
    assert vectors.written(own, (5,), False) is own
    assert isinstance(vectors.read(OnGpu(np.ones(5)), 5, False), CupyArray)
    assert isinstance(vectors.read(Capsule(np.ones(5), GPU), 5, False), CupyArray)


def test_a_vector_of_another_library_stays_on_its_gpu(cupy: SimpleNamespace) -> None:
    cupy.lies_on = 1
    with pytest.raises(ParameterError, match="cuda:1"):
        DeviceVectors(0).read(OnGpu(np.ones(5)), 5, False)
    assert DeviceVectors(1).read(OnGpu(np.ones(5)), 5, False).data.device_id == 1
    assert cupy.current == 0


@pytest.mark.parametrize(
    ("vector", "said"),
    [
        (np.ones(5), "x lies on the host and the matrix on a GPU. Copy it to the GPU once"),
        (Capsule(np.ones(5)), "x lies on the host"),
        (CupyArray(size=4), r"\[5\] or \[5, 1\]"),
        (CupyArray(dtype="U1"), "x is <U1"),
        (CupyArray(device=1), "x lies on cuda:1 and the matrix on cuda:0"),
    ],
)
def test_other_vectors_are_refused_by_a_matrix_on_a_gpu(cupy: SimpleNamespace, vector: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        DeviceVectors(0).read(vector, 5, False)


@pytest.mark.parametrize(
    ("vector", "said"),
    [
        (CupyArray(dtype="f4"), "out is float32"),
        (CupyArray(device=1), "out lies on cuda:1 and the matrix on cuda:0"),
        (np.ones(5), "out lies on the host"),
    ],
)
def test_other_outs_are_refused_by_a_matrix_on_a_gpu(cupy: SimpleNamespace, vector: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        DeviceVectors(0).written(vector, (5,), False)


@pytest.mark.parametrize(
    ("ordinal", "context", "afterwards"),
    [(0, 0, 100), (1, 0, 0), (0, 101, 101), (1, 100, 100), (0, 7, 7)],
    ids=["a new thread", "a new thread, another GPU", "the second GPU", "the first GPU", "a context of somebody else"],
)
def test_the_gpu_of_the_matrix_is_current_in_a_product(
    cupy: SimpleNamespace, ordinal: int, context: int, afterwards: int
) -> None:
    vectors = DeviceVectors(ordinal)
    assert cupy.current == 0
    cupy.cuda.driver.ctxSetCurrent(context)
    guard = vectors.guard()
    assert guard is not None
    with guard:
        assert cupy.context == 100 + ordinal
        assert vectors.guard() is None
    assert cupy.context == afterwards


def test_a_forked_process_cannot_use_the_gpu_of_its_parent(
    cupy: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = DeviceVectors(0)
    monkeypatch.setattr(forks.FORKS, "count", forks.FORKS.count + 1)
    with pytest.raises(DeviceError, match="spawn"):
        vectors.guard()
    assert DeviceVectors(0).guard() is None


def strided() -> CupyArray:
    array = CupyArray()
    array.strides, array.flags.c_contiguous = (16,), False
    return array


UNUSUAL = (CupyArray(size=4), CupyArray(dtype="f4"), CupyArray(device=1), strided(), np.ones(5))


def test_usual_vectors_of_a_gpu_need_no_other_look(cupy: SimpleNamespace) -> None:
    vectors, x, out = DeviceVectors(0), CupyArray(), CupyArray(8192)
    cupy.cuda.driver.ctxSetCurrent(100)
    assert vectors.target(x, 5, out, 5) is out
    assert vectors.target(x, 5, x, 5) is None
    for other in UNUSUAL:
        assert vectors.target(other, 5, out, 5) is None
        assert vectors.target(x, 5, other, 5) is None
    cupy.cuda.driver.ctxSetCurrent(101)
    assert vectors.target(x, 5, out, 5) is None


@pytest.mark.parametrize(
    ("begin", "overlaps"), [(4096, True), (4096 + 32, True), (4096 + 40, False), (4096 - 40, False)]
)
def test_vectors_of_a_gpu_overlap_where_their_memory_does(cupy: SimpleNamespace, begin: int, overlaps: bool) -> None:
    assert DeviceVectors(0).overlap(CupyArray(4096), CupyArray(begin)) is overlaps


@pytest.mark.parametrize(("pointer", "expected"), [(7, None), (9, 9), (0, 0)])
def test_a_stream_of_another_library_becomes_the_current_one(
    cupy: SimpleNamespace, pointer: int, expected: int | None
) -> None:
    stream: Any = DeviceVectors(0).on_stream(pointer)
    assert (None if stream is None else stream.ptr) == expected
