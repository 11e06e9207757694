"""Operators on a GPU: by value against SciPy, on the caller's stream, in CUDA graphs, without allocations."""

import itertools
from collections.abc import Iterator
from typing import Any

import cupy
import numpy as np
import pytest

import sparsight
from gpu_engine.errors import ParameterError
from gpu_engine.formats import find_kernel, kernel_names
from gpu_engine.operators import Operator, autotune, operator
from gpu_engine.verify import POISON, Reference, check, reference
from tests.battery import BATTERY, with_row_lengths
from tests.gpu_engine.formats.contract import suited
from tests.gpu_engine.operators.expected import combined, transposed

pytestmark = pytest.mark.usefixtures("gpu")


@pytest.fixture(autouse=True)
def first_gpu() -> Iterator[None]:
    """The first GPU and CuPy's null stream, whatever a test before left current."""
    with cupy.cuda.Device(0), cupy.cuda.Stream.null:
        yield


def on_gpu(matrix: Any, stored: str = "csr") -> Any:
    """The matrix as one of cupyx, or of ours where cupyx has none so small."""
    from cupyx.scipy import sparse

    return getattr(sparse, f"{stored}_matrix")(getattr(matrix.to_scipy(), f"to{stored}")())


def check_products(op: Operator, expected: Reference) -> None:
    start = np.random.default_rng(7).uniform(-1.0, 1.0, expected.y.size)
    x = cupy.asarray(expected.x)
    answer = op @ x
    assert isinstance(answer, cupy.ndarray)
    check(expected, answer.get())
    for alpha, beta in itertools.product((1.0, -2.5), (0.0, 0.75)):
        out = cupy.asarray(start) if beta else cupy.full(start.size, POISON)
        assert op.matvec(x, out=out, alpha=alpha, beta=beta) is out
        check(combined(expected, alpha, beta, start), out.get())


@pytest.mark.parametrize("kernel", kernel_names("cuda"))
def test_every_kernel_multiplies_by_every_matrix_and_its_transpose(kernel: str) -> None:
    for name, make in BATTERY.items():
        host = suited(find_kernel(kernel)[0], make())
        op = operator(host.on(cupy), kernel=kernel)
        try:
            check_products(op, reference(host))
            check_products(op.T, reference(transposed(host)))
        except Exception as error:
            error.add_note(name)
            raise


@pytest.mark.parametrize("stored", ["csr", "csc", "coo"])
@pytest.mark.parametrize("transposed_copy", [True, False])
@pytest.mark.parametrize("name", ["band", "tall", "wide", "power_law", "empty_rows_and_columns", "one_dense_row"])
def test_matrices_of_cupyx_multiply(name: str, transposed_copy: bool, stored: str) -> None:
    host = BATTERY[name]()
    op = operator(on_gpu(host, stored), transposed_copy=transposed_copy)
    assert (op.shape, op.nnz, op.device) == (host.shape, host.nnz, "cuda:0")
    check_products(op, reference(host))
    check_products(op.T, reference(transposed(host)))


def test_canonical_matrices_are_not_copied() -> None:
    matrix = on_gpu(BATTERY["band"]())
    op = operator(matrix, kernel="csr/vector")
    assert op.copied == ""
    assert op._built.layout.matrix.values.data.ptr == matrix.data.data.ptr
    assert op._built.layout.matrix.indices.data.ptr == matrix.indices.data.ptr


def test_duplicates_and_unsorted_rows_become_canonical() -> None:
    host = BATTERY["power_law"]()
    coo = host.to_scipy().tocoo()
    twice = np.random.default_rng(3).permutation(np.repeat(np.arange(coo.nnz), 2))
    arrays = cupy.asarray(coo.data[twice] / 2), (cupy.asarray(coo.row[twice]), cupy.asarray(coo.col[twice]))
    from cupyx.scipy.sparse import coo_matrix

    check_products(operator(coo_matrix(arrays, shape=host.shape)), reference(host))


def test_what_is_predicted_is_told() -> None:
    op = operator(on_gpu(BATTERY["power_law"]()), "predict")
    assert op.predicted_s is not None
    assert op.predicted_s > 0.0
    assert op.reason.startswith("predicted the fastest on ")
    assert op.T.second is not None


