"""Study `transpose`: does y = Aᵀ·x pay for a layout of its own?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.measure import Bench
from gpu_engine.parameters import parameter
from gpu_engine.records import BACKENDS, Case, DeviceInfo, MatrixInfo, Record
from gpu_engine.sampling.effort import BUDGET_S, SAMPLING, Effort, Sampling
from gpu_engine.sampling.run import by_matrix, measure
from tests.new_study.findings import findings
from tests.new_study.measuring import KERNELS, TransposeDetails, Transposes


@dataclass(frozen=True, slots=True)
class TransposeParams:
    """Parameters of the study."""

    rounds: int = parameter(9, "Interleaved rounds; the interval is bootstrapped over them.", ge=9, le=199)
    sampling: Sampling = parameter(*SAMPLING)  # noqa: RUF009 (a field)
    time_limit_s: float = parameter(*BUDGET_S, ge=0.0, le=86_400.0)


class TransposeStudy:
    """Both kernels of a matrix in the same interleaved rounds."""

    name = "transpose"
    details = TransposeDetails
    findings = staticmethod(findings)
    question = "Does a product with the transposed matrix pay for a layout of its own?"
    several = False
    backends = BACKENDS
    Params = TransposeParams

    def names(self, backend: str) -> Mapping[str, tuple[str, ...]]:
        """No parameter takes names."""
        return {}

    def refusal(self, matrix: MatrixInfo) -> str:
        """None."""
        return ""

    def cases(self, params: TransposeParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> Iterator[Case]:
        """Matrix by matrix, both kernels."""
        return (Case(m.id, kernel, "warm") for m in matrices for kernel in KERNELS)

    def estimate_s(self, params: TransposeParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> float:
        """A second a matrix."""
        return float(len(matrices))

    def run(
        self, params: TransposeParams, todo: Sequence[Case], matrices: Mapping[str, CsrMatrix], bench: Bench
    ) -> Iterator[Record]:
        """Measures the cases of `todo`."""
        found = (Transposes(cases, params.rounds, matrices[cases[0].matrix_id], bench) for cases in by_matrix(todo))
        return measure(bench, found, Effort.of(params))


TRANSPOSE = TransposeStudy()
