"""Study `formats`: which storage format and kernel multiplies a matrix fastest on a device, and how near the floor?"""

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
from gpu_engine.sampling.effort import BUDGET_S, ENERGY, SAMPLING, SHARE, Effort, Energy, Sampling, turn_s
from gpu_engine.sampling.reproducibility import REPLAYS_S
from gpu_engine.sampling.run import alike, measure
from gpu_engine.studies.formats.custom import ProductsWithCustomKernels
from gpu_engine.studies.formats.experiment import ProductDetails, SamplingPlan

OF_TRANSPOSE = ((OP, TRANSPOSED),)
AXES: Mapping[str, tuple[tuple[tuple[str, str], ...], ...]] = {
    "A": ((),),
    TRANSPOSED: (OF_TRANSPOSE,),
    "both": ((), OF_TRANSPOSE),
}
"""What `op` asks for → the axes of its cases."""

WATCHED = 3
"""So many times a kernel's time a custom kernel takes, of which some turns are watched."""


@dataclass(frozen=True, slots=True)
class FormatsParams:
    """Parameters of the study."""

    kernels: tuple[str, ...] = parameter((), "Kernels to measure; empty: all that the device has.")
    caches: tuple[Cache, ...] = parameter(CACHES, "Cache states to measure.", min_length=1)
    rounds: int = parameter(15, "Interleaved rounds; the interval is bootstrapped over them.", ge=9, le=199)
    sampling: Sampling = parameter(*SAMPLING)  # noqa: RUF009 (a field)
    time_limit_s: float = parameter(*BUDGET_S, ge=0.0, le=86_400.0)
    control: str = parameter("csr/vector", "Kernel that enters every round twice: what it differs from itself.")
    reorder: Literal["none", "degree", "rcm"] = parameter(
        "none", "Order of rows and columns: as given, most read columns first, or reverse Cuthill–McKee."
    )
    op: Literal["A", "AT", "both"] = parameter(
        "A", "What multiplies x: the matrix A, its transpose (AT), or both, one after the other."
    )
    energy_s: float = parameter(
        0.4, "Seconds of repeats for the energy of a product; 0: not measured.", ge=0.0, le=10.0
    )
    energy: Energy = parameter(*ENERGY)  # noqa: RUF009 (a field)
    custom_kernels: tuple[str, ...] = parameter(
        (), "Kernels of your own to measure beside them: FILE.py:NAME, or the name of an entry point.", max_length=20
    )


class FormatsStudy:
    """One product y = A·x per kernel and cache state, all kernels of a matrix in the same interleaved rounds.

    In a new order a kernel is called `csr/vector+rcm`: its time is that of a product with x and y in that order. A case
    of the transpose has the axis `op=AT`; those of A and of Aᵀ have rounds of their own.
    """

    name = "formats"
    details = ProductDetails
    findings = staticmethod(formats.findings)
    question = "Which format and kernel multiplies this matrix fastest, and how near the floor?"
    several = False
    backends = BACKENDS
    Params = FormatsParams

    def names(self, backend: str) -> Mapping[str, tuple[str, ...]]:
        """The kernels of a backend; one of them is the reference."""
        known = known_kernels(backend)
        return {"kernels": known, "control": known}

    def refusal(self, matrix: MatrixInfo) -> str:
        """Of a matrix without entries."""
        return "" if matrix.nnz else "the matrix has no entries"

    def cases(self, params: FormatsParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> Iterator[Case]:
        """Matrix by matrix, A before Aᵀ, then kernel by kernel; raises ParameterError on one that the device lacks."""
        kernels = [ordered(kernel, params.reorder) for kernel in chosen_kernels(params, device.backend)]
        kernels += [ordered(own.kernel, params.reorder) for own in parse_references(params.custom_kernels)]
        return (
            Case(m.id, kernel, cache, axes)
            for m in matrices
            for axes in AXES[params.op]
            for kernel in kernels
            for cache in params.caches
        )

    def estimate_s(self, params: FormatsParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> float:
        """Starting once, then per matrix and kernel the conversion and the rounds."""
        kernels = len(chosen_kernels(params, device.backend)) + 2 + WATCHED * len(params.custom_kernels)
        rate, start = (1e12, 2.0) if device.backend == "cuda" else (6e9, 6.0)
        rounds, effort, axes = SHARE[params.sampling] * params.rounds, _effort(params), len(AXES[params.op])
        turns_s = sum(turn_s(device, cache) for cache in params.caches)
        products = 5 * len(params.caches)
        rounds_s = (kernels * (turns_s + products * 14 * m.nnz / rate) for m in matrices)
        return start + axes * sum(kernels * REPLAYS_S + effort.expected_s(round_s, rounds) for round_s in rounds_s)

    def run(
        self, params: FormatsParams, todo: Sequence[Case], matrices: Mapping[str, CsrMatrix], bench: Bench
    ) -> Iterator[Record]:
        """Measures the cases of `todo`; those of one matrix, or of its transpose, share their rounds."""
        plan = SamplingPlan(params.caches, params.rounds, params.control, params.energy_s, params.reorder)
        own = parse_references(params.custom_kernels)
        found = (
            ProductsWithCustomKernels(_plan_of(cases[0], plan), cases, matrices[cases[0].matrix_id], bench, own)
            for cases in alike(todo, lambda case: (case.matrix_id, case.axes))
        )
        return measure(bench, found, _effort(params))


def _effort(params: FormatsParams) -> Effort:
    """A and Aᵀ share the seconds of the rounds of a matrix."""
    return Effort.of(params, len(AXES[params.op]))


def _plan_of(case: Case, plan: SamplingPlan) -> SamplingPlan:
    """The plan for the rounds of a case."""
    return replace(plan, transposed=case.axes == OF_TRANSPOSE)


def known_kernels(backend: str) -> tuple[str, ...]:
    """The kernels of a backend: ours in the order of FORMATS, then the competitors."""
    best = (BEST,) if competitor_names(backend) else ()
    return (*kernel_names(backend), *competitor_names(backend), *best)


def chosen_kernels(params: FormatsParams, backend: str) -> tuple[str, ...]:
    """The kernels that the parameters ask for on a backend, in the order of `known_kernels`."""
    known = known_kernels(backend)
    for name in (*params.kernels, params.control):
        if name not in known:
            raise ParameterError(f"There is no kernel {name!r} on {backend}; known kernels: {', '.join(known)}.")
    return tuple(name for name in known if name in params.kernels) if params.kernels else known
