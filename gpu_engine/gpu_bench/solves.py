"""Complete solves: unmodified solvers of SciPy and CuPy, with the library's matrix and with operators."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, get_args

import numpy as np

from gpu_engine.competitors.library_calls import cupyx_matrix
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.gpu_bench.benchmark_matrices import Subject
from gpu_engine.gpu_bench.call_records import SolveTimes
from gpu_engine.gpu_bench.calls import OURS, reason, run, whole
from gpu_engine.measure import Bench, Timed
from gpu_engine.operators import Choose, operator
from gpu_engine.recordings.files import generated
from gpu_engine.studies.solvers.systems import SystemName, make_system

LIBRARY_MATRIX = "own matrix"

SOLVERS = {"definite": "cg", "unsymmetric": "gmres"}
"""Solver by group of systems."""

EXCESS = {"definite": 1e-3, "unsymmetric": 1e-2}
"""Excess of the diagonal over the sum of its row; a smaller one means more SpMVs per solve."""

MADE: dict[str, SystemName] = {"definite": "definite", "unsymmetric": "dominant"}
"""Group of systems → how the study `solvers` makes them."""

RTOL = 1e-8
STEPS_MAX = 2000

ROUNDS = 5
"""Number of solves per target; few suffice, because solves are long and vary little."""

SYSTEMS: tuple[Subject, ...] = (
    Subject("plane-5 system", "definite", generated("stencil", {"points": 5, "nx": 640, "ny": 640})),
    Subject("space-7 system", "definite", generated("stencil", {"points": 7, "nx": 72, "ny": 72, "nz": 72})),
    Subject("space-27 system", "definite", generated("stencil", {"points": 27, "nx": 48, "ny": 48, "nz": 48})),
    Subject("fem3 system", "definite", generated("fem", {"block": 3, "nx": 32, "ny": 32, "nz": 32})),
    Subject("del18 system", "definite", generated("delaunay", {"n": 2**18})),
    Subject("constant-16 system", "unsymmetric", generated("rows", {"n": 250_000, "lengths": "constant"})),
    Subject("lognormal-16 system", "unsymmetric", generated("rows", {"n": 250_000, "lengths": "lognormal"})),
    Subject("web system", "unsymmetric", generated("web", {"n": 400_000})),
    Subject("rmat17 system", "unsymmetric", generated("rmat", {"scale": 17})),
    Subject("powerlaw system", "unsymmetric", generated("powerlaw", {"n": 200_000})),
)
"""Matrices from which the systems are made."""


@dataclass(slots=True)
class CountingOperator:
    """A matrix or operator that counts its SpMVs, with the interface that solvers need."""

    matrix: Any
    products: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        rows, columns = self.matrix.shape
        return rows, columns

    @property
    def dtype(self) -> Any:
        """dtype of the values."""
        return self.matrix.dtype

    def matvec(self, x: Any) -> Any:
        """Return A·x and count it."""
        self.products += 1
        return self.matrix @ x


def system(matrix: CsrMatrix, group: str) -> CsrMatrix:
    """Return the system of a matrix: no positive off-diagonal values, and a dominant diagonal in each row.

    `definite`: symmetric, so positive definite; `unsymmetric`: each row scaled to a diagonal of 1.
    """
    return make_system(matrix, MADE[group], EXCESS[group])


def measure(name: str, group: str, host: CsrMatrix, bench: Bench) -> Iterator[SolveTimes]:
    """Yield the solves of a system in interleaved rounds, with equal right-hand side and tolerance."""
    on_cpu = bench.stopwatch.backend == "cpu"
    library_matrix = host.to_scipy() if on_cpu else cupyx_matrix(bench.stopwatch.upload(host))
    solver = getattr(import_module("scipy.sparse.linalg" if on_cpu else "cupyx.scipy.sparse.linalg"), SOLVERS[group])
    right = np.random.default_rng(0).uniform(-1.0, 1.0, host.n_rows)
    solve = partial(solver, b=bench.xp.asarray(right), rtol=RTOL, atol=0.0, maxiter=STEPS_MAX)
    makes: dict[str, Callable[[], Any]] = {LIBRARY_MATRIX: lambda: library_matrix}
    makes |= {f"{OURS}{choose}": partial(operator, library_matrix, choose) for choose in get_args(Choose)}
    solves, timed = [], []
    for way, make in makes.items():
        times = SolveTimes(name, SOLVERS[group], way)
        try:
            with bench.stopwatch.guard():
                A, seconds = bench.stopwatch.time_once(make)
                times = replace(
                    times, kernel=getattr(A, "kernel", ""), made_s=None if way == LIBRARY_MATRIX else seconds
                )
                times = _solved(times, solve, A, host, right)
        except Exception as error:
            times = replace(times, note=reason(error))
        solves.append(times)
        if not times.note:
            timed.append(Timed(way, partial(whole, bench.stopwatch, partial(solve, A))))
    rounds = run(bench.rounds(timed, ("warm",), ROUNDS))
    for times in solves:
        yield times if times.note else replace(times, solve_s=rounds.timing(times.name, "warm").median_s)


def _solved(times: SolveTimes, solve: Callable[..., Any], A: Any, host: CsrMatrix, right: Any) -> SolveTimes:
    """Return the times with SpMVs and residual of one solve, and with a note if it did not converge."""
    counting = CountingOperator(A)
    x, info = solve(counting)
    solution = x if isinstance(x, np.ndarray) else x.get()
    residual = float(np.linalg.norm(right - host.to_scipy() @ solution) / np.linalg.norm(right))
    note = "" if info == 0 else f"no solution after {counting.products} SpMVs"
    return replace(times, products=counting.products, residual=residual, note=note)
