"""Copies, pickles, threads and forks of a program with operators on a CPU."""

import copy
import os
import pickle
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
import pytest
import scipy.sparse

from gpu_engine.errors import DeviceError
from gpu_engine.formats import find_kernel, kernel_names
from gpu_engine.operators import forks, operator
from gpu_engine.operators.build import Source
from tests.battery import BATTERY

MATRIX = BATTERY["power_law"]().to_scipy()

DUPLICATES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda op: pickle.loads(pickle.dumps(op)),
    "oldest pickle": lambda op: pickle.loads(pickle.dumps(op, 0)),
    "in a list": lambda op: copy.deepcopy([op])[0],
    "of a copy": lambda op: copy.copy(pickle.loads(pickle.dumps(copy.copy(op)))),
}

SIDES: dict[str, Callable[[Any], Any]] = {"A": lambda op: op, "transpose": lambda op: op.T, "back": lambda op: op.T.T}


@pytest.mark.parametrize("name", DUPLICATES)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("stored", ["csr", "csc"])
@pytest.mark.parametrize("options", [{"kernel": "split/tile"}, {}, {"transposed_copy": False}])
def test_copies_multiply_by_the_same_kernel(name: str, side: str, stored: Any, options: dict[str, Any]) -> None:
    op = SIDES[side](operator(MATRIX.asformat(stored), **options))
    again = DUPLICATES[name](op)
    matrix = MATRIX.T if side == "transpose" else MATRIX
    assert type(again) is type(op)
    assert (again.kernel, again.reason, again.shape, again.copied) == (op.kernel, op.reason, op.shape, op.copied)
    x = np.random.default_rng(0).uniform(size=again.shape[1])
    np.testing.assert_allclose(again @ x, matrix @ x)
    np.testing.assert_allclose(again.T @ (matrix @ x), matrix.T @ (matrix @ x))


def test_a_copy_shares_the_arrays_and_a_deep_one_does_not() -> None:
    op = operator(MATRIX)
    arrays = [again._source.wrapped.stored.values for again in (copy.copy(op), copy.deepcopy(op))]
    assert [np.shares_memory(array, MATRIX.data) for array in arrays] == [True, False]
    assert not np.shares_memory(copy.copy(op)._product.room, op._product.room)


@pytest.mark.parametrize("name", ["copy", "deepcopy", "pickle"])
def test_a_copy_chooses_no_kernel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    op = operator(MATRIX)
    monkeypatch.setattr(Source, "_chosen", None)
    assert DUPLICATES[name](op).kernel == op.kernel


@pytest.mark.parametrize("stored", ["csr", "csc"])
def test_a_symmetric_operator_stays_its_own_transpose(stored: Any) -> None:
    op = operator(scipy.sparse.csr_array(MATRIX @ MATRIX.T).asformat(stored))
    assert op.T is op
    again = pickle.loads(pickle.dumps(op))
    assert again.T is again


def test_repr_needs_no_product() -> None:
    for op in (operator(MATRIX), operator(MATRIX).T, copy.copy(operator(MATRIX)), operator(MATRIX.tocsc())):
        assert repr(op).startswith("Operator ")
        assert op._repr_html_().startswith("<table>")


@pytest.mark.parametrize("kernel", [name for name in kernel_names("cpu") if not find_kernel(name)[0].symmetric_only])
def test_one_operator_multiplies_in_several_threads(kernel: str) -> None:
    op = operator(MATRIX, kernel=kernel)
    start = np.linspace(0.0, 1.0, MATRIX.shape[0])

    def work(number: int) -> bool:
        x, right = np.full(MATRIX.shape[1], float(number)), []
        for _ in range(10):
            out = start.copy()
            op.matvec(x, out=out, alpha=2.0, beta=0.5)
            right.append(np.allclose(out, 2.0 * (MATRIX @ x) + 0.5 * start))
            right.append(np.allclose(op.T @ start, MATRIX.T @ start))
        return all(right)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))


def test_the_transpose_is_made_once_by_threads_at_once() -> None:
    op, barrier = operator(MATRIX), threading.Barrier(4)

    def work(_: int) -> int:
        barrier.wait()
        return id(op.T)

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(work, range(4)))) == 1


def in_a_fork(work: Callable[[], bytes]) -> tuple[int, bytes]:
    """(exit status, answer) of a process that is forked from this one."""
    reads, writes = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        try:
            os.write(writes, work())
        finally:
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as answer:
        return os.waitpid(child, 0)[1], answer.read()


def test_a_forked_process_is_told_that_threads_do_not_survive() -> None:
    """GNU OpenMP would end it by a signal."""
    op, x = operator(MATRIX), np.ones(MATRIX.shape[1])
    op @ x
    text = pickle.dumps(op)

    def work() -> bytes:
        answers = []
        for call in (lambda: op @ x, lambda: op.T, lambda: operator(MATRIX), lambda: pickle.loads(text)):
            try:
                call()
                answers.append(b"ran")
            except DeviceError as error:
                answers.append(b"told" if "spawn" in str(error) else b"misled")
        return b" ".join(answers)

    status, answer = in_a_fork(work)
    assert status == 0
    layer = numba.threading_layer()  # type: ignore[attr-defined]
    assert answer == (b"told told told told" if layer == "omp" else b"ran ran ran ran")
    np.testing.assert_allclose(op @ x, MATRIX @ x)


def test_only_threads_that_ran_before_the_fork_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def layer() -> str:
        raise ValueError("Threading layer is not initialized.")

    monkeypatch.setattr(forks, "FORKS", forks.Forks())
    monkeypatch.setattr(numba, "threading_layer", layer)
    forks._note_fork()
    assert (forks.FORKS.count, forks.FORKS.has_lost_threads) == (1, False)
    monkeypatch.setattr(numba, "threading_layer", lambda: "workqueue")
    forks._note_fork()
    assert (forks.FORKS.count, forks.FORKS.has_lost_threads) == (2, False)
    monkeypatch.setattr(numba, "threading_layer", lambda: "omp")
    forks._note_fork()
    assert (forks.FORKS.count, forks.FORKS.has_lost_threads) == (3, True)
