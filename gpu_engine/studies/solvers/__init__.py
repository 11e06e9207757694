"""Study `solvers`: measures complete solves of A·x = b, by method, kernel, preconditioner, and tolerance."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from gpu_engine.competitors.solvers import PRECONDITIONERS as LIBRARY_PRECONDITIONERS
from gpu_engine.competitors.solvers import find_solver, solver_names
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError, quote
from gpu_engine.findings import solvers as solver_findings
from gpu_engine.findings.solvers.systems import EXCESS, SEED
from gpu_engine.formats import find_kernel, kernel_names
from gpu_engine.measure import Bench
from gpu_engine.parameters import find_by_name, parameter
from gpu_engine.records import BACKENDS, Case, DeviceInfo, MatrixInfo, Record
from gpu_engine.sampling.run import by_matrix, measure
from gpu_engine.sampling.sampling_options import SAMPLING, SHARE, TIME_LIMIT_S, Sampling, SamplingOptions
from gpu_engine.solvers import Method, find_method
from gpu_engine.solvers.base import CHECK_EVERY
from gpu_engine.solvers.gmres import RESTART, gmres
from gpu_engine.solvers.preconditioners import PRECONDITIONERS, is_name
from gpu_engine.studies.solvers.details import SolverDetails
from gpu_engine.studies.solvers.experiment import SolverExperiment
from gpu_engine.studies.solvers.system_solves import Solve, SolverPlan
from gpu_engine.studies.solvers.systems import RightHandSide, SystemName

__all__ = ["NONE", "SolversParams", "SolversStudy"]

MethodName = Literal["cg", "minres", "bicgstab", "gmres"]

NONE = "none"
"""Preconditioner of a solve without one."""

KERNELS = {
    "cpu": ("csr/scalar", "csr/vector", "sellp/t1"),
    "cuda": (
        *("csr/scalar", "csr/vector", "csr/vector16", "csr/smart", "csri/warp"),
        *("split/tile", "packed/tile", "sellp/t1", "sellp-packed/t1"),
    ),
}
"""Kernels that are measured unless the parameters name others, by back end; library solvers come in addition.

