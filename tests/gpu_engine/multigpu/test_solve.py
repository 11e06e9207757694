"""CG over several devices: against one device and SciPy, in any order of the streams, and where it must give up."""

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import InputError, ParameterError
from gpu_engine.generators import generate
from gpu_engine.multigpu.exchange import SUMS, plan_sums
from gpu_engine.multigpu.solve import SharedSolve
from gpu_engine.multigpu.solve_run import CHECK_EVERY
from gpu_engine.multigpu.topology import simulated
from gpu_engine.multigpu.virtual import virtual_devices
from gpu_engine.solvers import residual
from gpu_engine.solvers.base import Status
from tests.battery import with_row_lengths
from tests.gpu_engine.multigpu.scheduled import CHANGED, Order, ScheduledDevice, scheduled_devices, seeds

counts = pytest.mark.parametrize("count", [1, pytest.param(2, marks=CHANGED), 3, 5])
overlaps = pytest.mark.parametrize("overlap", [False, True], ids=["in turn", "overlap"])


def scattered(n: int) -> CsrMatrix:
    """Symmetric and diagonally dominant, with few nonzeros anywhere, so that halos are lists."""
    a = with_row_lengths([3] * n, n, seed=5).to_scipy()
    a = abs(a) + abs(a).T
    return CsrMatrix.from_scipy(sp.csr_array(sp.diags_array(np.asarray(a.sum(axis=1)).ravel() + 0.5) - a))


SYSTEMS: dict[str, Callable[[], CsrMatrix]] = {
    "stencil": lambda: generate("stencil", {"points": 5, "nx": 37, "ny": 31}),
    "lists": lambda: scattered(300),
    "diagonal": lambda: CsrMatrix.from_scipy(sp.csr_array(sp.diags_array(np.arange(1.0, 8.0)))),
}


def right_hand_side(matrix: CsrMatrix) -> np.ndarray:
    return np.random.default_rng(2).standard_normal(matrix.n_rows)


def norm_of(matrix: CsrMatrix, b: np.ndarray, x: np.ndarray) -> float:
    return float(np.sqrt(residual.on_host(matrix, b, x, np.empty_like(b))))


