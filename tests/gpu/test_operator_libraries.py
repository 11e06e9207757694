"""Operators on a GPU among the other libraries of a program: CuPy's solvers, PyTorch, JAX, threads, forks, copies."""

import copy
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from typing import Any

import cupy
import numpy as np
import pytest
import scipy.sparse
from cupyx.scipy import sparse
from cupyx.scipy.sparse import linalg

from gpu_engine.errors import DeviceError, ParameterError
from gpu_engine.formats import find_kernel, kernel_names
from gpu_engine.operators import Operator, operator
from gpu_engine.verify import check, reference
from tests.battery import BATTERY
from tests.gpu_engine.formats.contract import suited

pytestmark = pytest.mark.usefixtures("gpu")

N = 60
LINE: Any = scipy.sparse.csr_array(scipy.sparse.diags_array([-1.0, 2.5, -1.2], offsets=(-1, 0, 1), shape=(N, N)))
SYMMETRIC: Any = scipy.sparse.csr_array(scipy.sparse.diags_array([-1.0, 2.5, -1.0], offsets=(-1, 0, 1), shape=(N, N)))
RNG = np.random.default_rng(0)
TALL: Any = scipy.sparse.random_array((N, 40), density=0.2, format="csr", rng=RNG)
B = RNG.uniform(-1.0, 1.0, N)
Z = B + 1j * np.arange(N)
COLUMNS = RNG.uniform(-1.0, 1.0, (N, 4))


@pytest.fixture(autouse=True)
def first_gpu() -> Iterator[None]:
    """The first GPU and CuPy's null stream, whatever a test before left current."""
    with cupy.cuda.Device(0), cupy.cuda.Stream.null:
        yield


def on_gpu(matrix: Any) -> Any:
    return sparse.csr_matrix(scipy.sparse.csr_matrix(matrix))


def close(answer: Any, expected: Any, **options: Any) -> None:
    np.testing.assert_allclose(cupy.asnumpy(answer), expected, **({"atol": 1e-9} | options))


SOLVES: dict[str, Callable[[Any, Any], Any]] = {
    "cg": lambda A, b: linalg.cg(A, b, rtol=1e-12)[0],
    "cgs": lambda A, b: linalg.cgs(A, b, rtol=1e-12)[0],
    "gmres": lambda A, b: linalg.gmres(A, b, rtol=1e-12)[0],
    "bicgstab": lambda A, b: linalg.bicgstab(A, b, rtol=1e-12)[0],
    "minres": lambda A, b: linalg.minres(A, b, tol=1e-12)[0],
    "lsmr": lambda A, b: linalg.lsmr(A, b, atol=1e-14, btol=1e-14)[0],
}


@pytest.mark.parametrize("wrap", [lambda op: op, lambda op: op.aslinearoperator(), linalg.aslinearoperator])
@pytest.mark.parametrize("solver", SOLVES)
def test_solvers_of_cupyx_take_it(solver: str, wrap: Callable[[Any], Any]) -> None:
    x = SOLVES[solver](wrap(operator(on_gpu(SYMMETRIC))), cupy.asarray(B))
    close(SYMMETRIC @ cupy.asnumpy(x).reshape(-1), B, atol=1e-8)


@pytest.mark.parametrize("solver", ["cg", "cgs", "gmres", "bicgstab"])
def test_solvers_of_cupyx_take_complex_systems(solver: str) -> None:
    """CuPy casts b to the dtype of the matrix, so that a complex b needs a complex operator."""
    x = SOLVES[solver]((1 + 0j) * operator(on_gpu(SYMMETRIC)), cupy.asarray(Z))
    close(SYMMETRIC @ cupy.asnumpy(x).reshape(-1), Z, atol=1e-8)


