"""Study `batched`: which kernel multiplies a batch of small matrices fastest, and how near the floor?"""

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
from gpu_engine.sampling.effort import BUDGET_S, ENERGY, SAMPLING, SHARE, Effort, Energy, Sampling, turn_s
from gpu_engine.sampling.run import alike, measure
from gpu_engine.studies.batched.experiment import BatchDetails, BatchExperiment, BatchPlan

ROWS_MAX = 16_384
"""Rows of a small matrix; one with more is measured by itself."""

LARGEST, FEWEST = 1000, 2
"""Problems of the larger of two batches that are measured unasked, where it fits; and of the smallest one."""

BATCH_BYTES = {"cpu": 2**25, "cuda": 2**32}
"""Bytes of CSR of the largest batch that is measured unasked, by backend: over them a product takes long, no more."""

Compose = Literal["uniform", "mixed"]


@dataclass(frozen=True, slots=True)
class BatchedParams:
    """Parameters of the study."""

    kernels: tuple[str, ...] = parameter((), "Kernels to measure; empty: all that the device has.")
    batches: tuple[int, ...] = parameter(
        (),
        "Problems of a batch; empty: 100 and 1000, or the powers of ten that fit 32 MB on a CPU, 4 GB on a GPU.",
        ge=1,
        le=1_000_000,
    )
    compose: tuple[Compose, ...] = parameter(
        ("uniform", "mixed"),
        "Batches of copies of each matrix, and one of all small matrices of the job, in random order.",
        min_length=1,
    )
    operation: Literal["y = Ax + y", "y = Ax"] = parameter(
        "y = Ax + y", "The product: added to y, as in the paper, or in its place."
    )
    caches: tuple[Cache, ...] = parameter(CACHES, "Cache states to measure.", min_length=1)
    rounds: int = parameter(9, "Interleaved rounds; the interval is bootstrapped over them.", ge=9, le=199)
    sampling: Sampling = parameter(*SAMPLING)  # noqa: RUF009 (a field)
    time_limit_s: float = parameter(*BUDGET_S, ge=0.0, le=86_400.0)
    energy_s: float = parameter(
        0.2, "Seconds of repeats for the energy of a product; 0: not measured.", ge=0.0, le=10.0
    )
    energy: Energy = parameter(*ENERGY)  # noqa: RUF009 (a field)
    loop_max: int = parameter(1000, "Most problems for libraries that launch something for each.", ge=1, le=10_000)


@dataclass(frozen=True, slots=True)
class _Setting:
    """A batch to measure: the ids of the matrices in it, and its size; one matrix is copied, several are mixed."""

    matrix_ids: tuple[str, ...]
    batch: int

    @property
    def compose(self) -> Compose:
        """How it is composed."""
        return "uniform" if len(self.matrix_ids) == 1 else "mixed"

    def axes(self, params: BatchedParams) -> tuple[tuple[str, str], ...]:
        """What tells its cases from those of other batches."""
        mixture = ((MIXTURE, mixture_of(self.matrix_ids)),) if self.compose == "mixed" else ()
        operation = params.operation.replace(" ", "")
        return ("batch", str(self.batch)), ("compose", self.compose), ("operation", operation), *mixture


