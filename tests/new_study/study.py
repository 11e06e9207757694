"""Study `transpose`: does y = Aᵀ·x pay for a transposed copy?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.measure import Bench
from gpu_engine.parameters import parameter
from gpu_engine.records import BACKENDS, Case, DeviceInfo, MatrixInfo, Record
from gpu_engine.sampling.run import by_matrix, measure
from gpu_engine.sampling.sampling_options import SAMPLING, TIME_LIMIT_S, Sampling, SamplingOptions
from tests.new_study.findings import findings
from tests.new_study.measuring import KERNELS, TransposeDetails, Transposes


@dataclass(frozen=True, slots=True)
class TransposeParams:
    """Parameters of the study."""

    rounds: int = parameter(
        9, "Number of interleaved rounds, over which confidence intervals are computed.", ge=9, le=199
    )
    sampling: Sampling = parameter(*SAMPLING)  # noqa: RUF009 (a field)
    time_limit_s: float = parameter(*TIME_LIMIT_S, ge=0.0, le=86_400.0)


class TransposeStudy:
    """Study of both kernels of a matrix in the same interleaved rounds."""

    name = "transpose"
    details = TransposeDetails
    findings = staticmethod(findings)
    question = "Does SpMV with the transposed matrix pay for a transposed copy?"
    several = False
    backends = BACKENDS
    Params = TransposeParams

    def names(self, backend: str) -> Mapping[str, tuple[str, ...]]:
        """Return no names, because no parameter accepts names."""
        return {}

    def refusal(self, matrix: MatrixInfo) -> str:
        """Return no reason, because every matrix can be measured."""
        return ""

    def cases(self, params: TransposeParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> Iterator[Case]:
        """Yield the cases by matrix, with both kernels."""
        return (Case(m.id, kernel, "warm") for m in matrices for kernel in KERNELS)

    def estimate_s(self, params: TransposeParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> float:
        """Return one second per matrix."""
        return float(len(matrices))

    def run(
        self, params: TransposeParams, todo: Sequence[Case], matrices: Mapping[str, CsrMatrix], bench: Bench
    ) -> Iterator[Record]:
        """Yield the records of `todo`."""
        experiments = (
            Transposes(cases, params.rounds, matrices[cases[0].matrix_id], bench) for cases in by_matrix(todo)
        )
        return measure(bench, experiments, SamplingOptions.of(params))


TRANSPOSE = TransposeStudy()
