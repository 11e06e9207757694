"""Cost model of a solve on a GPU without a preconditioner, from its iterations and the time of one SpMV.

T = call + residuals + run · (spmvs · SpMV + passes · 8n / copy bandwidth + rest of an iteration)

call        seconds per solve on the host: copies of b and x, launch of the graph, wait for the result
residuals   seconds of b − A·x in twice the precision: at the start, at the end, and between the cycles of GMRES
run         iterations that the graph runs: those up to the next test of convergence
spmvs, passes  SpMVs and vector passes per iteration, as `Method` counts them; a pass is 8n bytes
rest        seconds per iteration of launches, sums, and tests

`COSTS` was fitted to `recorded/h200/solvers.json.gz` by `python -m tools.solver_fit`, which also prints the errors, and
those on the solves of other GPUs.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpu_engine.advisor.gpus import Gpu
from gpu_engine.advisor.model import MODELS, REACHED
from gpu_engine.formats.base import lanes_for
from gpu_engine.solvers import Method
from gpu_engine.solvers.base import CHECK_EVERY
from gpu_engine.solvers.gmres import CHUNK, RESTART, passes_of
from gpu_engine.solvers.outer import LANES

STEP_S = MODELS["csr/vector"][1].step_s
"""Seconds per nonzero of the longest row, if one thread processes it; that of an SpMV stands for a residual."""

VECTOR_BYTES = 8
"""Bytes per row of one vector pass."""


@dataclass(frozen=True, slots=True)
class SystemSize:
    """Size of a system: rows, nonzeros, and nonzeros of the longest row."""

    n: int
    nnz: int
    longest: int

    @staticmethod
    def of(features: Mapping[str, Any]) -> "SystemSize":
        """Return the size of a matrix from its features `n_rows`, `nnz`, and `max`."""
        return SystemSize(features["n_rows"], features["nnz"], features["max"])


@dataclass(frozen=True, slots=True)
class SolveCosts:
    """Costs of a solve beyond its SpMVs and vectors.

    call_s       seconds per solve on the host
    iteration_s  method → seconds per iteration of launches, sums, and tests
    cycle_reads  vector passes of GMRES over those that it counts, because some vectors are orthogonalized twice
    """

    call_s: float
    iteration_s: Mapping[str, float]
    cycle_reads: float


COSTS = SolveCosts(5.41e-4, {"cg": 5.19e-6, "minres": 6.65e-6, "bicgstab": 8.17e-6, "gmres": 1.55e-5}, 1.56)
"""Least squares of (predicted − measured) / measured over the solves of `ON_H200`."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Errors on the recorded solves of a GPU model, each system predicted with costs of the others on an H200.

    gpu, solves  short name of the GPU model, and number of solves
    measured     factor within which 90 % were predicted from their own SpMVs
    predicted    the same factor with the SpMV of the performance model
    """

    gpu: str
    solves: int
    measured: float
    predicted: float


ON_H200 = Accuracy("H200", 266, measured=1.11, predicted=1.18)
"""Solves of the fit: twelve systems, four methods, and seven kernels."""

ON_H100 = Accuracy("H100", 440, measured=1.17, predicted=1.26)
"""Solves outside the fit: 15 systems, four methods, and ten kernels."""

ERROR_WORST = 2.2
"""Largest factor of a solve with the SpMV of the performance model, on either GPU."""


def accuracy_on(gpu: Gpu | None) -> Accuracy | None:
    """Return the errors on a GPU model; None if no solves of it are recorded."""
    known = (each for each in (ON_H200, ON_H100) if gpu is not None and each.gpu == gpu.short_name)
    return next(known, None)


@dataclass(frozen=True, slots=True)
class SolveParts:
    """Parts of a solve that do not depend on the kernel or on `SolveCosts`.

    residuals_s  seconds of all true residuals
    run          iterations that the graph runs
    vectors_s    seconds per iteration of the vector passes
    """

    method: Method
    residuals_s: float
    run: int
    vectors_s: float

    @property
    def spmvs(self) -> int:
        """SpMVs that the graph runs."""
        return self.run * self.method.spmvs

    def seconds(self, spmv_s: float, costs: SolveCosts = COSTS) -> float:
        """Return the seconds of the solve with a kernel whose SpMV takes `spmv_s` seconds."""
        return self.fixed_s(costs) + self.run * self.iteration_s(spmv_s, costs)

    def fixed_s(self, costs: SolveCosts = COSTS) -> float:
        """Return the seconds of a solve besides its iterations."""
        return costs.call_s + self.residuals_s

    def iteration_s(self, spmv_s: float, costs: SolveCosts = COSTS) -> float:
        """Return the seconds of an iteration."""
        reads = costs.cycle_reads if self.method.cycles else 1.0
        return self.method.spmvs * spmv_s + reads * self.vectors_s + costs.iteration_s[self.method.name]


def solve_parts(method: Method, iterations: int, size: SystemSize, copy_rate: float) -> SolveParts:
    """Return the parts of a solve; copy_rate: bytes/s of a copy in the memory of the GPU."""
    cycles = math.ceil(iterations / RESTART) if method.cycles else 1
    vectors_s = passes_of(method, RESTART, iterations) * VECTOR_BYTES * size.n / copy_rate
    residuals_s = (1 + cycles) * residual_s(size, copy_rate)
    return SolveParts(method, residuals_s, run_iterations(method, iterations), vectors_s)


def run_iterations(method: Method, iterations: int) -> int:
    """Return the iterations that the graph runs: those up to the next test of convergence."""
    every = CHUNK if method.cycles else CHECK_EVERY
    return math.ceil(iterations / every) * every


def residual_s(size: SystemSize, copy_rate: float) -> float:
    """Return the seconds of one true residual: CSR, x, b, and r once, and the longest row by its few threads."""
    moved = 12 * size.nnz + (4 + 3 * VECTOR_BYTES) * size.n
    mean = lanes_for(size.nnz, size.n)
    lanes = next((lanes for lanes in reversed(LANES) if lanes <= mean), LANES[0])
    return moved / copy_rate + math.ceil(size.longest / lanes) * STEP_S


def copy_rate_of(gpu: Gpu) -> float:
    """Return the bytes/s of a copy in the memory of a GPU model, from its published bandwidth."""
    return REACHED * gpu.bandwidth
