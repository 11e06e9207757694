"""SolveCandidate: a solve with the kernel of a format, which runs whole on the device."""

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial

from gpu_engine.cuda.load import CudaSource, digest
from gpu_engine.errors import KernelError
from gpu_engine.formats.base import Format, Kernel, check_room
from gpu_engine.measure import Rounds, Timing
from gpu_engine.records import Cache, Case, Trace
from gpu_engine.sampling.experiment import Candidate, Fields, time_few
from gpu_engine.solvers import Method, Solution, host, outer, preconditioners
from gpu_engine.solvers.base import System, Tolerance
from gpu_engine.studies.solvers.system_solves import SPMV, SystemSolves

VECTORS = {"cg": 8, "minres": 12, "bicgstab": 12, "gmres": 10}
"""Vectors of a solve; GMRES has its basis too."""

ENTRY_BYTES = {"ic": 40.0, "ilu": 40.0}
"""Bytes per nonzero of a preconditioner while it is computed, if it depends on them."""

ROW_BYTES = 160.0
"""Most bytes per row of a preconditioner, in blocks of few rows."""

POINTS_MAX = 400
"""Most points of a trace."""


class SolveCandidate(Candidate):
    """A method with a kernel and a preconditioner as a candidate; a turn is a complete solve from x = 0."""

    captured = False

    def __init__(self, experiment: SystemSolves, case: Case) -> None:
        super().__init__(case.key, case.kernel, {case.cache: case})
        self._experiment, self._bench, self._case = experiment, experiment.bench, case
        self._solve = experiment.plan.solves[case.key]
        matrix = experiment.matrix
        self.bytes_needed = float(self._format.bytes_needed(matrix)) + 8.0 * self._vectors * matrix.n_rows
        self.bytes_needed += _bytes_of(self._solve.preconditioner, matrix.n_rows, matrix.nnz)
        self._run: Callable[[], Solution] | None = None
        self._solution: Solution | None = None
        self._layout_bytes = 0

    @property
    def environment(self) -> Mapping[str, str]:
        """Hash of the sources of kernel and method."""
        backend = self._bench.stopwatch.backend
        return {"source": digest(f"{self._kernel.source_hash(backend)} {method_hash(self._solve.method, backend)}")}

    @property
    def sources(self) -> Collection[CudaSource]:
        """CUDA sources of the kernel, the method, the loop around it, and the preconditioner."""
        given = self._solve.preconditioner
        more = () if given in ("none", "jacobi") else preconditioners.SOURCES
        return (*self._kernel.sources, outer.SOURCE, self._solve.method.source, *more)

    def prepare(self) -> Callable[[], Fields]:
        """Convert, compute the preconditioner, and solve once; return the verification of the solution."""
        run, f, method = self._experiment, self._format, self._solve.method
        check_room(self.bytes_needed, self._bench.layout_bytes)
        if method.symmetric:
            run.check_symmetric()
        layout, conversion = run.converted(f.title, f.bytes_needed(run.matrix), lambda: f.from_csr(run.matrix))
        launch = self._kernel.bound(self._bench.stopwatch.backend, layout)
        self._layout_bytes = self._kernel.layout_bytes(layout)
        bare = System(run.host.n_rows, launch, run.matrix)
        system, setup_s = self._preconditioned(bare)
        self._run = self._bound(system)
        self._solution = solution = self._run()
        self._bench.stopwatch.take_back()
        if not solution.converged:
            raise KernelError(f"status {solution.status.name.lower()}: {solution}")
        run.launches[self.kernel] = launch
        x = solution.x.copy() if self._on_host else solution.x.get()
        # The residuals are needed after the rounds, x is not.
        self._solution = replace(solution, x=None)
        self.fields = {
            **conversion,
            "iterations": solution.iterations,
            "spmvs": solution.iterations * method.spmvs * (1 + preconditioners.products(self._solve.preconditioner)),
            "setup_s": setup_s,
            "replacements": solution.replacements,
        }
        return lambda: {"residual": run.verified(x, self._solve.rtol)}

    def turns(self, cache: Cache) -> Callable[[], float]:
        """Return a function that times one complete solve, with the work of the host."""
        return self._bench.turns(self._play, captured=False)(cache)

    def least_s(self, cache: Cache) -> float:
        """Return the least seconds for the bytes of its SpMVs."""
        return self._experiment.least_s(self._layout_bytes, int(self.fields["spmvs"]), cache)

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:
        """Return GFLOP/s of the SpMVs, the roofline time of all iterations, and the time of one SpMV."""
        rates = self._experiment.rates(self._solve, self._layout_bytes, self.fields, timing.median_s, cache)
        return {**rates, "spmv_s": rounds.timing(f"{SPMV}{self.kernel}", cache).median_s}

    def traces(self) -> Iterator[Trace]:
        """Yield the relative residual of the recurrence by iteration, at most POINTS_MAX of them."""
        solution = self._ready()
        first = 0 if self._on_host else 1
        every = 1 if self._solve.method.cycles else solution.check_every
        norms = [*enumerate(solution.residuals, first)]
        step = max(1, -(-len(norms) // POINTS_MAX))
        points = norms if step == 1 else [*norms[:-1:step], norms[-1]]
        yield Trace(
            self._case.key,
            {
                # The last iterations before a check are frozen.
                "iteration": tuple(float(min(number * every, solution.iterations)) for number, _ in points),
                "residual": tuple(float(f"{norm / self._experiment.norm:.6g}") for _, norm in points),
            },
        )

    def release(self) -> None:
        """Free the vectors, the preconditioner, and the graph."""
        self._run = None

    @property
    def _format(self) -> Format:
        return self._solve.kernel[0]  # type: ignore[index]

    @property
    def _kernel(self) -> Kernel:
        return self._solve.kernel[1]  # type: ignore[index]

    @property
    def _on_host(self) -> bool:
        return self._bench.stopwatch.backend == "cpu"

    @property
    def _vectors(self) -> int:
        method = self._solve.method
        return VECTORS[method.name] + (self._experiment.plan.restart + 1) * method.cycles

    def _preconditioned(self, bare: System) -> tuple[System, float]:
        """Return the system with its preconditioner, and the seconds to compute it, without compilation."""
        name = self._solve.preconditioner
        if name == "none":
            return bare, 0.0
        make = partial(preconditioners.make, name, bare)
        make()
        made, seconds = time_few(self._bench.stopwatch, make)
        return System(bare.n, bare.multiply, bare.rows, made), seconds

    def _bound(self, system: System) -> Callable[[], Solution]:
        """Return a call that solves from x = 0."""
        run, plan, method = self._experiment, self._experiment.plan, self._solve.method
        x = self._bench.xp.zeros(system.n)
        tolerance = Tolerance(self._solve.rtol * run.norm, plan.iterations_max)
        solve: Callable[..., Solution]
        if self._on_host:
            solve = partial(host.solve, method, system)
        else:
            from gpu_engine.solvers.device import DeviceSolver

            solve = DeviceSolver(method, system, plan.check_every).solve

        def call() -> Solution:
            x.fill(0.0)
            return solve(run.b, x, tolerance)

        return call

    def _play(self) -> None:
        if self._run is None:
            raise RuntimeError("A case without a solve cannot be sampled.")
        self._run()

    def _ready(self) -> Solution:
        if self._solution is None:
            raise RuntimeError("A case without a solve has no residuals.")
        return self._solution


def method_hash(method: Method, backend: str) -> str:
    """Return the hash of the source of a method that runs on a back end."""
    if backend == "cuda":
        return digest(method.source.text)
    function = getattr(method.on_host, "func", method.on_host)
    module = inspect.getmodule(function)
    return digest(inspect.getsource(module)) if module else ""


def _bytes_of(preconditioner: str, n: int, nnz: int) -> float:
    """Return the most bytes of a preconditioner."""
    name, _, number = preconditioner.partition(":")
    if name == "none":
        return 0.0
    rows = 8.0 * int(number) * 3 if name == "block-jacobi" and number else ROW_BYTES
    return ENTRY_BYTES.get(name, 0.0) * nnz + rows * n