CALLS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "eigsh": (SYMMETRIC, lambda A: linalg.eigsh(A, 4, return_eigenvectors=False)),
    "svds": (TALL, lambda A: linalg.svds(A, k=3, return_singular_vectors=False)),
    "svds of the transpose": (TALL.T.tocsr(), lambda A: linalg.svds(A, k=3)[1]),
    "lobpcg": (SYMMETRIC, lambda A: linalg.lobpcg(A, cupy.asarray(COLUMNS), maxiter=300, tol=1e-9)[0]),
    "product": (LINE, lambda A: (A @ A) @ cupy.asarray(B)),
    "sum": (LINE, lambda A: (A + A.H) @ cupy.asarray(Z)),
    "scaled": (LINE, lambda A: (2.0 * A) @ cupy.asarray(COLUMNS)),
    "power": (LINE, lambda A: (A**2) @ cupy.asarray(B)),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_else_cupyx_computes_takes_it(name: str) -> None:
    matrix, call = CALLS[name]
    expected = call(linalg.aslinearoperator(on_gpu(matrix)))
    close(call(operator(on_gpu(matrix))), cupy.asnumpy(expected), rtol=1e-7)


VECTORS: dict[str, Callable[[], Any]] = {
    "column": lambda: cupy.asarray(B)[:, None],
    "columns": lambda: cupy.asarray(COLUMNS),
    "columns by columns": lambda: cupy.asfortranarray(cupy.asarray(COLUMNS)),
    "no columns": lambda: cupy.empty((N, 0)),
    "strided": lambda: cupy.asarray(np.repeat(B, 2))[::2],
    "reversed": lambda: cupy.asarray(B)[::-1],
    "fp32": lambda: cupy.asarray(B, cupy.float32),
    "fp16": lambda: cupy.asarray(B, cupy.float16),
    "integers": lambda: cupy.arange(N),
    "booleans": lambda: cupy.arange(N) > 7,
    "complex": lambda: cupy.asarray(Z),
    "complex64": lambda: cupy.asarray(Z, cupy.complex64),
    "complex columns": lambda: cupy.asarray(COLUMNS + 1j),
}


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_of_any_number_and_stride_are_multiplied(name: str) -> None:
    op, x = operator(on_gpu(LINE), kernel="split/tile"), VECTORS[name]()
    close(op @ x, LINE @ x.get())
    close(op.dot(x), LINE @ x.get())
    close(x.T @ op, x.get().T @ LINE)
    close(op.matmat(x) if x.ndim == 2 else op.matvec(x), LINE @ x.get())
    close(op.rmatmat(x) if x.ndim == 2 else op.rmatvec(x), LINE.T @ x.get())


@pytest.mark.parametrize(("alpha", "beta"), [(1j, 0.0), (2.0, 1 - 1j), (0.0, 0.5), (0.0, 0.0), (-1.0, 1.0)])
@pytest.mark.parametrize("x", [B, Z], ids=["real", "complex"])
def test_alpha_and_beta_may_be_complex(x: Any, alpha: complex, beta: complex) -> None:
    start = np.where(beta == 0.0, np.nan, Z)
    out = cupy.asarray(start)
    operator(on_gpu(LINE)).matvec(cupy.asarray(x), out=out, alpha=alpha, beta=beta)
    close(out, alpha * (LINE @ x) + (beta * start if beta else 0.0))


def test_alpha_zero_does_not_read_x() -> None:
    op, x = operator(on_gpu(LINE)), cupy.full(N, cupy.nan)
    close(op.matvec(x, alpha=0.0), np.zeros(N))
    out = cupy.asarray(B)
    close(op.matvec(x, out=out, alpha=0.0, beta=2.0), 2 * B)


def test_an_out_that_does_not_hold_the_product_is_refused_before_it_is_written() -> None:
    op, out = operator(on_gpu(LINE)), cupy.asarray(B)
    for x, options in ((cupy.asarray(Z), {}), (cupy.asarray(B), {"alpha": 1j}), (cupy.asarray(B), {"alpha": "1"})):
        with pytest.raises(ParameterError):
            op.matvec(x, out=out, **options)
        with pytest.raises(ParameterError):
            op.matvec(out, out=out)
        close(out, B, atol=0.0)


