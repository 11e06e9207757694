"""Study `seeded`: measures PageRank of several seed sets at once, and warm starts after links have changed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.findings import seeded
from gpu_engine.findings.seeded.names import (
    COLD,
    EXTRAPOLATED,
    OF_SEEDS,
    OF_START,
    ONE_BY_ONE,
    SEEDS,
    START,
    TOGETHER,
    WARM,
    sets_axis,
)
from gpu_engine.measure import Bench
from gpu_engine.pagerank.graph import PageRankParams, changed_parameters, not_a_graph
from gpu_engine.pagerank.seeds import SETS_MAX, parse_sets
from gpu_engine.parameters import find_by_name, parameter
from gpu_engine.records import BACKENDS, Case, DeviceInfo, MatrixInfo, Record
from gpu_engine.sampling.run import group_by_key, measure
from gpu_engine.sampling.sampling_options import SAMPLING, SHARE, TIME_LIMIT_S, Sampling, SamplingOptions
from gpu_engine.studies.seeded.experiment import SeededDetails, SeededExperiment, SeededPlan

__all__ = ["SeededParams", "SeededStudy"]

KERNELS = (*OF_SEEDS, *OF_START)

TEXT_MAX = 500
"""Most characters of given seed sets, which are part of the name of a case."""

ITERATIONS_EXPECTED = 60
EXPECTED_SHARE = {TOGETHER: 1.0, ONE_BY_ONE: 1.0, COLD: 1.0, WARM: 0.7, EXTRAPOLATED: 0.45}
"""Expected iterations of a kernel, as a share of those of a cold start."""

VERIFICATIONS = 3
"""Runs of a kernel in addition to its rounds, and its verification, in runs."""


@dataclass(frozen=True, slots=True)
class SeededParams(PageRankParams):
    """Parameters of the study `seeded`: those of PageRank itself, the seed sets, and the warm starts."""

    seeds: tuple[int, ...] = parameter(
        (16,), "Numbers of random seed sets, 10 pages each. One set is measured too.", min_length=1, ge=1, le=SETS_MAX
    )
    sets: str = parameter("", "Seed sets to measure in addition, such as 12; 5, 9:0.5 (default: none).")
    start: tuple[float, ...] = parameter(
        (0.001,), "Shares of the links that change before a warm start. An empty list measures none.", ge=0.0, le=1.0
    )
    kernels: tuple[str, ...] = parameter((), "Kernels to measure (default: all).")
    rounds: int = parameter(
        9, "Number of interleaved rounds, over which confidence intervals are computed.", ge=9, le=199
    )
    sampling: Sampling = parameter(*SAMPLING)  # noqa: RUF009 (a field)
    time_limit_s: float = parameter(*TIME_LIMIT_S, ge=0.0, le=86_400.0)


class SeededStudy:
    """Study of one run of k seed sets against k runs of one set, and of warm starts against cold ones.

    It is not part of the study `pagerank`, which compares precisions of one run from 1/n with fp64. Both share no
    kernel, no axis, and no statement.
    """

    name = "seeded"
    details = SeededDetails
    findings = staticmethod(seeded.findings)
    question = "What do the ranks of many seed sets cost beside those of one, and what does a warm start save?"
    several = False
    backends = BACKENDS
    Params = SeededParams

    def names(self, backend: str) -> Mapping[str, tuple[str, ...]]:  # noqa: ARG002
        """Return the kernels, which are the same on both backends."""
        return {"kernels": KERNELS}

    def refusal(self, matrix: MatrixInfo) -> str:
        """Return why a matrix is not a graph with pages; empty if it is one."""
        return not_a_graph(matrix.n_rows, matrix.n_cols) or ("" if matrix.n_rows else "the graph has no pages")

    def cases(self, params: SeededParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> Iterator[Case]:  # noqa: ARG002
        """Yield the cases by matrix, seed sets, and kernel, then the warm starts; raise ParameterError for a kernel."""
        variants = _variants(params)
        return (Case(m.id, kernel, "warm", axes) for m in matrices for kernel, axes in variants)

    def estimate_s(self, params: SeededParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> float:
        """Return the expected seconds: one start, then per matrix and case the verification and the rounds."""
        # Bytes/s of iterations, nonzeros/s that the verification adds up per set, and seconds of a start.
        rate, verified, start = (1e12, 4e7, 2.0) if device.backend == "cuda" else (1.2e10, 1e7, 4.0)
        rounds, options = SHARE[params.sampling] * params.rounds, SamplingOptions.of(params)
        iterations, seconds = min(ITERATIONS_EXPECTED, params.iterations_max), start
        for m in matrices:
            round_s = 0.0
            for kernel, axes in _variants(params):
                sets = set_count(dict(axes)[SEEDS])
                links, columns = (sets * m.nnz, sets) if kernel == ONE_BY_ONE else (m.nnz, sets)
                iteration_s = (4 * links + 8 * columns * (m.nnz + 2 * m.n_rows)) / rate
                run_s = EXPECTED_SHARE[kernel] * iterations * iteration_s
                seconds += VERIFICATIONS * run_s + sets * m.nnz / verified
                round_s += run_s
            seconds += options.expected_s(round_s, rounds)
        return seconds

    def run(
        self, params: SeededParams, todo: Sequence[Case], matrices: Mapping[str, CsrMatrix], bench: Bench
    ) -> Iterator[Record]:
        """Yield the records of `todo`; all numbers of seed sets of a matrix share their rounds, as do its starts."""
        plan = SeededPlan(params, params.rounds)
        groups = group_by_key(todo, lambda case: (case.matrix_id, dict(case.axes).get(START)))
        experiments = (SeededExperiment(plan, cases, matrices[cases[0].matrix_id], bench) for cases in groups)
        return measure(bench, experiments, SamplingOptions.of(params, 1 + len(params.start)))


def set_count(axis: str) -> int:
    """Return the number of seed sets of a value of the axis SEEDS."""
    return int(axis) if axis.isdecimal() else axis.count(";") + 1


def _variants(params: SeededParams) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """Return the kernels and axes of a matrix; raise ParameterError for an unknown kernel or for wrong sets."""
    known = {kernel: kernel for kernel in KERNELS}
    for name in params.kernels:
        find_by_name("kernel", name, known, "known")
    common, given = changed_parameters(params), _given(params.sets)
    numbers = [str(count) for count in dict.fromkeys((1, *params.seeds))] + given
    variants = [
        (kernel, (*common, (SEEDS, number)))
        for number in numbers
        for kernel in OF_SEEDS
        if kernel == TOGETHER or set_count(number) > 1
    ]
    most = max(numbers, key=set_count)
    variants += [
        (kernel, (*common, (SEEDS, most), (START, f"{share:g}"))) for share in params.start for kernel in OF_START
    ]
    return [variant for variant in variants if not params.kernels or variant[0] in params.kernels]


def _given(text: str) -> list[str]:
    """Return the axis value of given seed sets, in a list; empty for an empty text."""
    if not text.strip():
        return []
    if len(text) > TEXT_MAX:
        raise ParameterError(
            f"sets has {len(text)} characters; at most {TEXT_MAX} are possible, because they name the case. "
            "Measure fewer pages per set."
        )
    parse_sets(text)
    axis = sets_axis(text)
    # A text of one page would read as a number of random sets.
    return [f"{axis}:1"] if axis.isdecimal() else [axis]
