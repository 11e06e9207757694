"""Study `pagerank`: how an adaptive-precision PageRank spends its iterations, and what that gains over fp64."""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gpu_engine.competitors.cugraph import TOLD, TOLERANCE, VERIFIED, peer_names
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.findings import pagerank
from gpu_engine.findings.pagerank.conclusions import is_needed
from gpu_engine.measure import Bench
from gpu_engine.pagerank.details import PageRankDetails
from gpu_engine.pagerank.graph import PageRankParams, not_a_graph
from gpu_engine.pagerank.kernels import RankKernel, kernels_on
from gpu_engine.parameters import parameter
from gpu_engine.records import BACKENDS, Case, DeviceInfo, MatrixInfo, Record
from gpu_engine.sampling.effort import BUDGET_S, ENERGY, SAMPLING, SHARE, Effort, Energy, Sampling
from gpu_engine.sampling.run import by_matrix, measure
from gpu_engine.studies.pagerank.experiment import PageRankExperiment
from gpu_engine.studies.pagerank.graph_runs import PageRankPlan

ITERATIONS_EXPECTED = 100
RUNS_BESIDE = 5
"""Runs of a case beside its rounds: the first ones, and those that are timed part by part."""

AtEnd = Literal["fp64", "segments"]


@dataclass(frozen=True, slots=True)
class PagerankParams(PageRankParams):
    """Parameters of the study: those of the ranks, and which runs to measure."""

    kernels: tuple[str, ...] = parameter((), "Kernels to measure; empty: all that the device has.")
    start_segments: tuple[int, ...] = parameter(
        (1,), "Segments that the first iteration reads; every combination is a schedule.", min_length=1, ge=1, le=4
    )
    raise_at: tuple[float, ...] = parameter(
        (16.0,), "Read more when γ ≤ raise_at · 2^(−mantissa bits read).", min_length=1, ge=0, le=1e6
    )
    stall_ratio: float = parameter(0.98, "Read more when γ > stall_ratio · γ of the iteration before.", ge=0, le=10)
    final_storage: tuple[AtEnd, ...] = parameter(
        ("fp64",),
        "At full precision, matrix values become fp64 in place, as in the paper, or stay in segments.",
        min_length=1,
    )
    rounds: int = parameter(9, "Interleaved rounds; the interval is bootstrapped over them.", ge=9, le=199)
    sampling: Sampling = parameter(*SAMPLING)  # noqa: RUF009 (a field)
    time_limit_s: float = parameter(*BUDGET_S, ge=0.0, le=86_400.0)
    energy_s: float = parameter(0.2, "Seconds of repeats for the energy of a run; 0: not measured.", ge=0.0, le=10.0)
    energy: Energy = parameter(*ENERGY)  # noqa: RUF009 (a field)
    top: int = parameter(20, "Highest ranks to keep.", ge=1, le=1000)


@dataclass(frozen=True, slots=True)
class _Variant:
    """A kernel with its schedule, or another library's PageRank.

    run  the kernel, its schedule and whether values become fp64 at its end; None of a library
    """

    name: str
    axes: tuple[tuple[str, str], ...]
    run: tuple[RankKernel, Any, bool] | None


