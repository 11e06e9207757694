"""SystemSolves: the state that all solves of one system share, with Sparsight kernels and by libraries."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.competitors.solvers import LibrarySolver
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import KernelError, ParameterError
from gpu_engine.formats.base import Format, Kernel, Launch, check_room
from gpu_engine.measure import Bench, Timed
from gpu_engine.records import Cache, Case
from gpu_engine.sampling.experiment import Candidate, Experiment, Fields
from gpu_engine.solvers import Method, residual, symmetry
from gpu_engine.solvers.gmres import passes_of
from gpu_engine.studies.solvers.details import SolverDetails
from gpu_engine.studies.solvers.systems import RightHandSide, SystemName, make_system, right_hand_side
from gpu_engine.text.units import scientific

CONTROLS = ("csr/vector", "csr/scalar")
"""Control kernels: the first of these that is measured runs twice per round."""

SLACK = 1e-6
"""Share by which the residual on the host may exceed the bound, because both computations round."""

SPMV = "probe/spmv/"
"""Prefix of the SpMVs in the rounds, by kernel."""

HELD_VECTORS = 4
"""Vectors on the device besides those of the solves."""


@dataclass(frozen=True, slots=True)
class Solve:
    """Options of one case.

    kernel          format and kernel of the SpMV, or the solver of a library
    preconditioner  a name of PRECONDITIONERS, or `none`
    """

    kernel: tuple[Format, Kernel] | LibrarySolver
    method: Method
    preconditioner: str
    rtol: float


@dataclass(frozen=True, slots=True)
class SolverPlan:
    """Plan of the solves of a system.

    solves  by case key
    """

    solves: Mapping[str, Solve]
    system: SystemName
    excess: float
    b: RightHandSide
    seed: int
    check_every: int
    restart: int
    iterations_max: int
    rounds: int


class SystemSolves(Experiment):
    """Experiment on one system: matrix, b, the SpMVs alone, and the verification of solutions."""

    details = SolverDetails
    beginning = "making the system"

    def __init__(self, plan: SolverPlan, cases: Sequence[Case], matrix: CsrMatrix, bench: Bench) -> None:
        super().__init__(cases, ("warm",), plan.rounds, bench)
        self.plan, self._given = plan, matrix
        self.launches: dict[str, Launch] = {}
        self._asymmetry: ParameterError | None = None
        self._is_checked = False

    def load(self) -> Sequence[Candidate]:
        """Load the system and return the candidates, the control kernel first."""
        plan, xp = self.plan, self.bench.xp
        self.host = make_system(self._given, plan.system, plan.excess)
        self.held_bytes = self.host.stored_bytes + 8.0 * HELD_VECTORS * self.host.n_rows
        check_room(self.held_bytes, self.bench.layout_bytes)
        self.host_b = right_hand_side(plan.b, self.host.n_rows, plan.seed)
        self.norm = float(np.linalg.norm(self.host_b))
        self.matrix = self.bench.stopwatch.upload(self.host)
        self.b, self.v, self.y = (xp.asarray(self.host_b.copy()) for _ in range(3))
        candidates = [self.candidate(case) for case in self.cases]
        control = next((name for name in CONTROLS if any(c.kernel == name for c in candidates)), "")
        return sorted(candidates, key=lambda c: c.kernel != control)

    @abstractmethod
    def candidate(self, case: Case) -> Candidate:
        """Return what solves a case."""

    def probes(self) -> Sequence[Timed]:
        """Return one SpMV per kernel of the group."""
        return [Timed(f"{SPMV}{name}", self.bench.turns(self._spmv(name))) for name in self.launches]

    @contextmanager
    def group(self) -> Iterator[None]:
        """Hold the layouts of a group, and the SpMVs bound to them."""
        with super().group():
            yield
        self.launches.clear()

    def check_symmetric(self) -> None:
        """Raise ParameterError if the matrix is not symmetric; it is compared once."""
        if not self._is_checked:
            self._is_checked = True
            try:
                symmetry.check(self.matrix)
            except ParameterError as error:
                self._asymmetry = error
        if self._asymmetry is not None:
            raise self._asymmetry

    def norm_of(self, x: Any) -> float:
        """Return ‖b − A·x‖₂ of a host vector, computed on the host in twice the precision."""
        r = np.empty_like(self.host_b)
        with np.errstate(all="ignore"):
            return float(np.sqrt(residual.on_host(self.host, self.host_b, x, r)))

    def verified(self, x: Any, rtol: float) -> float:
        """Return ‖b − A·x‖₂ / ‖b‖₂; raise KernelError if it is above rtol."""
        norm, bound = self.norm_of(x), rtol * self.norm
        if not norm <= bound * (1.0 + SLACK):
            raise KernelError(
                f"wrong solution: ‖b − A·x‖ / ‖b‖ is {scientific(norm / self.norm)}, above rtol {scientific(rtol)}"
            )
        return norm / self.norm

    def iteration_bytes(self, layout_bytes: float, method: Method, iterations: int) -> float:
        """Return the bytes of an iteration: the layout in each SpMV, and the vectors of the method."""
        return layout_bytes * method.spmvs + 8.0 * passes_of(method, self.plan.restart, iterations) * self.host.n_rows

    def least_s(self, layout_bytes: float, spmvs: int, cache: Cache) -> float:
        """Return the least seconds for the bytes of SpMVs."""
        return spmvs * self.bench.least_s(layout_bytes + 16 * self.host.n_rows, cache)

    def rates(self, solve: Solve, layout_bytes: float, counts: Fields, median_s: float, cache: Cache) -> Fields:
        """Return GFLOP/s of the SpMVs of a solve, and the roofline time of its iterations.

        counts  `iterations` and `spmvs` of the solve
        """
        iterations = int(counts["iterations"])
        moved = self.iteration_bytes(layout_bytes, solve.method, iterations)
        iteration_s = moved / self.bench.profile.rate(int(moved), cache)
        return {
            "gflops": 2 * self.host.nnz * int(counts["spmvs"]) / median_s / 1e9,
            "roofline_s": iterations * iteration_s,
            "iteration_roofline_s": iteration_s,
        }

    def _spmv(self, kernel: str) -> Any:
        def multiply() -> None:
            self.launches[kernel](self.v, self.y)

        return multiply