def test_a_trial_chooses_and_leaves_stream_and_device(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARSIGHT_HOME", str(tmp_path))
    host = with_row_lengths(np.full(20_000, 25), 20_000, seed=5)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        op = operator(on_gpu(host), "measure", time_limit_s=0.3)
        assert cupy.cuda.get_current_stream() == stream
        assert op.measured_s is not None
        check_products(op, reference(host))
        second = op.T.second
        assert second is not None
        assert second.shared_s is not None
    monkeypatch.setattr(autotune, "opened", None)
    again = operator(on_gpu(host), "measure", time_limit_s=0.3)
    assert (again.kernel, again.measured_s) == (op.kernel, op.measured_s)


@pytest.mark.parametrize("kernel", kernel_names("cuda"))
def test_a_call_with_out_is_captured_and_replayed(kernel: str) -> None:
    """On a stream that captures an allocation fails: α, β and out need none."""
    host = suited(find_kernel(kernel)[0], BATTERY["power_law"]())
    expected = reference(host)
    start = np.random.default_rng(1).uniform(size=host.n_rows)
    op, x, y = operator(host.on(cupy), kernel=kernel), cupy.asarray(expected.x), cupy.asarray(start)
    other = cupy.empty(host.n_rows)
    op.matvec(x, out=other, alpha=2.0, beta=1.0)
    op.matvec(x, out=other)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    pool = cupy.get_default_memory_pool()
    with stream:
        used = pool.used_bytes()
        stream.begin_capture()
        op.matvec(x, out=other)
        op.matvec(x, out=y, alpha=-1.5, beta=0.5)
        graph = stream.end_capture()
        assert pool.used_bytes() == used
        other.fill(POISON)
        graph.launch(stream)
        stream.synchronize()
    check(expected, other.get())
    check(combined(expected, -1.5, 0.5, start), y.get())


def test_products_are_launched_on_the_current_stream() -> None:
    """Only what is launched on the stream that captures gets into its graph."""
    host = BATTERY["band"]()
    op, x, out = operator(host.on(cupy)), cupy.ones(host.n_cols), cupy.empty(host.n_rows)
    op.matvec(x, out=out)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        op.matvec(x, out=out)
        graph = stream.end_capture()
    out.fill(POISON)
    cupy.cuda.Device().synchronize()
    graph.launch(stream)
    stream.synchronize()
    np.testing.assert_allclose(out.get(), host.to_scipy() @ np.ones(host.n_cols))


def test_vectors_by_protocol_are_answered() -> None:
    class Interface:
        """An array that has the protocol of CUDA arrays alone."""

        def __init__(self, array: Any) -> None:
            self.array, self.__cuda_array_interface__ = array, array.__cuda_array_interface__

    class Capsule:
        """An array that has DLPack alone."""

        def __init__(self, array: Any) -> None:
            self._array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self._array.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self._array.__dlpack_device__()

    host = BATTERY["empty_rows_and_columns"]()
    op, expected = operator(host.on(cupy)), reference(host)
    x = cupy.asarray(expected.x)
    for wrap in (Interface, Capsule):
        check(expected, (op @ wrap(x)).get())
        out = cupy.full(host.n_rows, POISON)
        given = wrap(out)
        assert op.matvec(x, out=given) is given
        check(expected, out.get())


def test_vectors_of_the_host_are_refused() -> None:
    host = BATTERY["band"]()
    with pytest.raises(ParameterError, match="x lies on the host and the matrix on a GPU"):
        operator(host.on(cupy)) @ np.ones(host.n_cols)


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
def test_tensors_of_pytorch_multiply_on_its_stream() -> None:
    torch = pytest.importorskip("torch")
    host = BATTERY["power_law"]()
    arrays = (torch.as_tensor(array, device="cuda:0") for array in (host.indptr, host.indices, host.values))
    matrix = torch.sparse_csr_tensor(*arrays, size=host.shape, check_invariants=True)
    expected = reference(host)
    op = sparsight.operator(matrix)
    x, stream = torch.as_tensor(expected.x, device="cuda:0"), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        answer = op @ x
    stream.synchronize()
    assert isinstance(answer, torch.Tensor)
    check(expected, answer.cpu().numpy())
    graph, out = torch.cuda.CUDAGraph(), torch.empty(host.n_rows, dtype=torch.float64, device="cuda:0")
    with torch.cuda.graph(graph):
        op.matvec(x, out=out)
    graph.replay()
    torch.cuda.synchronize()
    check(expected, out.cpu().numpy())


@pytest.mark.parametrize("solver", ["cg", "gmres"])
def test_solvers_of_cupyx_take_it_as_it_is(solver: str) -> None:
    import scipy.sparse
    from cupyx.scipy.sparse import csr_matrix, linalg

    line = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=(-1, 0, 1), shape=(30, 30))
    matrix = scipy.sparse.csr_array(scipy.sparse.kronsum(line, line))
    wanted = np.random.default_rng(0).uniform(size=matrix.shape[0])
    op = sparsight.operator(csr_matrix(scipy.sparse.csr_matrix(matrix)), kernel="sellp/t1")
    b = cupy.asarray(matrix @ wanted)
    for linear in (op, op.aslinearoperator()):
        found, info = getattr(linalg, solver)(linear, b, rtol=1e-12)
        assert info == 0
        np.testing.assert_allclose(found.get(), wanted, atol=1e-8)