def test_a_dia_matrix_is_converted() -> None:
    diagonals = sparse.dia_matrix((cupy.asarray(np.vstack([B, B + 1])), cupy.asarray([0, 3])), shape=(N, N))
    expected: Any = scipy.sparse.dia_array((np.vstack([B, B + 1]), [0, 3]), shape=(N, N))
    close(operator(diagonals) @ cupy.asarray(B), expected @ B)


def test_matrices_that_are_none_are_refused_by_name() -> None:
    for matrix in (cupy.eye(3), linalg.aslinearoperator(on_gpu(LINE)), operator(on_gpu(LINE))):
        with pytest.raises(ParameterError):
            operator(matrix)
    inexact = on_gpu(scipy.sparse.coo_matrix(np.eye(2)[:1], shape=(1, 2)))
    inexact.data = cupy.asarray([2**53 + 1])
    with pytest.raises(ParameterError, match=r"2\^53"):
        operator(inexact)
    for operand in (on_gpu(LINE), LINE, operator(LINE), 2.0):
        with pytest.raises(ParameterError):
            operator(on_gpu(LINE)) @ operand


def in_a_thread(work: Callable[[], Any]) -> Any:
    """What a new thread computes; raises what it raises."""
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(results[0], BaseException):
        raise results[0]
    return results[0]


@pytest.mark.parametrize("kernel", kernel_names("cuda"))
def test_a_thread_of_the_program_multiplies(kernel: str) -> None:
    host = suited(find_kernel(kernel)[0], BATTERY["power_law"]())
    op, expected = operator(host.on(cupy), kernel=kernel), reference(host)
    x, out = cupy.asarray(expected.x), cupy.empty(host.n_rows)

    def work() -> Any:
        # Nothing of CuPy before it in this thread, which has no context then.
        op.matvec(x, out=out)
        op.matvec(x, out=out, alpha=2.0)
        op.matvec(x, out=out)
        cupy.cuda.get_current_stream().synchronize()
        return out

    check(expected, in_a_thread(work).get())


def test_a_thread_makes_an_operator_its_transpose_and_a_trial(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARSIGHT_HOME", str(tmp_path))
    matrix, b = on_gpu(LINE), cupy.asarray(B)

    def work() -> Any:
        op = operator(matrix, "measure", time_limit_s=0.05)
        return op, (op.T @ b).get(), repr(op)

    op, answer, text = in_a_thread(work)
    close(answer, LINE.T @ B)
    assert text.startswith("Operator 60 × 60")
    close(op @ b, LINE @ B)


def test_threads_with_operators_of_their_own_multiply_at_once() -> None:
    op = operator(on_gpu(LINE), kernel="split/tile")
    wrong: list[int] = []

    def work(number: int) -> None:
        own, x = copy.copy(op), cupy.asarray(B + number)
        with cupy.cuda.Stream(non_blocking=True) as stream:
            for _ in range(200):
                y = own @ x
            stream.synchronize()
            if not np.allclose(y.get(), LINE @ (B + number)):
                wrong.append(number)

    cupy.cuda.Device().synchronize()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda op: pickle.loads(pickle.dumps(op))])
@pytest.mark.parametrize("side", [lambda op: op, lambda op: op.T], ids=["A", "transpose"])
def test_copies_multiply_by_the_same_kernel(duplicate: Callable[[Any], Any], side: Callable[[Any], Any]) -> None:
    op: Operator = side(operator(on_gpu(TALL), kernel="sellp/t1"))
    text = repr(op)
    again = duplicate(op)
    matrix = TALL if op.shape == TALL.shape else TALL.T
    assert (again.kernel, again.reason, again.shape, again.device) == (op.kernel, op.reason, op.shape, op.device)
    assert repr(again).splitlines()[:3] == text.splitlines()[:3]
    close(again @ cupy.ones(again.shape[1]), matrix @ np.ones(again.shape[1]))
    close(again.T @ cupy.ones(again.shape[0]), matrix.T @ np.ones(again.shape[0]))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_is_told_what_to_do() -> None:
    op, x, text = operator(on_gpu(LINE)), cupy.asarray(B), pickle.dumps(operator(on_gpu(LINE)))
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        told = 0
        for call in (lambda: op @ x, lambda: op.T, lambda: pickle.loads(text), lambda: operator(on_gpu(LINE))):
            try:
                call()
            except DeviceError as error:
                told += "spawn" in str(error)
            except BaseException as error:
                os.write(writes, f"{type(error).__name__}: {error}; ".encode())
        os.write(writes, str(told).encode())
        os._exit(0)
    os.close(writes)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reads) as answer:
        # The last one fails in CuPy, which uploads the matrix.
        assert (status, answer.read()[-1]) == (0, "3")
    close(op @ x, LINE @ B)


