"""Study `batched`: compares the kernels of batched SpMV, many small matrices in one launch."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gpu_engine.batched import kernels_on
from gpu_engine.batched.base import BatchKernel
from gpu_engine.batched.composition import Composition
from gpu_engine.competitors.batches import peer_names, peers_on
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import digest
from gpu_engine.errors import ParameterError
from gpu_engine.findings import batched
from gpu_engine.measure import Bench
from gpu_engine.parameters import parameter
from gpu_engine.records import BACKENDS, CACHES, MIXTURE, Cache, Case, DeviceInfo, MatrixInfo, Record
from gpu_engine.sampling.run import group_by_key, measure
from gpu_engine.sampling.sampling_options import (
    ENERGY,
    SAMPLING,
    SHARE,
    TIME_LIMIT_S,
    Energy,
    Sampling,
    SamplingOptions,
    turn_s,
)
from gpu_engine.studies.batched.experiment import BatchDetails, BatchExperiment, BatchPlan

ROWS_MAX = 16_384
"""Most rows of a matrix in a batch."""

LARGEST, FEWEST = 1000, 2
"""Default batch size of the larger batch if it fits, and the smallest default batch size."""

BATCH_BYTES = {"cpu": 2**25, "cuda": 2**32}
"""Most bytes of CSR of a default batch, by backend; larger batches take longer without further insight."""

Compose = Literal["uniform", "mixed"]


@dataclass(frozen=True, slots=True)
class BatchedParams:
    """Parameters of the study `batched`."""

    kernels: tuple[str, ...] = parameter((), "Kernels to measure (default: all that the device supports).")
    batches: tuple[int, ...] = parameter(
        (),
        "Batch sizes (default: 100 and 1000, or the powers of ten that fit 32 MB on a CPU, 4 GB on a GPU).",
        ge=1,
        le=1_000_000,
    )
    compose: tuple[Compose, ...] = parameter(
        ("uniform", "mixed"),
        "Uniform batches of each matrix, and one mixed batch of all small matrices of the job, in random order.",
        min_length=1,
    )
    operation: Literal["y = Ax + y", "y = Ax"] = parameter(
        "y = Ax + y", "SpMV with accumulation into y, as in the paper, or without."
    )
    caches: tuple[Cache, ...] = parameter(CACHES, "Cache states to measure.", min_length=1)
    rounds: int = parameter(
        9, "Number of interleaved rounds, over which confidence intervals are computed.", ge=9, le=199
    )
    sampling: Sampling = parameter(*SAMPLING)  # noqa: RUF009 (a field)
    time_limit_s: float = parameter(*TIME_LIMIT_S, ge=0.0, le=86_400.0)
    energy_s: float = parameter(0.2, "Seconds of repeated SpMVs for the energy measurement (0 = off).", ge=0.0, le=10.0)
    energy: Energy = parameter(*ENERGY)  # noqa: RUF009 (a field)
    loop_max: int = parameter(1000, "Largest batch for kernels with one launch per matrix.", ge=1, le=10_000)


@dataclass(frozen=True, slots=True)
class _Setting:
    """A batch to measure: ids of its matrices, and its size; one matrix gives a uniform batch, several a mixed one."""

    matrix_ids: tuple[str, ...]
    batch: int

    @property
    def compose(self) -> Compose:
        """`uniform` or `mixed`."""
        return "uniform" if len(self.matrix_ids) == 1 else "mixed"

    def axes(self, params: BatchedParams) -> tuple[tuple[str, str], ...]:
        """Return the axes that distinguish its cases from those of other batches."""
        mixture = ((MIXTURE, mixture_of(self.matrix_ids)),) if self.compose == "mixed" else ()
        operation = params.operation.replace(" ", "")
        return ("batch", str(self.batch)), ("compose", self.compose), ("operation", operation), *mixture


class BatchedStudy:
    """Study of one SpMV of a whole batch per kernel and cache state, with all kernels of a batch in the same rounds.

    The cases of a mixed batch belong to its first matrix by id; their axis `mixture` stands for all of its matrices,
    which the records list.
    """

    name = "batched"
    details = BatchDetails
    findings = staticmethod(batched.findings)
    question = "Which kernel is fastest for a batch of small matrices, and how close is it to the roofline?"
    several = False
    backends = BACKENDS
    Params = BatchedParams

    def names(self, backend: str) -> Mapping[str, tuple[str, ...]]:
        """Return the kernels of a backend, Sparsight kernels first."""
        return {"kernels": (*(kernel.name for kernel in kernels_on(backend)), *peer_names(backend))}

    def refusal(self, matrix: MatrixInfo) -> str:
        """Return why a matrix is empty or too large for a batch; empty if it is neither."""
        return _refusal(matrix.n_rows, matrix.nnz)

    def cases(self, params: BatchedParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> Iterator[Case]:
        """Yield the cases of uniform batches by matrix, then of mixed batches; within a batch by kernel.

        Raise ParameterError for an unsupported kernel, and if there is nothing to measure.
        """
        names = chosen_kernels(params, device.backend)
        settings = _settings(params, matrices, device.backend)
        if not settings:
            raise ParameterError(
                f"A mixed batch needs two matrices of at most {ROWS_MAX} rows. Add one, or set compose=uniform."
            )
        return (
            Case(setting.matrix_ids[0], kernel, cache, setting.axes(params))
            for setting in settings
            for kernel in names
            for cache in params.caches
        )

    def estimate_s(self, params: BatchedParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> float:
        """Return the expected seconds: one start, then per batch and kernel the conversion and the rounds."""
        kernels = len(chosen_kernels(params, device.backend)) + 4
        # Bytes/s of SpMVs, and of conversions, which include layout creation and verification on the host.
        rate, converted, start = (1e12, 5e9, 2.0) if device.backend == "cuda" else (6e9, 5e7, 4.0)
        small = {m.id: m.nnz for m in matrices if not _refusal(m.n_rows, m.nnz)}
        settings = _settings(params, matrices, device.backend)
        options, rounds = _options(params, settings, len(matrices)), SHARE[params.sampling] * params.rounds
        turns_s, seconds = sum(turn_s(device, cache) for cache in params.caches), start
        for setting in settings:
            nnz = setting.batch * sum(small.get(i, 0) for i in setting.matrix_ids) / len(setting.matrix_ids)
            if nnz:
                products_s = 5 * len(params.caches) * 14 * nnz / rate
                seconds += kernels * 12 * nnz / converted + options.expected_s(kernels * (turns_s + products_s), rounds)
        return seconds

    def run(
        self, params: BatchedParams, todo: Sequence[Case], matrices: Mapping[str, CsrMatrix], bench: Bench
    ) -> Iterator[Record]:
        """Yield the records of `todo`; cases of one batch share their rounds."""
        plan = BatchPlan(
            known_kernels(bench.stopwatch.backend),
            params.caches,
            params.rounds,
            params.operation == "y = Ax + y",
            params.loop_max,
            params.energy_s,
        )
        batches = group_by_key(todo, lambda case: (case.matrix_id, case.axes))
        experiments = (_experiment(plan, cases, matrices, bench) for cases in batches)
        # For a resumed job only the remaining cases are known, which makes the shares of time larger.
        settings = {(case.matrix_id, case.axes) for case in todo}
        return measure(bench, experiments, _options(params, settings, len(matrices)))


def _options(params: BatchedParams, settings: Collection[object], matrices: int) -> SamplingOptions:
    """Return the sampling options; the batches of a matrix, and those of a mixture, share one time limit."""
    return SamplingOptions.of(params, len(settings) / max(matrices, 1))


def known_kernels(backend: str) -> tuple[BatchKernel, ...]:
    """Return the Sparsight kernels of a backend, then the library kernels."""
    return (*kernels_on(backend), *peers_on(backend))


def chosen_kernels(params: BatchedParams, backend: str) -> tuple[str, ...]:
    """Return the kernels that the parameters select on a backend, in the order of `known_kernels`."""
    known = BatchedStudy().names(backend)["kernels"]
    for name in params.kernels:
        if name not in known:
            raise ParameterError(f"Unknown batch kernel {name!r} on {backend}. Known kernels: {', '.join(known)}.")
    return tuple(name for name in known if name in params.kernels) if params.kernels else known


def _settings(params: BatchedParams, matrices: Sequence[MatrixInfo], backend: str) -> tuple[_Setting, ...]:
    """Return the batches of a job, each once, in the order of its cases."""
    settings: list[_Setting] = []
    if "uniform" in params.compose:
        settings += (
            _Setting((m.id,), batch) for m in matrices for batch in params.batches or default_batches([m], backend)
        )
    small = {m.id: m for m in matrices if not _refusal(m.n_rows, m.nnz)}
    if "mixed" in params.compose and len(small) > 1:
        # A batch smaller than the number of matrices would lack some of them.
        batches = params.batches or tuple(max(n, len(small)) for n in default_batches(tuple(small.values()), backend))
        settings += (_Setting(tuple(sorted(small)), batch) for batch in batches)
    return tuple(dict.fromkeys(settings))


def default_batches(matrices: Sequence[MatrixInfo], backend: str) -> tuple[int, ...]:
    """Return the default batch sizes for these matrices, ascending: a power of ten and a tenth of it.

    Powers of ten give matrices of different sizes equal batch sizes, which can be compared.
    """
    each = sum(12 * m.nnz + 4 * (m.n_rows + 1) for m in matrices) / len(matrices)
    fits = max(min(BATCH_BYTES[backend] / each, LARGEST), 1.0)
    most = 10 ** int(math.log10(fits))
    return tuple(sorted({max(most // 10, FEWEST), max(most, FEWEST)}))


def mixture_of(matrix_ids: Sequence[str]) -> str:
    """Return the name of a mixed batch of these matrices in its cases, such as `12-3f2a9c01`; ids ascend."""
    return f"{len(matrix_ids)}-{digest(' '.join(matrix_ids))[:8]}"


def _refusal(n_rows: int, nnz: int) -> str:
    """Return why a matrix cannot be in a batch; empty if it can."""
    if not nnz:
        return "the matrix has no nonzeros"
    if n_rows > ROWS_MAX:
        return f"the matrix has {n_rows} rows; a batch takes matrices with at most {ROWS_MAX} rows"
    return ""


def _experiment(
    plan: BatchPlan, cases: Sequence[Case], matrices: Mapping[str, CsrMatrix], bench: Bench
) -> BatchExperiment:
    """Return the experiment for cases of one batch."""
    axes = dict(cases[0].axes)
    count = int(axes["batch"])
    if axes["compose"] == "mixed":
        small = {
            id_: matrices[id_] for id_ in sorted(matrices) if not _refusal(matrices[id_].n_rows, matrices[id_].nnz)
        }
        return BatchExperiment(
            plan, cases, lambda: Composition.mixed(tuple(small.values()), count), bench, tuple(small)
        )
    return BatchExperiment(plan, cases, lambda: _copies(matrices[cases[0].matrix_id], count), bench)


def _copies(matrix: CsrMatrix, count: int) -> Composition:
    """Return the uniform batch of a matrix; raise ParameterError if the matrix is empty or too large."""
    if refusal := _refusal(matrix.n_rows, matrix.nnz):
        raise ParameterError(refusal)
    return Composition.copies(matrix, count)
