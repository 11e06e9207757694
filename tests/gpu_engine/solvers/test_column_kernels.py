"""The kernels for several right-hand sides and their CUDA graph, on the host: the same solves as on a CPU."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.solvers import preconditioners
from gpu_engine.solvers.base import Status, System
from gpu_engine.solvers.columns import COLUMNS_MAX, SOURCES, ColumnMethod, ColumnPreconditioner, ColumnTolerance, host
from gpu_engine.solvers.columns.cg import CG
from gpu_engine.solvers.columns.device import ColumnSolver
from gpu_engine.solvers.columns.gmres import gmres
from tests.gpu_engine.solvers.kernels_on_cpu import Machine
from tests.gpu_engine.solvers.systems import scaled, spectrum, stencil

pytestmark = pytest.mark.full(
    "gpu_engine/solvers/columns/*", "gpu_engine/solvers/device*", "gpu_engine/cuda/*.cuh", "tests/gpu_engine/solvers/*"
)

PLANE = scaled(stencil(6, 5), 0.5)
METHODS = CG, gmres(30), gmres(7)


@pytest.fixture(scope="module")
def compiled() -> Machine:
    return Machine(SOURCES)


@pytest.fixture
def machine(compiled: Machine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    import gpu_engine.cuda

    for name, module in (("cupy", compiled.cupy()), ("gpu_engine.cuda.conditional", compiled.conditional())):
        monkeypatch.setitem(__import__("sys").modules, name, module)
    monkeypatch.setattr(gpu_engine.cuda, "conditional", compiled.conditional(), raising=False)
    monkeypatch.setattr(CudaSource, "bound", _bound(compiled))
    yield compiled
    compiled.check_margins()


def _bound(machine: Machine) -> Callable[..., Any]:
    return lambda source, *arguments, **options: machine.bound(source, *arguments, **options)


class _InTurn:
    """A preconditioner whose work waits for the graph, as a launch does."""

    def __init__(self, machine: Machine, given: Any, in_graph: bool) -> None:
        self._machine, self._given, self.in_graph = machine, given, in_graph
        self.diagonal = given.diagonal

    def __call__(self, v: Any, out: Any) -> None:
        self._machine.do(lambda: self._given(v, out))


def systems(machine: Machine, matrix: Any, k: int, M: str | None, in_graph: bool) -> tuple[System, System]:
    """Return the system on the host, and that whose work waits for the graph."""
    csr = CsrMatrix.from_scipy(matrix)
    vectors = System(csr.n_rows, lambda v, out: np.copyto(out, matrix @ v), csr)
    made = ColumnPreconditioner(preconditioners.make(M, vectors), csr.n_rows, k, np) if M else None

    def multiply(v: Any, out: Any) -> None:
        machine.do(lambda: np.copyto(out, matrix @ v))

    late: Any = _InTurn(machine, made, in_graph) if made else None
    plain: Any = made
    return System(csr.n_rows, vectors.multiply, csr, plain), System(csr.n_rows, multiply, csr, late)


def right_hand_sides(n: int, k: int) -> Any:
    return np.random.default_rng(k).standard_normal((n, k)) * 10.0 ** np.arange(k).clip(0, 5)


def tolerance(b: Any, rtol: float = 1e-9, most: int = 500) -> ColumnTolerance:
    return ColumnTolerance(rtol * np.linalg.norm(b, axis=0), most)


@pytest.mark.parametrize(("M", "in_graph"), [(None, True), ("jacobi", True), ("ic", True), ("ic", False)])
@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.title)
def test_kernels_solve_as_the_host_does(
    machine: Machine, method: ColumnMethod, k: int, M: str | None, in_graph: bool
) -> None:
    on_host, on_device = systems(machine, PLANE, k, M, in_graph)
    b = right_hand_sides(30, k)
    expected = host.solve(method, on_host, b, np.zeros_like(b), tolerance(b))
    solver = ColumnSolver(method, on_device, k, 4)
    for _ in range(2):
        x = np.zeros_like(b)
        solution = solver.solve(b, x, tolerance(b))
        assert solution.converged.all()
        assert (abs(x - expected.x) <= 1e-6 * abs(expected.x).max(axis=0)).all()
        assert (abs(solution.iterations - expected.iterations) <= 1).all()
        np.testing.assert_allclose(solution.residual, np.linalg.norm(b - PLANE @ x, axis=0), rtol=1e-4)
        assert (solution.residual <= solution.bound).all()
        assert solution.residuals.shape[1] == k
        assert len(solution.residuals) >= -(-int(solution.iterations.max()) // 4)


@pytest.mark.parametrize("k", [64, 100, COLUMNS_MAX])
@pytest.mark.parametrize("method", [CG, gmres(3)], ids=lambda method: method.title)
def test_some_iterations_of_many_columns_are_those_of_the_host(machine: Machine, method: ColumnMethod, k: int) -> None:
    on_host, on_device = systems(machine, PLANE, k, None, True)
    b, x = right_hand_sides(30, k), np.zeros((30, k))
    expected = host.solve(method, on_host, b, np.zeros_like(b), tolerance(b, most=3))
    solution = ColumnSolver(method, on_device, k, 2).solve(b, x, tolerance(b, most=3))
    assert solution.status == expected.status == (Status.ITERATIONS_MAX,) * k
    assert solution.iterations.tolist() == [3] * k
    assert (abs(x - expected.x) <= 1e-11 * abs(expected.x).max(axis=0)).all()
    np.testing.assert_allclose(solution.residual, expected.residual, rtol=1e-9)


def test_iterations_and_bits_do_not_depend_on_checks_nor_on_a_callback(machine: Machine) -> None:
    b, calls = right_hand_sides(30, 5), list[Any]()
    results = []
    for check_every, callback in ((1, None), (3, None), (10, None), (3, calls.append)):
        _, system = systems(machine, PLANE, 5, None, True)
        x = np.zeros_like(b)
        solution = ColumnSolver(CG, system, 5, check_every).solve(b, x, tolerance(b), callback)
        results.append((x.tobytes(), solution.iterations.tolist()))
        if callback is not None:
            np.testing.assert_array_equal(calls, solution.residuals)
    assert len(set(map(str, results))) == 1


def test_columns_end_by_themselves(machine: Machine) -> None:
    signs = np.ones(40)
    signs[0] = -1.0
    matrix = spectrum(np.geomspace(1.0, 50.0, 40) * signs)
    vectors = np.linalg.eigh(matrix.toarray())[1]
    definite = vectors[:, 1:] @ np.ones(39)
    huge = np.full(40, 1e200)
    b = np.stack([np.zeros(40), vectors[:, 5], definite, vectors[:, 0], definite, huge, definite], axis=1)
    on_host, on_device = systems(machine, matrix, 7, None, True)
    limits = ColumnTolerance(np.array([0.0, *(1e-8,) * 5, 1e9]), 60)
    start = np.zeros_like(b)
    start[:, 6] = 1.0
    expected = host.solve(CG, on_host, b, start.copy(), limits)
    x = start.copy()
    solution = ColumnSolver(CG, on_device, 7, 4).solve(b, x, limits)
    assert solution.status == expected.status
    ends = Status.CONVERGED, Status.CONVERGED, Status.CONVERGED, Status.INDEFINITE, Status.CONVERGED, Status.NOT_FINITE
    assert solution.status == (*ends, Status.CONVERGED)
    np.testing.assert_array_equal(solution.iterations, expected.iterations)
    assert np.isfinite(x).all()
    np.testing.assert_array_equal(x[:, 6], start[:, 6])
    np.testing.assert_array_equal(x[:, 2], x[:, 4])
    limits = ColumnTolerance(np.full(7, 1e-30), 3)
    few = ColumnSolver(CG, on_device, 7, 4).solve(b, start.copy(), limits)
    assert few.iterations.max() == 3
    assert few.status[2] is Status.ITERATIONS_MAX


def test_recurrences_that_drift_continue_from_the_true_residual(machine: Machine) -> None:
    matrix = spectrum(np.geomspace(1.0, 1e6, 60))
    b = np.stack([np.ones(60), np.zeros(60), matrix @ np.ones(60)], axis=1)
    on_host, on_device = systems(machine, matrix, 3, None, True)
    expected = host.solve(CG, on_host, b, np.zeros_like(b), tolerance(b, 1e-13, 5000))
    x = np.zeros_like(b)
    solution = ColumnSolver(CG, on_device, 3, 10).solve(b, x, tolerance(b, 1e-13, 5000))
    assert solution.replacements[0] > 0
    assert solution.replacements[1] == expected.replacements[1] == 0
    exact = np.linalg.norm((b.astype(np.longdouble) - matrix.toarray().astype(np.longdouble) @ x), axis=0)
    np.testing.assert_allclose(solution.residual[[0, 2]], exact[[0, 2]].astype(float), rtol=1e-3)
    np.testing.assert_array_equal(solution.converged, solution.residual <= solution.bound)


def test_cycles_end_by_themselves(machine: Machine) -> None:
    """A cycle that turns vectors makes no progress in few iterations; one column needs one, and one breaks down."""
    cycle = sp.csr_array(np.roll(np.eye(20), 1, axis=0))
    singular = sp.csr_array(sp.block_diag([cycle, sp.csr_array((1, 1))]))
    b = np.zeros((21, 5))
    b[0, 0], b[:20, 1], b[20, 2], b[:20, 4] = 1.0, 1.0, 1.0, 1e200
    limits = ColumnTolerance(np.full(5, 1e-8), 500)
    statuses = {5: Status.STAGNATED, 20: Status.CONVERGED}
    for restart, status in statuses.items():
        on_host, on_device = systems(machine, singular, 5, None, True)
        expected = host.solve(gmres(restart), on_host, b, np.zeros_like(b), limits)
        x = np.zeros_like(b)
        solution = ColumnSolver(gmres(restart), on_device, 5, 4).solve(b, x, limits)
        ends = status, Status.CONVERGED, Status.BREAKDOWN, Status.CONVERGED, Status.NOT_FINITE
        assert expected.status == ends
        assert solution.status == ends
        assert solution.iterations.tolist()[:4] == expected.iterations.tolist()[:4]
        assert np.isfinite(x).all()