class BatchedStudy:
    """One product of a whole batch per kernel and cache state, all kernels of a batch in the same interleaved rounds.

    The cases of a mixed batch belong to the first matrix in it by its id, and have the axis `mixture` for all of them,
    whom the records name.
    """

    name = "batched"
    details = BatchDetails
    findings = staticmethod(batched.findings)
    question = "Which kernel multiplies a batch of small matrices fastest, and how near the floor?"
    several = False
    backends = BACKENDS
    Params = BatchedParams

    def names(self, backend: str) -> Mapping[str, tuple[str, ...]]:
        """The kernels of a backend, ours first."""
        return {"kernels": (*(kernel.name for kernel in kernels_on(backend)), *peer_names(backend))}

    def refusal(self, matrix: MatrixInfo) -> str:
        """Of a matrix that is empty or too large for a batch."""
        return _refusal(matrix.n_rows, matrix.nnz)

    def cases(self, params: BatchedParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> Iterator[Case]:
        """Copies matrix by matrix and batch by batch, then mixed batches; within a batch kernel by kernel.

        Raises ParameterError on a kernel that the device lacks, and where there is nothing to measure.
        """
        names = chosen_kernels(params, device.backend)
        settings = _settings(params, matrices, device.backend)
        if not settings:
            raise ParameterError(
                f"A mixed batch needs two matrices of at most {ROWS_MAX} rows; add one, or take copies."
            )
        return (
            Case(setting.matrix_ids[0], kernel, cache, setting.axes(params))
            for setting in settings
            for kernel in names
            for cache in params.caches
        )

    def estimate_s(self, params: BatchedParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> float:
        """Starting once, then per batch and kernel the conversion and the rounds."""
        kernels = len(chosen_kernels(params, device.backend)) + 4
        # Bytes/s of products and of conversions, whose layouts are made and checked on the host.
        rate, converted, start = (1e12, 5e9, 2.0) if device.backend == "cuda" else (6e9, 5e7, 4.0)
        small = {m.id: m.nnz for m in matrices if not _refusal(m.n_rows, m.nnz)}
        settings = _settings(params, matrices, device.backend)
        effort, rounds = _effort(params, settings, len(matrices)), SHARE[params.sampling] * params.rounds
        turns_s, seconds = sum(turn_s(device, cache) for cache in params.caches), start
        for setting in settings:
            nnz = setting.batch * sum(small.get(i, 0) for i in setting.matrix_ids) / len(setting.matrix_ids)
            if nnz:
                products_s = 5 * len(params.caches) * 14 * nnz / rate
                seconds += kernels * 12 * nnz / converted + effort.expected_s(kernels * (turns_s + products_s), rounds)
        return seconds

    def run(
        self, params: BatchedParams, todo: Sequence[Case], matrices: Mapping[str, CsrMatrix], bench: Bench
    ) -> Iterator[Record]:
        """Measures the cases of `todo`; those of one batch share their rounds."""
        plan = BatchPlan(
            known_kernels(bench.stopwatch.backend),
            params.caches,
            params.rounds,
            params.operation == "y = Ax + y",
            params.loop_max,
            params.energy_s,
        )
        batches = alike(todo, lambda case: (case.matrix_id, case.axes))
        found = (_experiment(plan, cases, matrices, bench) for cases in batches)
        # Of a job that goes on only what it still owes is known, which makes shares larger.
        settings = {(case.matrix_id, case.axes) for case in todo}
        return measure(bench, found, _effort(params, settings, len(matrices)))


def _effort(params: BatchedParams, settings: Collection[object], matrices: int) -> Effort:
    """The batches of a matrix share the seconds of its rounds, and those of a mixture are as many as a matrix has."""
    return Effort.of(params, len(settings) / max(matrices, 1))


def known_kernels(backend: str) -> tuple[BatchKernel, ...]:
    """Our kernels of a backend, then those of other libraries."""
    return (*kernels_on(backend), *peers_on(backend))


def chosen_kernels(params: BatchedParams, backend: str) -> tuple[str, ...]:
    """The kernels that the parameters ask for on a backend: ours in the order of KERNELS, then the competitors."""
    known = BatchedStudy().names(backend)["kernels"]
    for name in params.kernels:
        if name not in known:
            raise ParameterError(f"There is no batch kernel {name!r} on {backend}; known: {', '.join(known)}.")
    return tuple(name for name in known if name in params.kernels) if params.kernels else known


def _settings(params: BatchedParams, matrices: Sequence[MatrixInfo], backend: str) -> tuple[_Setting, ...]:
    """The batches of a job, each once, in the order of its cases."""
    found: list[_Setting] = []
    if "uniform" in params.compose:
        found += (
            _Setting((m.id,), batch) for m in matrices for batch in params.batches or default_batches([m], backend)
        )
    small = {m.id: m for m in matrices if not _refusal(m.n_rows, m.nnz)}
    if "mixed" in params.compose and len(small) > 1:
        # A mixture of fewer problems than matrices would lack some of them.
        batches = params.batches or tuple(max(n, len(small)) for n in default_batches(tuple(small.values()), backend))
        found += (_Setting(tuple(sorted(small)), batch) for batch in batches)
    return tuple(dict.fromkeys(found))


def default_batches(matrices: Sequence[MatrixInfo], backend: str) -> tuple[int, ...]:
    """Problems of the batches of these matrices that are measured unasked, ascending: a power of ten and a tenth of it.

    Powers of ten, so that matrices unlike in size have batches of one size that can be compared.
    """
    each = sum(12 * m.nnz + 4 * (m.n_rows + 1) for m in matrices) / len(matrices)
    fits = max(min(BATCH_BYTES[backend] / each, LARGEST), 1.0)
    most = 10 ** int(math.log10(fits))
    return tuple(sorted({max(most // 10, FEWEST), max(most, FEWEST)}))


def mixture_of(matrix_ids: Sequence[str]) -> str:
    """What a mixed batch of these matrices, ascending and equally often, is called in its cases: `12-3f2a9c01`."""
    return f"{len(matrix_ids)}-{digest(' '.join(matrix_ids))[:8]}"


def _refusal(n_rows: int, nnz: int) -> str:
    """Why a matrix is in no batch; empty where it may be in one."""
    if not nnz:
        return "the matrix has no entries"
    if n_rows > ROWS_MAX:
        return f"the matrix has {n_rows} rows; batches, mixed ones too, are of matrices of at most {ROWS_MAX}"
    return ""


def _experiment(
    plan: BatchPlan, cases: Sequence[Case], matrices: Mapping[str, CsrMatrix], bench: Bench
) -> BatchExperiment:
    """The batch of some cases."""
    axes = dict(cases[0].axes)
    count = int(axes["batch"])
    if axes["compose"] == "mixed":
        small = {name: found for name in sorted(matrices) if not _refusal((found := matrices[name]).n_rows, found.nnz)}
        return BatchExperiment(
            plan, cases, lambda: Composition.mixed(tuple(small.values()), count), bench, tuple(small)
        )
    return BatchExperiment(plan, cases, lambda: _copies(matrices[cases[0].matrix_id], count), bench)


def _copies(matrix: CsrMatrix, count: int) -> Composition:
    """Copies of a matrix; raises ParameterError where it is empty or too large."""
    if refusal := _refusal(matrix.n_rows, matrix.nnz):
        raise ParameterError(refusal)
    return Composition.copies(matrix, count)
