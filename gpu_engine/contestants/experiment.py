"""ContestedProducts: the products of one matrix with contestants among them."""

from collections.abc import Sequence

from gpu_engine.contestants.candidate import Entrant
from gpu_engine.contestants.examiner import Examiner
from gpu_engine.contestants.seal import Seal
from gpu_engine.contestants.sources import Reference
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.experiment import Candidate
from gpu_engine.measure import Bench
from gpu_engine.products import Products, SamplingPlan
from gpu_engine.records import Case

ARRAYS = ("indptr", "indices", "values")


class ContestedProducts(Products):
    """As Products, with the contestants last: what they do wrong is theirs, and the others are measured on.

    lent       the matrix that contestants get: not the one that the other kernels were made from
    disturbed  whether threads of one go on computing
    """

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
        self.disturbed = False

    def load(self) -> Sequence[Candidate]:
        """The kernels, then the contestants whose cases are asked for; all that is ours is sealed before."""
        candidates = super().load()
        wanted = [reference for reference in self._references if self.cases_of(reference.kernel)]
        if not wanted:
            return candidates
        arrays = (getattr(self.matrix, name).copy() for name in ARRAYS)
        self.lent = CsrMatrix(self.host.n_rows, self.host.n_cols, *arrays)
        self.held_bytes += self.lent.stored_bytes
        seal = Seal(self.bench.stopwatch, backend=self.backend)
        examiner = Examiner(self.host)
        return [*candidates, *(Entrant(self, reference, examiner, seal) for reference in wanted)]

    def lent_is_whole(self) -> bool:
        """Whether nothing has changed in the matrix that was lent; what has is put back."""
        pairs = [(getattr(self.lent, name), getattr(self.matrix, name)) for name in ARRAYS]
        changed = [(lent, own) for lent, own in pairs if not bool(self.bench.xp.array_equal(lent, own))]
        for lent, own in changed:
            lent[...] = own
        return not changed
