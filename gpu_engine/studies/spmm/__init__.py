"""Study `spmm`: measures Y = A·X for a dense X of k columns, by number of columns, kernel, and order of X and Y."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpu_engine import spmm
from gpu_engine.competitors.spmm import library_kernels
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.findings import spmm as spmm_findings
from gpu_engine.findings.spmm.names import ORDER, K, spmvs_of
from gpu_engine.formats import csr
from gpu_engine.formats.base import Format, Kernel
from gpu_engine.measure import Bench
from gpu_engine.parameters import find_by_name, parameter
from gpu_engine.records import BACKENDS, Cache, Case, DeviceInfo, MatrixInfo, Record
from gpu_engine.sampling.run import group_by_key, measure
from gpu_engine.sampling.sampling_options import SAMPLING, SHARE, TIME_LIMIT_S, Sampling, SamplingOptions, turn_s
from gpu_engine.spmm import Order, SpmmKernel
from gpu_engine.studies.spmm.experiment import SpmmDetails, SpmmExperiment, SpmmPlan

__all__ = ["K_MAX", "SpmmParams", "SpmmStudy"]

K_MAX = 1024
"""Most columns."""

CALLS_PER_TURN = 5
"""Expected calls of a turn, for the estimate."""


@dataclass(frozen=True, slots=True)
class SpmmParams:
    """Parameters of the study `spmm`."""

    k: tuple[int, ...] = parameter((2, 8, 32), "Numbers of columns of X and Y.", min_length=1, ge=1, le=K_MAX)
    kernels: tuple[str, ...] = parameter(
        (), "Kernels to measure (default: all that the device supports). The names spmv/… are k SpMVs."
    )
    orders: tuple[Order, ...] = parameter(
        ("row",), "Orders of X and Y in memory: row (row major) or column (column major).", min_length=1
    )
    caches: tuple[Cache, ...] = parameter(("warm",), "Cache states to measure.", min_length=1)
    rounds: int = parameter(
        15, "Number of interleaved rounds, over which confidence intervals are computed.", ge=9, le=199
    )
    sampling: Sampling = parameter(*SAMPLING)  # noqa: RUF009 (a field)
    time_limit_s: float = parameter(*TIME_LIMIT_S, ge=0.0, le=86_400.0)


class SpmmStudy:
    """Study of one SpMM Y = A·X per kernel, number of columns, and order, with k SpMVs in the same rounds.

    Sparsight kernels for row-major matrices copy column-major ones, and the copies count. k SpMVs multiply vectors,
    whatever the order.
    """

    name = "spmm"
    details = SpmmDetails
    findings = staticmethod(spmm_findings.findings)
    question = "How much faster is one SpMM than k SpMVs, and which kernel is fastest for my number of columns?"
    several = False
    backends = BACKENDS
    Params = SpmmParams

    def names(self, backend: str) -> Mapping[str, tuple[str, ...]]:
        """Return the kernel names that `kernels` accepts on a backend."""
        return {"kernels": tuple(known_kernels(backend))}

    def refusal(self, matrix: MatrixInfo) -> str:
        """Return why a matrix without nonzeros cannot be measured."""
        return "" if matrix.nnz else "the matrix has no nonzeros"

    def cases(self, params: SpmmParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> Iterator[Case]:
        """Yield the cases by matrix, order, number of columns, and kernel; raise ParameterError for a kernel."""
        kernels = chosen_kernels(params, device.backend)
        return (
            Case(m.id, kernel, cache, ((K, str(k)), (ORDER, order)))
            for m in matrices
            for order in params.orders
            for k in params.k
            for kernel in kernels
            for cache in params.caches
        )

    def estimate_s(self, params: SpmmParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> float:
        """Return the expected seconds: one start, then per matrix, order, and k the verification and the rounds."""
        kernels, rounds = len(chosen_kernels(params, device.backend)) + 2, SHARE[params.sampling] * params.rounds
        # Bytes/s of the device, and nonzeros times columns per second that SciPy multiplies for the verification.
        rate, start, verified = (1e12, 2.0, 5e8) if device.backend == "cuda" else (6e9, 6.0, 2e8)
        options, turns_s = _options(params), sum(turn_s(device, cache) for cache in params.caches)
        seconds = start
        for m in matrices:
            for k in params.k:
                call_s = (12 * m.nnz + 8 * k * (m.nnz + m.n_rows)) / rate
                round_s = kernels * (turns_s + CALLS_PER_TURN * len(params.caches) * call_s)
                seconds += len(params.orders) * (2 * k * m.nnz / verified + options.expected_s(round_s, rounds))
        return seconds

    def run(
        self, params: SpmmParams, todo: Sequence[Case], matrices: Mapping[str, CsrMatrix], bench: Bench
    ) -> Iterator[Record]:
        """Yield the records of `todo`; cases of one matrix, number of columns, and order share their rounds."""
        kernels = known_kernels(bench.device.backend)

        def experiment(cases: Sequence[Case]) -> SpmmExperiment:
            axes = dict(cases[0].axes)
            order: Order = "column" if axes[ORDER] == "column" else "row"
            plan = SpmmPlan(kernels, params.caches, int(axes[K]), order, params.rounds)
            return SpmmExperiment(plan, cases, matrices[cases[0].matrix_id], bench)

        groups = group_by_key(todo, lambda case: (case.matrix_id, case.axes))
        return measure(bench, map(experiment, groups), _options(params))


def _options(params: SpmmParams) -> SamplingOptions:
    """Return the sampling options; the orders and numbers of columns of a matrix share its time limit."""
    return SamplingOptions.of(params, len(params.orders) * len(params.k))


def known_kernels(backend: str) -> dict[str, SpmmKernel | tuple[Format, Kernel]]:
    """Return the kernels of a backend by name: those of Sparsight, then of libraries, then k SpMVs in CSR."""
    multiplying = (*spmm.kernels_on(backend), *library_kernels(backend))
    one_by_one = ((spmvs_of(name), (csr.FORMAT, kernel)) for name, kernel in csr.FORMAT.kernels_on(backend))
    return {**{kernel.name: kernel for kernel in multiplying}, **dict(one_by_one)}


def chosen_kernels(params: SpmmParams, backend: str) -> tuple[str, ...]:
    """Return the kernels that the parameters select on a backend, in the order of `known_kernels`."""
    known = known_kernels(backend)
    for name in params.kernels:
        find_by_name("kernel", name, known, f"known on {backend}")
    return tuple(name for name in known if name in params.kernels) if params.kernels else tuple(known)