@pytest.mark.parametrize("name", ["band", "power_law", "empty_rows_and_columns", "one_dense_row"])
def test_several_columns_of_any_order(name: str) -> None:
    host = BATTERY[name]()
    op, matrix = operator(host.on(cupy)), host.to_scipy()
    for k in (2, 5, 32):
        x = np.random.default_rng(k).uniform(-1.0, 1.0, (host.n_cols, k))
        wide = cupy.zeros((host.n_cols, k + 3))
        wide[:, 1 : k + 1] = cupy.asarray(x)
        for given in (cupy.asarray(x), cupy.asfortranarray(cupy.asarray(x)), wide[:, 1 : k + 1]):
            for order in ("C", "F"):
                out = cupy.full((host.n_rows, k), POISON, order=order)
                assert op.matmat(given, out=out) is out
                np.testing.assert_allclose(out.get(), matrix @ x, atol=1e-9)
                op.matmat(given, out=out, alpha=-2.0, beta=0.5)
                np.testing.assert_allclose(out.get(), -1.5 * (matrix @ x), atol=1e-9)
        back = np.random.default_rng(k).uniform(-1.0, 1.0, (host.n_rows, k))
        np.testing.assert_allclose((op.T @ cupy.asarray(back)).get(), matrix.T @ back, atol=1e-9)
        np.testing.assert_allclose((op @ cupy.asarray(x + 1j)).get(), matrix @ (x + 1j), atol=1e-9)


def test_several_columns_are_captured() -> None:
    host = BATTERY["power_law"]()
    op, x = operator(host.on(cupy)), cupy.ones((host.n_cols, 6))
    out = cupy.empty((host.n_rows, 6))
    op.matmat(x, out=out)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        op.matmat(x, out=out)
        graph = stream.end_capture()
        out.fill(POISON)
        x.fill(2.0)
        graph.launch(stream)
    stream.synchronize()
    np.testing.assert_allclose(out.get(), host.to_scipy() @ np.full((host.n_cols, 6), 2.0), atol=1e-9)


def test_lobpcg_of_cupyx_takes_it_as_it_is() -> None:
    import scipy.sparse
    from cupyx.scipy.sparse import csr_matrix, linalg

    line = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=(-1, 0, 1), shape=(200, 200))
    matrix = csr_matrix(scipy.sparse.csr_matrix(line))
    start = cupy.asarray(np.random.default_rng(0).standard_normal((200, 4)))
    found, _ = linalg.lobpcg(operator(matrix), start.copy(), largest=True, tol=1e-9, maxiter=500)
    expected, _ = linalg.lobpcg(matrix, start.copy(), largest=True, tol=1e-9, maxiter=500)
    np.testing.assert_allclose(found.get(), expected.get(), rtol=1e-10)