Several read CSR, so that the conversion to another format is compared with the fastest of them.
"""

METHOD_AXIS, PRECONDITIONER_AXIS, RTOL_AXIS = "method", "preconditioner", "rtol"
"""Axes of every case."""

COMMON_AXES = ("system", "excess", "b", "seed", "check_every", "restart")
"""Parameters that are axes of a case if they differ from the default."""

ITERATIONS_EXPECTED = 200


@dataclass(frozen=True, slots=True)
class SolversParams:
    """Parameters of the study `solvers`."""

    methods: tuple[MethodName, ...] = parameter(
        ("cg", "minres", "bicgstab", "gmres"),
        "Methods to measure. CG needs a symmetric positive definite matrix, and MINRES a symmetric one.",
        min_length=1,
    )
    preconditioners: tuple[str, ...] = parameter(
        (NONE,),
        "Preconditioners: none, jacobi, block-jacobi, chebyshev, ic, or ilu. A number may follow: block-jacobi:3.",
        min_length=1,
    )
    kernels: tuple[str, ...] = parameter(
        (), "SpMV kernels and library solvers to measure (default: the fastest formats, and all libraries)."
    )
    rtol: tuple[float, ...] = parameter(
        (1e-8,), "Tolerances: a solve ends when ‖b − A·x‖ ≤ rtol·‖b‖.", min_length=1, ge=1e-15, le=0.1
    )
    system: SystemName = parameter(  # noqa: RUF009 (a field)
        "as-is",
        "Matrix of the system: as it is, made symmetric positive definite, or with a dominant diagonal in each row.",
    )
    excess: float = parameter(
        EXCESS,
        "Excess of the diagonal over the sum of its row if the matrix is changed. Less means more iterations.",
        ge=1e-12,
        le=1e6,
    )
    b: RightHandSide = parameter(  # noqa: RUF009 (a field)
        "random", "Right-hand side: random numbers, all ones, or 1 in one row (point)."
    )
    seed: int = parameter(SEED, "Seed of the random right-hand side.", ge=0, le=2**31 - 1)
    check_every: int = parameter(CHECK_EVERY, "Iterations between two tests of convergence on a GPU.", ge=1, le=1000)
    restart: int = parameter(RESTART, "Iterations after which GMRES restarts.", ge=1, le=500)
    iterations_max: int = parameter(5000, "Maximum number of iterations.", ge=1, le=1_000_000)
    rounds: int = parameter(
        9, "Number of interleaved rounds, over which confidence intervals are computed.", ge=9, le=199
    )
    sampling: Sampling = parameter(*SAMPLING)  # noqa: RUF009 (a field)
    time_limit_s: float = parameter(*TIME_LIMIT_S, ge=0.0, le=86_400.0)


class SolversStudy:
    """Study of one solve of A·x = b from x = 0 per method, kernel, preconditioner, and tolerance.

    All solves of a system share their rounds: with Sparsight kernels, by SciPy on a CPU, and by CuPy and NVIDIA Warp on
    a GPU. Libraries solve without a preconditioner or with Jacobi.
    """

    name = "solvers"
    details = SolverDetails
    findings = staticmethod(solver_findings.findings)
    question = "How long until A·x = b is solved, how much of it is the SpMV, and does another format pay back?"
    several = False
    backends = BACKENDS
    Params = SolversParams

    def names(self, backend: str) -> Mapping[str, tuple[str, ...]]:
        """Return the names of kernels, library solvers, and preconditioners."""
        return {
            "kernels": (*kernel_names(backend), *solver_names(backend)),
            "preconditioners": (NONE, *PRECONDITIONERS),
        }

    def refusal(self, matrix: MatrixInfo) -> str:
        """Return why a matrix has no solution; empty if it may have one."""
        if matrix.n_rows != matrix.n_cols:
            return f"the matrix is {matrix.n_rows} × {matrix.n_cols}, but a solver needs a square one"
        return "" if matrix.nnz else "the matrix has no nonzeros"

    def cases(self, params: SolversParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> Iterator[Case]:
        """Yield the cases by matrix, tolerance, method, preconditioner, and kernel; raise ParameterError for a name."""
        variants = _variants(params, device.backend)
        return (Case(m.id, kernel, "warm", axes) for m in matrices for kernel, axes in variants)

    def estimate_s(self, params: SolversParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> float:
        """Return the expected seconds: one start, then per matrix and case first solves, verification, and rounds."""
        variants = len(_variants(params, device.backend))
        gpu = device.backend == "cuda"
        # Bytes/s of iterations, nonzeros/s of conversion and verification, and seconds per iteration for launches.
        rate, nonzeros, launches, start = (1.5e12, 3e7, 1e-5, 3.0) if gpu else (8e9, 1e7, 2e-5, 2.0)
        iterations = min(ITERATIONS_EXPECTED, params.iterations_max)
        rounds, options = SHARE[params.sampling] * params.rounds, SamplingOptions.of(params)
        seconds = start
        for m in matrices:
            solve_s = iterations * (launches + (12 * m.nnz + 100 * m.n_rows) / rate)
            seconds += variants * (2 * solve_s + m.nnz / nonzeros) + options.expected_s(variants * solve_s, rounds)
        return seconds

    def run(
        self, params: SolversParams, todo: Sequence[Case], matrices: Mapping[str, CsrMatrix], bench: Bench
    ) -> Iterator[Record]:
        """Yield the records of `todo`; cases of one matrix share their rounds."""
        known = _variants(params, bench.device.backend)
        solves = {case.key: known[case.kernel, case.axes] for case in todo}
        plan = SolverPlan(
            solves,
            params.system,
            params.excess,
            params.b,
            params.seed,
            params.check_every,
            params.restart,
            params.iterations_max,
            params.rounds,
        )
        experiments = (SolverExperiment(plan, cases, matrices[cases[0].matrix_id], bench) for cases in by_matrix(todo))
        return measure(bench, experiments, SamplingOptions.of(params))


Axes = tuple[tuple[str, str], ...]


def _variants(params: SolversParams, backend: str) -> dict[tuple[str, Axes], Solve]:
    """Return the solves by kernel and axes; raise ParameterError for an unknown name.

    Libraries have only the preconditioners LIBRARY_PRECONDITIONERS.
    """
    kernels, common = _kernels(params, backend), _changed(params)
    for name in params.preconditioners:
        _check_preconditioner(name)
    variants: dict[tuple[str, Axes], Solve] = {}
    for rtol in params.rtol:
        for method in params.methods:
            for preconditioner in params.preconditioners:
                axes = (
                    (METHOD_AXIS, method),
                    (PRECONDITIONER_AXIS, preconditioner),
                    (RTOL_AXIS, f"{rtol:g}"),
                    *(axis for axis in common if axis[0] != "restart" or method == "gmres"),
                )
                for kernel in kernels:
                    library = find_solver(kernel)
                    if library is None or preconditioner in LIBRARY_PRECONDITIONERS:
                        chosen = library or find_kernel(kernel)
                        variants[kernel, axes] = Solve(chosen, _method(method, params), preconditioner, rtol)
    return variants


def _kernels(params: SolversParams, backend: str) -> tuple[str, ...]:
    """Return the kernels and library solvers to measure, in the order of FORMATS, libraries last."""
    known = (*kernel_names(backend), *solver_names(backend))
    for name in params.kernels:
        find_by_name("kernel", name, dict.fromkeys(known), f"known on {backend}")
    chosen = params.kernels or (*KERNELS[backend], *solver_names(backend))
    return tuple(name for name in known if name in chosen)


def _method(name: str, params: SolversParams) -> Method:
    return gmres(params.restart) if name == "gmres" else find_method(name)


def _check_preconditioner(given: str) -> None:
    """Raise ParameterError for an unknown preconditioner, or a number that is not one."""
    if given != NONE and not is_name(given):
        known = ", ".join((NONE, *PRECONDITIONERS))
        raise ParameterError(f"There is no preconditioner {quote(given)}; known: {known}, block-jacobi:3.")


def _changed(params: SolversParams) -> Axes:
    """Return the parameters of the system and the solve that differ from their default."""
    defaults = {field.name: field.default for field in fields(SolversParams)}
    ignored = {"excess"} if params.system == "as-is" else set()
    if params.b != "random":
        ignored.add("seed")
    values = ((name, getattr(params, name)) for name in COMMON_AXES if name not in ignored)
    return tuple((name, _text(value)) for name, value in values if value != defaults[name])


def _text(value: float | int | str) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