@pytest.mark.parametrize("name", SYSTEMS)
@counts
@overlaps
def test_several_devices_solve_as_one_does(name: str, count: int, overlap: bool) -> None:
    matrix = SYSTEMS[name]()
    b = right_hand_side(matrix)
    alone = SharedSolve(matrix, scheduled_devices(1)).solve(b, 1e-9)
    solve = SharedSolve(matrix, scheduled_devices(count), overlap=overlap)
    for _ in range(2):
        solution = solve.solve(b, 1e-9)
        assert solution.status is Status.CONVERGED
        assert solution.residual == norm_of(matrix, b, solution.x) <= solution.bound
        assert abs(solution.iterations - alone.iterations) <= CHECK_EVERY
        np.testing.assert_allclose(solution.x, alone.x, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("apart", [False, True], ids=["sums to peers", "sums from peers"])
@pytest.mark.parametrize("seed", seeds(100, always=12))
def test_in_any_order_of_the_streams_the_bits_are_the_same(
    monkeypatch: pytest.MonkeyPatch, seed: int, apart: bool
) -> None:
    if apart:
        monkeypatch.setattr(ScheduledDevice, "reaches", lambda self, other: self is other)
    matrix = SYSTEMS["lists" if seed % 2 else "stencil"]()
    b = right_hand_side(matrix)
    orders = (Order(seed), Order(seed + 1000))
    results = []
    for order in orders:
        devices = [order.device(f"virtual:{i}") for i in range(2 + seed % 3)]
        results.append(SharedSolve(matrix, devices, overlap=seed % 3 > 0).solve(b))
    assert results[0].x.tobytes() == results[1].x.tobytes()
    assert results[0].residuals == results[1].residuals


def test_a_part_of_a_batch_continues_as_the_batch_does() -> None:
    matrix = SYSTEMS["stencil"]()
    b = right_hand_side(matrix)
    iterates = []
    for steps in ((2 * CHECK_EVERY,), (7, CHECK_EVERY, 3), (1,) * (2 * CHECK_EVERY)):
        solve = SharedSolve(matrix, scheduled_devices(2))
        solve.begin(b)
        for iterations in steps:
            solve.advance(iterations)
        x = np.empty(matrix.n_rows)
        solve.read(x)
        iterates.append(x.tobytes())
    assert len(set(iterates)) == 1


def test_iterations_are_those_of_cg() -> None:
    matrix = SYSTEMS["stencil"]()
    b, count = right_hand_side(matrix), 30
    a, x = matrix.to_scipy(), np.zeros(matrix.n_rows)
    r = b.copy()
    p = r.copy()
    for _ in range(count):
        image = a @ p
        alpha = (r @ r) / (p @ image)
        x += alpha * p
        new = r - alpha * image
        p = new + (new @ new) / (r @ r) * p
        r = new
    solve = SharedSolve(matrix, scheduled_devices(3))
    solve.begin(b)
    solve.advance(count)
    solution = np.empty_like(x)
    solve.read(solution)
    np.testing.assert_allclose(solution, x, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("shift", [-1.0, -9.0])
def test_an_indefinite_matrix_is_told(shift: float) -> None:
    stencil = SYSTEMS["stencil"]()
    matrix = CsrMatrix.from_scipy(sp.csr_array(stencil.to_scipy() + shift * sp.eye_array(stencil.n_rows)))
    solution = SharedSolve(matrix, scheduled_devices(2)).solve(right_hand_side(matrix))
    assert solution.status is Status.INDEFINITE
    assert np.isfinite(solution.x).all()


def test_numbers_that_are_none_are_told() -> None:
    matrix = SYSTEMS["diagonal"]()
    b = right_hand_side(matrix)
    b[3] = np.nan
    assert SharedSolve(matrix, scheduled_devices(2)).solve(b).status is Status.NOT_FINITE


def test_few_iterations_are_told() -> None:
    matrix = SYSTEMS["stencil"]()
    solution = SharedSolve(matrix, scheduled_devices(2)).solve(right_hand_side(matrix), 1e-12, maxiter=CHECK_EVERY)
    assert (solution.status, solution.iterations) == (Status.ITERATIONS_MAX, CHECK_EVERY)


def test_without_b_there_is_nothing_to_do() -> None:
    matrix = SYSTEMS["stencil"]()
    solution = SharedSolve(matrix, scheduled_devices(2)).solve(np.zeros(matrix.n_rows))
    assert (solution.status, solution.iterations, solution.residual) == (Status.CONVERGED, 0, 0.0)
    assert not solution.x.any()


def test_a_tolerance_beyond_fp64_stagnates() -> None:
    matrix = SYSTEMS["stencil"]()
    solution = SharedSolve(matrix, scheduled_devices(2)).solve(right_hand_side(matrix), 1e-19, maxiter=2000)
    assert solution.status in (Status.STAGNATED, Status.ITERATIONS_MAX)
    assert solution.residual > solution.bound


def test_each_device_fetches_the_sums_of_all_others() -> None:
    transfers = plan_sums(3)
    assert {(t.source, t.target) for t in transfers} == {(i, j) for i in range(3) for j in range(3) if i != j}
    assert all((t.begin, t.place, t.elements) == (SUMS * t.source, SUMS * t.source, SUMS) for t in transfers)


def test_an_exchange_of_the_halo_alone_sends_two_lines_of_a_stencil() -> None:
    matrix = generate("stencil", {"points": 5, "nx": 40, "ny": 40})
    with virtual_devices(simulated([2])) as devices:
        solve = SharedSolve(matrix, devices)
    assert solve.exchanged_bytes == 8 * (2 * 40 + 2 * SUMS)


def test_what_cannot_be_solved_is_refused() -> None:
    matrix = SYSTEMS["diagonal"]()
    with pytest.raises(ParameterError, match="square"):
        SharedSolve(with_row_lengths([1, 1], 3, 1), scheduled_devices(1))
    with pytest.raises(ParameterError, match="device"):
        SharedSolve(matrix, ())
    with pytest.raises(InputError, match="float64"):
        SharedSolve(matrix, scheduled_devices(1)).solve(np.ones(3))