class PagerankStudy:
    """One run from e/n to γ < ε per kernel and schedule, all of a graph in the same interleaved rounds.

    On a GPU cuGraph runs beside them, told ε and then what brings the residual of its ranks under ε.
    """

    name = "pagerank"
    details = PageRankDetails
    findings = staticmethod(pagerank.findings)
    question = "How does an adaptive-precision PageRank spend its iterations, and what does that gain?"
    several = False
    backends = BACKENDS
    Params = PagerankParams

    def names(self, backend: str) -> Mapping[str, tuple[str, ...]]:
        """The kernels of a backend, and other libraries."""
        return {"kernels": (*(kernel.name for kernel in kernels_on(backend)), *peer_names(backend))}

    def refusal(self, matrix: MatrixInfo) -> str:
        """Of a matrix that is no graph."""
        return not_a_graph(matrix.n_rows, matrix.n_cols)

    def cases(self, params: PagerankParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> Iterator[Case]:
        """Matrix by matrix, kernel by kernel, schedule by schedule; raises ParameterError on a kernel not there."""
        variants = _variants(params, device.backend)
        return (Case(m.id, v.name, "warm", v.axes) for m in matrices for v in variants)

    def estimate_s(self, params: PagerankParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> float:
        """Starting once, then per matrix and variant the runs of the rounds and of the phases."""
        variants = len(_variants(params, device.backend))
        gpu = device.backend == "cuda"
        # Bytes/s of iterations, and nonzeros/s of conversions and checks.
        rate, entries, overhead, start = (1e12, 4e7, 0.05, 2.0) if gpu else (1.2e10, 1e7, 0.05, 1.5)
        iterations = min(ITERATIONS_EXPECTED, params.iterations_max)
        rounds, effort = SHARE[params.sampling] * params.rounds, Effort.of(params)
        seconds = start
        for m in matrices:
            run_s = iterations * 14 * m.nnz / rate
            seconds += variants * (overhead + RUNS_BESIDE * run_s + m.nnz / entries)
            seconds += effort.expected_s(variants * run_s, rounds)
        return seconds

    def run(
        self, params: PagerankParams, todo: Sequence[Case], matrices: Mapping[str, CsrMatrix], bench: Bench
    ) -> Iterator[Record]:
        """Measures the cases of `todo`; those of one matrix share their rounds."""
        known = {(v.name, v.axes): v.run for v in _variants(params, bench.device.backend)}
        kernels = {case.key: run for case in todo if (run := known[case.kernel, case.axes])}
        stops, needed = params.sampling == "adaptive", {case.key for case in todo if is_needed(case)}
        plan = PageRankPlan(params, kernels, params.rounds, params.energy_s, params.top, stops, needed)
        found = (PageRankExperiment(plan, cases, matrices[cases[0].matrix_id], bench) for cases in by_matrix(todo))
        return measure(bench, found, Effort.of(params))


def _variants(params: PagerankParams, backend: str) -> tuple[_Variant, ...]:
    """Kernels in the order of KERNELS, those with segments once a schedule; then other libraries.

    Raises ParameterError where the parameters contradict each other or the backend.
    """
    if backend == "cpu" and "segments" in params.final_storage:
        raise ParameterError("final_storage is segments; on a CPU values become fp64 at full precision. Choose fp64.")
    common, peers = _changed(params), peer_names(backend)
    found = []
    for kernel in kernels_on(backend, params.kernels, peers):
        if kernel.free and params.weights == "use":
            if params.kernels:
                raise ParameterError(f"{kernel.name} keeps no values and so no weights; take weights = ignore.")
            continue
        if not kernel.segments:
            found.append(_Variant(kernel.name, common, (kernel, kernel.schedule({}), True)))
            continue
        firsts = [first for first in params.start_segments if first <= kernel.segments]
        if params.kernels and not firsts:
            raise ParameterError(
                f"start_segments is {min(params.start_segments)}; {kernel.name} has {kernel.segments} segments. Take no more than these."
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
            found.append(_Variant(kernel.name, (*common, *axes), run))
    for name in peers:
        if not params.kernels or name in params.kernels:
            found += [_Variant(name, (*common, (TOLERANCE, tolerance)), None) for tolerance in (TOLD, VERIFIED)]
    # A value that is given twice is one schedule.
    return tuple({(v.name, v.axes): v for v in found}.values())


def _changed(params: PagerankParams) -> tuple[tuple[str, str], ...]:
    """Parameters of the ranks that are not the default: they tell runs of different questions apart."""
    fields = dataclasses.fields(PageRankParams)
    return tuple((f.name, f"{getattr(params, f.name)}") for f in fields if getattr(params, f.name) != f.default)
