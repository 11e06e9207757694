"""Study `pagerank`: measures complete PageRank runs with adaptive precision against fp64."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gpu_engine.competitors.cugraph import TOLERANCE, TOLERANCE_EPSILON, TOLERANCE_VERIFIED, peer_names
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.findings import pagerank
from gpu_engine.findings.pagerank.conclusions import is_needed
from gpu_engine.measure import Bench
from gpu_engine.pagerank.details import PageRankDetails
from gpu_engine.pagerank.graph import PageRankParams, changed_parameters, not_a_graph
from gpu_engine.pagerank.kernels import RankKernel, kernels_on
from gpu_engine.parameters import parameter
from gpu_engine.records import BACKENDS, Case, DeviceInfo, MatrixInfo, Record
from gpu_engine.sampling.run import by_matrix, measure
from gpu_engine.sampling.sampling_options import (
    ENERGY,
    SAMPLING,
    SHARE,
    TIME_LIMIT_S,
    Energy,
    Sampling,
    SamplingOptions,
)
from gpu_engine.studies.pagerank.experiment import PageRankExperiment
from gpu_engine.studies.pagerank.graph_runs import PageRankPlan

ITERATIONS_EXPECTED = 100
EXTRA_RUNS = 5
"""Runs of a case in addition to its rounds: the first runs, and the runs that are timed by phase."""

AtEnd = Literal["fp64", "segments"]


@dataclass(frozen=True, slots=True)
class PagerankParams(PageRankParams):
    """Parameters of the study `pagerank`: those of PageRank itself, and the runs to measure."""

    kernels: tuple[str, ...] = parameter((), "Kernels to measure (default: all that the device supports).")
    start_segments: tuple[int, ...] = parameter(
        (1,),
        "Segments that the first iteration reads. Every combination of these values is a schedule.",
        min_length=1,
        ge=1,
        le=4,
    )
    raise_at: tuple[float, ...] = parameter(
        (16.0,), "Read one more segment when γ ≤ raise_at · 2^(−mantissa bits read).", min_length=1, ge=0, le=1e6
    )
    stall_ratio: float = parameter(
        0.98, "Read one more segment when γ > stall_ratio · γ of the previous iteration.", ge=0, le=10
    )
    final_storage: tuple[AtEnd, ...] = parameter(
        ("fp64",),
        "Storage of matrix values at full precision: fp64 in place, as in the paper, or segments.",
        min_length=1,
    )
    rounds: int = parameter(
        9, "Number of interleaved rounds, over which confidence intervals are computed.", ge=9, le=199
    )
    sampling: Sampling = parameter(*SAMPLING)  # noqa: RUF009 (a field)
    time_limit_s: float = parameter(*TIME_LIMIT_S, ge=0.0, le=86_400.0)
    energy_s: float = parameter(0.2, "Seconds of repeated runs for the energy measurement (0 = off).", ge=0.0, le=10.0)
    energy: Energy = parameter(*ENERGY)  # noqa: RUF009 (a field)
    top: int = parameter(20, "Number of highest-ranked pages to store.", ge=1, le=1000)


@dataclass(frozen=True, slots=True)
class _Variant:
    """A kernel with its schedule, or PageRank of another library.

    run  the kernel, its schedule, and whether values become fp64 at its end; None for a library
    """

    name: str
    axes: tuple[tuple[str, str], ...]
    run: tuple[RankKernel, Any, bool] | None


class PagerankStudy:
    """Study of one PageRank run from e/n to γ < ε per kernel and schedule, with all runs of a graph in the same rounds.

    On a GPU it also measures cuGraph, with tolerance ε and with a tolerance for which the residual of its ranks is
    below ε.
    """

    name = "pagerank"
    details = PageRankDetails
    findings = staticmethod(pagerank.findings)
    question = "How does an adaptive-precision PageRank spend its iterations, and what speedup does it give?"
    several = False
    backends = BACKENDS
    Params = PagerankParams

    def names(self, backend: str) -> Mapping[str, tuple[str, ...]]:
        """Return the kernels of a backend and of other libraries."""
        return {"kernels": (*(kernel.name for kernel in kernels_on(backend)), *peer_names(backend))}

    def refusal(self, matrix: MatrixInfo) -> str:
        """Return why a matrix is not a graph; empty if it is one."""
        return not_a_graph(matrix.n_rows, matrix.n_cols)

    def cases(self, params: PagerankParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> Iterator[Case]:
        """Yield the cases by matrix, kernel and schedule; raise ParameterError for an unknown kernel."""
        variants = _variants(params, device.backend)
        return (Case(m.id, v.name, "warm", v.axes) for m in matrices for v in variants)

    def estimate_s(self, params: PagerankParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> float:
        """Return the expected seconds: one start, then per matrix and variant the runs of rounds and phases."""
        variants = len(_variants(params, device.backend))
        gpu = device.backend == "cuda"
        # Bytes/s of iterations, and nonzeros/s of conversion and verification.
        rate, nonzeros, overhead, start = (1e12, 4e7, 0.05, 2.0) if gpu else (1.2e10, 1e7, 0.05, 1.5)
        iterations = min(ITERATIONS_EXPECTED, params.iterations_max)
        rounds, options = SHARE[params.sampling] * params.rounds, SamplingOptions.of(params)
        seconds = start
        for m in matrices:
            run_s = iterations * 14 * m.nnz / rate
            seconds += variants * (overhead + EXTRA_RUNS * run_s + m.nnz / nonzeros)
            seconds += options.expected_s(variants * run_s, rounds)
        return seconds

    def run(
        self, params: PagerankParams, todo: Sequence[Case], matrices: Mapping[str, CsrMatrix], bench: Bench
    ) -> Iterator[Record]:
        """Yield the records of `todo`; cases of one matrix share their rounds."""
        known = {(v.name, v.axes): v.run for v in _variants(params, bench.device.backend)}
        kernels = {case.key: run for case in todo if (run := known[case.kernel, case.axes])}
        stops, needed = params.sampling == "adaptive", {case.key for case in todo if is_needed(case)}
        plan = PageRankPlan(params, kernels, params.rounds, params.energy_s, params.top, stops, needed)
        experiments = (
            PageRankExperiment(plan, cases, matrices[cases[0].matrix_id], bench) for cases in by_matrix(todo)
        )
        return measure(bench, experiments, SamplingOptions.of(params))


def _variants(params: PagerankParams, backend: str) -> tuple[_Variant, ...]:
    """Return the kernels in the order of KERNELS, those with segments once per schedule; then other libraries.

    Raise ParameterError if the parameters contradict each other or the backend.
    """
    if backend == "cpu" and "segments" in params.final_storage:
        raise ParameterError("final_storage=segments needs a GPU. On a CPU choose fp64.")
    common, libraries = changed_parameters(params), peer_names(backend)
    variants = []
    for kernel in kernels_on(backend, params.kernels, libraries):
        if kernel.free and params.weights == "use":
            if params.kernels:
                raise ParameterError(f"{kernel.name} stores no values and so no weights. Set weights=ignore.")
            continue
        if not kernel.segments:
            variants.append(_Variant(kernel.name, common, (kernel, kernel.schedule({}), True)))
            continue
        firsts = [first for first in params.start_segments if first <= kernel.segments]
        if params.kernels and not firsts:
            raise ParameterError(
                f"start_segments is {min(params.start_segments)}, but {kernel.name} has {kernel.segments} segments. "
                "Choose a smaller value."
            )
        at_ends = ("fp64",) if kernel.free else params.final_storage
        for first, near, final_storage in itertools.product(firsts, params.raise_at, at_ends):
            fields = {"start_segments": first, "raise_at": near, "stall_ratio": params.stall_ratio}
            axes = (
                ("start_segments", str(first)),
                ("raise_at", f"{near:g}"),
                ("stall_ratio", f"{params.stall_ratio:g}"),
                ("final_storage", final_storage),
            )
            run = kernel, kernel.schedule(fields), final_storage == "fp64"
            variants.append(_Variant(kernel.name, (*common, *axes), run))
    for name in libraries:
        if not params.kernels or name in params.kernels:
            variants += [
                _Variant(name, (*common, (TOLERANCE, tolerance)), None)
                for tolerance in (TOLERANCE_EPSILON, TOLERANCE_VERIFIED)
            ]
    # A parameter value that is given twice yields one schedule.
    return tuple({(v.name, v.axes): v for v in variants}.values())
