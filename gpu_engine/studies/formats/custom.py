"""ProductsWithCustomKernels: the SpMV kernels of one matrix, with custom kernels among them."""

from collections.abc import Sequence

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.custom_kernels.examiner import Examiner
from gpu_engine.custom_kernels.sources import Reference
from gpu_engine.custom_kernels.tamper_check import TamperCheck
from gpu_engine.measure import Bench
from gpu_engine.records import Case
from gpu_engine.sampling.experiment import Candidate
from gpu_engine.studies.formats.custom_kernel import CustomKernelCandidate
from gpu_engine.studies.formats.experiment import SamplingPlan
from gpu_engine.studies.formats.lent import LentProducts


class ProductsWithCustomKernels(LentProducts):
    """Products with the custom kernels last; an error of a custom kernel does not affect the other kernels."""

    def __init__(
        self,
        plan: SamplingPlan,
        cases: Sequence[Case],
        matrix: CsrMatrix,
        bench: Bench,
        references: Sequence[Reference],
    ) -> None:
        super().__init__(plan, cases, matrix, bench)
        self._references = references

    def load(self) -> Sequence[Candidate]:
        """Return the kernels, then the requested custom kernels; the tamper check starts before their code runs."""
        candidates = super().load()
        requested = [reference for reference in self._references if self.cases_of(reference.kernel)]
        if not requested:
            return candidates
        self.lend()
        seal = TamperCheck(self.bench.stopwatch, backend=self.backend)
        examiner = Examiner(self.host)
        return [*candidates, *(CustomKernelCandidate(self, reference, examiner, seal) for reference in requested)]
