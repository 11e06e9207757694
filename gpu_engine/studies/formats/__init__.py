"""Study `formats`: compares the SpMV kernels of all storage formats on one matrix and device."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gpu_engine.competitors import BEST, competitor_names
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.custom_kernels.sources import parse_references
from gpu_engine.errors import ParameterError
from gpu_engine.findings import formats
from gpu_engine.formats import kernel_names
from gpu_engine.matrices.orders import ordered
from gpu_engine.measure import Bench
from gpu_engine.parameters import parameter
from gpu_engine.records import BACKENDS, CACHES, OP, TRANSPOSED, Cache, Case, DeviceInfo, MatrixInfo, Record
from gpu_engine.sampling.reproducibility import REPLAYS_S
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
from gpu_engine.studies.formats.custom import ProductsWithCustomKernels
from gpu_engine.studies.formats.experiment import ProductDetails, SamplingPlan

OF_TRANSPOSE = ((OP, TRANSPOSED),)
AXES: Mapping[str, tuple[tuple[tuple[str, str], ...], ...]] = {
    "A": ((),),
    TRANSPOSED: (OF_TRANSPOSE,),
    "both": ((), OF_TRANSPOSE),
}
"""Value of `op` → axes of its cases."""

CUSTOM_KERNEL_COST = 3
"""Cost of a custom kernel in the estimate, relative to a built-in kernel, because of its integrity checks."""


@dataclass(frozen=True, slots=True)
class FormatsParams:
    """Parameters of the study `formats`."""

    kernels: tuple[str, ...] = parameter((), "Kernels to measure (default: all that the device supports).")
    caches: tuple[Cache, ...] = parameter(CACHES, "Cache states to measure.", min_length=1)
    rounds: int = parameter(
        15, "Number of interleaved rounds, over which confidence intervals are computed.", ge=9, le=199
    )
    sampling: Sampling = parameter(*SAMPLING)  # noqa: RUF009 (a field)
    time_limit_s: float = parameter(*TIME_LIMIT_S, ge=0.0, le=86_400.0)
    control: str = parameter("csr/vector", "Control kernel: it runs twice per round to measure the noise (A/A test).")
    reorder: Literal["none", "degree", "rcm"] = parameter(
        "none", "Reordering of rows and columns: none, by column degree (highest first), or reverse Cuthill–McKee."
    )
    op: Literal["A", "AT", "both"] = parameter(
        "A", "Matrix to multiply with: A, its transpose (AT), or both, one after the other."
    )
    energy_s: float = parameter(0.4, "Seconds of repeated SpMVs for the energy measurement (0 = off).", ge=0.0, le=10.0)
    energy: Energy = parameter(*ENERGY)  # noqa: RUF009 (a field)
    custom_kernels: tuple[str, ...] = parameter(
        (), "Custom kernels to measure as well: FILE.py:NAME, or the name of an entry point.", max_length=20
    )


class FormatsStudy:
    """Study of one SpMV y = A·x per kernel and cache state, with all kernels of a matrix in the same rounds.

    With a reordering a kernel is called `csr/vector+rcm`; its time is that of an SpMV with reordered x and y. A case of
    the transpose has the axis `op=AT`; A and Aᵀ are sampled in separate rounds.
    """

    name = "formats"
    details = ProductDetails
    findings = staticmethod(formats.findings)
    question = "Which format and kernel is fastest for this matrix, and how close is it to the roofline?"
    several = False
    backends = BACKENDS
    Params = FormatsParams

    def names(self, backend: str) -> Mapping[str, tuple[str, ...]]:
        """Return the kernel names that `kernels` and `control` accept on a backend."""
        known = known_kernels(backend)
        return {"kernels": known, "control": known}

    def refusal(self, matrix: MatrixInfo) -> str:
        """Return why a matrix without nonzeros cannot be measured."""
        return "" if matrix.nnz else "the matrix has no nonzeros"

    def cases(self, params: FormatsParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> Iterator[Case]:
        """Yield the cases by matrix, A before Aᵀ, then by kernel; raise ParameterError for an unsupported kernel."""
        kernels = [ordered(kernel, params.reorder) for kernel in chosen_kernels(params, device.backend)]
        kernels += [ordered(custom.kernel, params.reorder) for custom in parse_references(params.custom_kernels)]
        return (
            Case(m.id, kernel, cache, axes)
            for m in matrices
            for axes in AXES[params.op]
            for kernel in kernels
            for cache in params.caches
        )

    def estimate_s(self, params: FormatsParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> float:
        """Return the expected seconds: one start, then per matrix and kernel the conversion and the rounds."""
        kernels = len(chosen_kernels(params, device.backend)) + 2 + CUSTOM_KERNEL_COST * len(params.custom_kernels)
        rate, start = (1e12, 2.0) if device.backend == "cuda" else (6e9, 6.0)
        rounds, options, axes = SHARE[params.sampling] * params.rounds, _options(params), len(AXES[params.op])
        turns_s = sum(turn_s(device, cache) for cache in params.caches)
        products = 5 * len(params.caches)
        rounds_s = (kernels * (turns_s + products * 14 * m.nnz / rate) for m in matrices)
        return start + axes * sum(kernels * REPLAYS_S + options.expected_s(round_s, rounds) for round_s in rounds_s)

    def run(
        self, params: FormatsParams, todo: Sequence[Case], matrices: Mapping[str, CsrMatrix], bench: Bench
    ) -> Iterator[Record]:
        """Yield the records of `todo`; cases of one matrix, or of its transpose, share their rounds."""
        plan = SamplingPlan(params.caches, params.rounds, params.control, params.energy_s, params.reorder)
        custom = parse_references(params.custom_kernels)
        experiments = (
            ProductsWithCustomKernels(_plan_of(cases[0], plan), cases, matrices[cases[0].matrix_id], bench, custom)
            for cases in group_by_key(todo, lambda case: (case.matrix_id, case.axes))
        )
        return measure(bench, experiments, _options(params))


def _options(params: FormatsParams) -> SamplingOptions:
    """Return the sampling options; A and Aᵀ share the time limit of a matrix."""
    return SamplingOptions.of(params, len(AXES[params.op]))


def _plan_of(case: Case, plan: SamplingPlan) -> SamplingPlan:
    """Return the plan for the rounds of a case."""
    return replace(plan, transposed=case.axes == OF_TRANSPOSE)


def known_kernels(backend: str) -> tuple[str, ...]:
    """Return the kernels of a backend: Sparsight kernels in the order of FORMATS, then library kernels."""
    best = (BEST,) if competitor_names(backend) else ()
    return (*kernel_names(backend), *competitor_names(backend), *best)


def chosen_kernels(params: FormatsParams, backend: str) -> tuple[str, ...]:
    """Return the kernels that the parameters select on a backend, in the order of `known_kernels`."""
    known = known_kernels(backend)
    for name in (*params.kernels, params.control):
        if name not in known:
            raise ParameterError(f"Unknown kernel {name!r} on {backend}. Known kernels: {', '.join(known)}.")
    return tuple(name for name in known if name in params.kernels) if params.kernels else known