@pytest.mark.parametrize("stream", ["null", "non_blocking", "ptds", "external"])
def test_streams_of_cupy_order_products(stream: str) -> None:
    op, x = operator(on_gpu(LINE)), cupy.asarray(B)
    cupy.cuda.Device().synchronize()
    plain = cupy.cuda.Stream(non_blocking=True)
    streams = {
        "null": cupy.cuda.Stream.null,
        "non_blocking": plain,
        "ptds": cupy.cuda.Stream.ptds,
        "external": cupy.cuda.Stream.from_external(plain),
    }
    with streams[stream]:
        y = x * 2.0
        event = cupy.cuda.Event()
        for _ in range(5):
            y = op @ y
        event.record()
        event.synchronize()
    expected = 2.0 * B
    for _ in range(5):
        expected = LINE @ expected
    close(y, expected)


@pytest.mark.skipif(cupy.cuda.runtime.getDeviceCount() < 2, reason="needs two GPUs")
def test_a_matrix_on_another_gpu_than_the_current_one_multiplies_there() -> None:
    with cupy.cuda.Device(1):
        matrix, x = on_gpu(LINE), cupy.asarray(B)
    op = operator(matrix)
    assert op.device == "cuda:1"
    answer = op.T.T @ x
    assert (answer.device.id, cupy.cuda.Device().id) == (1, 0)
    close(answer, LINE @ B)
    close(in_a_thread(lambda: (op @ x).get()), LINE @ B)
    with pytest.raises(ParameterError, match="cuda:0"):
        op @ cupy.asarray(B)
    for again in (copy.copy(op), copy.deepcopy(op), pickle.loads(pickle.dumps(op))):
        assert again.device == "cuda:1"
        close(again @ x, LINE @ B)


def test_arrays_of_jax_are_taken_in_its_own_precision() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    import jax.numpy as jnp

    op = operator(on_gpu(LINE))
    x = jax.device_put(jnp.asarray(B, jnp.float32), jax.devices("gpu")[0])
    answer = op @ x
    assert isinstance(answer, jax.Array)
    # What JAX still computes is waited for, on the device.
    slow = jnp.linspace(0.0, 1.0, 2**26, dtype=jnp.float32).sort().sum() * 0 + x
    np.testing.assert_allclose(np.asarray(op @ slow), np.asarray(answer), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.asarray(answer), LINE @ B.astype(np.float32), rtol=1e-5, atol=1e-6)
    columns = jax.device_put(jnp.asarray(COLUMNS, jnp.float32), jax.devices("gpu")[0])
    np.testing.assert_allclose(np.asarray(op @ columns), LINE @ COLUMNS, rtol=1e-4, atol=1e-5)
    with pytest.raises(ParameterError):
        op @ jax.device_put(jnp.asarray(B), jax.devices("cpu")[0])
    with pytest.raises(ParameterError):
        jax.jit(lambda v: op @ v)(x)


def test_arrays_of_numba_are_taken() -> None:
    numba_cuda = pytest.importorskip("numba.cuda", reason="numba.cuda is not installed")
    if not numba_cuda.is_available():
        pytest.skip("numba.cuda does not know this driver")
    close(operator(on_gpu(LINE)) @ numba_cuda.to_device(B), LINE @ B)
