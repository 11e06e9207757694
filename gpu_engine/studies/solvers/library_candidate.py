"""LibrarySolve: the same system solved by a library, in the same rounds and to the same true residual."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from gpu_engine.competitors import solvers as libraries
from gpu_engine.competitors.solver_calls import Answer, LibrarySystem
from gpu_engine.competitors.solvers import BoundSolver, LibrarySolver, library_call, tightest
from gpu_engine.cuda.load import digest
from gpu_engine.formats.base import check_room
from gpu_engine.measure import Rounds, Timing
from gpu_engine.records import Cache, Case
from gpu_engine.sampling.experiment import Candidate, Fields
from gpu_engine.studies.solvers.system_solves import SystemSolves

VECTORS = 14
"""Vectors of a solve; GMRES has its basis too."""


class LibrarySolve(Candidate):
    """A solver of a library as a candidate; a turn is a complete call.

    Its tolerance is the loosest that was found for which the true residual meets rtol.
    """

    captured = False

    def __init__(self, experiment: SystemSolves, case: Case) -> None:
        super().__init__(case.key, case.kernel, {case.cache: case})
        self._experiment, self._bench = experiment, experiment.bench
        self._solve, plan = experiment.plan.solves[case.key], experiment.plan
        method = self._solve.method
        vectors = VECTORS + (plan.restart + 1) * method.cycles
        self.bytes_needed = float(experiment.matrix.stored_bytes) + 8.0 * vectors * experiment.matrix.n_rows
        self._bound: BoundSolver | None = None
        self._tolerance = self._solve.rtol

    @property
    def environment(self) -> Mapping[str, str]:
        """Version of the library if it is installed, and the hash of the code that calls it."""
        versions = self._library.versions() if self._bound is not None else {}
        return {"source": digest(inspect.getsource(libraries)), **versions}

    def prepare(self) -> Callable[[], Fields]:
        """Give the matrix to the library, and search its tolerance; return the verification of the solution."""
        run, solve = self._experiment, self._solve
        check_room(self.bytes_needed, self._bench.layout_bytes)
        if solve.method.symmetric:
            run.check_symmetric()
        plan = run.plan
        options = solve.method.name, solve.preconditioner, plan.restart, plan.iterations_max
        with library_call(self._library.name):
            bound = self._library.bind(LibrarySystem(run.matrix, run.b, *options))
            norm_of = partial(self._norm_of)
            self._tolerance = tightest(bound.solve, norm_of, solve.rtol, solve.rtol * run.norm)
            answer = bound.count(self._tolerance)
            self._bench.stopwatch.synchronize()
        self._bound = bound
        self.fields = {
            "iterations": answer.iterations,
            "spmvs": answer.spmvs,
            "setup_s": 0.0 if solve.preconditioner == "none" else None,
            "stored_bytes": run.matrix.stored_bytes,
            "tolerance": self._tolerance,
        }
        return partial(self._verified, answer, self._on_host(self._play()))

    def turns(self, cache: Cache) -> Callable[[], float]:
        """Return a function that times one complete call."""
        return self._bench.turns(self._play, captured=False)(cache)

    def least_s(self, cache: Cache) -> float:
        """Return the least seconds for the bytes of its SpMVs."""
        return self._experiment.least_s(self._experiment.matrix.stored_bytes, int(self.fields["spmvs"]), cache)

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:  # noqa: ARG002
        """Return GFLOP/s of the SpMVs, and the roofline time of all iterations with CSR."""
        stored = self._experiment.matrix.stored_bytes
        return self._experiment.rates(self._solve, stored, self.fields, timing.median_s, cache)

    def release(self) -> None:
        """Free the matrix of the library."""
        self._bound = None

    @property
    def _library(self) -> LibrarySolver:
        return self._solve.kernel  # type: ignore[return-value]

    def _play(self) -> Any:
        """Solve once; some calls of CuPy leave another stream current."""
        if self._bound is None:
            raise RuntimeError("A case without a solve cannot be sampled.")
        x = self._bound.solve(self._tolerance)
        self._bench.stopwatch.take_back()
        return x

    def _norm_of(self, x: Any) -> float:
        return self._experiment.norm_of(self._on_host(x))

    def _on_host(self, x: Any) -> Any:
        """Return a copy of x on the host."""
        self._bench.stopwatch.synchronize()
        return x.get() if hasattr(x, "get") else x.copy()

    def _verified(self, answer: Answer, x: Any) -> Fields:
        """Return the residual; raise KernelError if the solution is wrong."""
        residual = self._experiment.verified(x, self._solve.rtol)
        return {"residual": residual, "note": "" if answer.converged else "the library reports no convergence"}
