"""Made-up solves as the study yields them: iterations and times that tests can name."""

from collections.abc import Sequence
from typing import Any

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.records import Case, Measurement, Trace
from gpu_engine.studies.solvers.details import SolverDetails

SYSTEMS = {
    "plane": MatrixFeatures("plane-5", 409_600, 409_600, 2_045_440, 4.99, 0.05, 2.0, 0),
    "fem": MatrixFeatures("fem3", 98_304, 98_304, 7_000_000, 71.2, 8.0, 50.0, 0),
}

KERNELS = {"csr/vector": 30e-6, "sellp/t1": 24e-6, "packed/tile": 27e-6}
"""Kernel → seconds of an iteration of CG."""

SPMV_S = {"csr/vector": 18e-6, "sellp/t1": 12e-6, "packed/tile": 15e-6}
CONVERT_S = {"csr/vector": 1e-6, "sellp/t1": 1.2e-3, "packed/tile": 0.1}

LIBRARY = "cupy/solver"
LIBRARY_ITERATION_S = 190e-6

ITERATIONS = {("cg", "none"): 420, ("cg", "jacobi"): 300, ("gmres", "none"): 900, ("bicgstab", "none"): 280}
SETUP_S = {"none": 0.0, "jacobi": 50e-6}
PASSES_S = {"cg": 0.0, "gmres": 60e-6, "bicgstab": 30e-6}
"""Method → seconds that an iteration takes longer than one of CG."""


def axes_of(method: str = "cg", preconditioner: str = "none", rtol: str = "1e-08") -> tuple[tuple[str, str], ...]:
    return ("method", method), ("preconditioner", preconditioner), ("rtol", rtol)


def solved(
    kernel: str = "csr/vector",
    method: str = "cg",
    preconditioner: str = "none",
    matrix: str = "plane",
    device: str = "cuda:0",
    iteration_s: float = 0.0,
    more: tuple[tuple[str, str], ...] = (),
    **fields: Any,
) -> Measurement:
    """A solve whose iterations take as long as the tables above say, unless `iteration_s` does."""
    is_library = kernel not in KERNELS
    each = iteration_s or (LIBRARY_ITERATION_S if is_library else KERNELS[kernel] + PASSES_S[method])
    iterations = ITERATIONS[method, preconditioner]
    time = iterations * each
    spmvs = iterations * (2 if method == "bicgstab" else 1)
    values: dict[str, Any] = {
        "median_s": time,
        "ci_low_s": time * 0.998,
        "min_s": time * 0.997,
        "q1_s": time * 0.998,
        "q3_s": time * 1.002,
        "ci_high_s": time * 1.002,
        "gflops": 2e-9 * 2_045_440 * spmvs / time,
        "roofline_s": iterations * 20e-6,
        "stored_bytes": 26_000_000,
        "aa_gap": 0.001,
        "iterations": iterations,
        "spmvs": spmvs,
        "iteration_roofline_s": 20e-6,
        "setup_s": SETUP_S.get(preconditioner, 0.0),
        "residual": 9.1e-9,
    }
    if is_library:
        values |= {"tolerance": 1e-8}
    else:
        values |= {"spmv_s": SPMV_S[kernel], "convert_s": CONVERT_S[kernel], "replacements": 0}
    case = Case(matrix, kernel, "warm", (*axes_of(method, preconditioner), *more))
    return Measurement.of(case, device, SolverDetails, **(values | fields))


def failed(kernel: str, note: str, method: str = "cg", state: Any = "failed", matrix: str = "plane") -> Measurement:
    """A case without a time."""
    return Measurement.of(Case(matrix, kernel, "warm", axes_of(method)), "cuda:0", SolverDetails, state, note=note)


def traced(m: Measurement, every: int = 10) -> Trace:
    """The residuals of a solve, which fall by the same factor in each check."""
    iterations = int(m.details.iterations)
    at = [*range(every, iterations, every), iterations]
    residuals = tuple(m.details.residual ** (number / iterations) for number in at)
    return Trace(m.case, {"iteration": tuple(map(float, at)), "residual": residuals})


def every(
    matrix: str = "plane", device: str = "cuda:0", solves: Sequence[tuple[str, str]] = tuple(ITERATIONS), **fields: Any
) -> list[Measurement]:
    """All kernels and a library, with all methods and preconditioners."""
    return [
        solved(kernel, method, preconditioner, matrix, device, **fields)
        for method, preconditioner in solves
        for kernel in (*KERNELS, LIBRARY)
    ]


def shown(*measurements: Measurement, **choices: Any) -> StudyData:
    """What findings and figures are made of, with the traces of all solves that have a time."""
    own = [m for m in measurements if m.median_s and m.format not in ("cupy", "scipy", "warp")]
    return StudyData(measurements, SYSTEMS, traces={(m.device, m.case): traced(m) for m in own}, **choices)
