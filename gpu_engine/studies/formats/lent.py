"""LentProducts: the SpMV kernels of one matrix, with a copy of the matrix for custom kernels."""

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.studies.formats.experiment import Products

ARRAYS = ("indptr", "indices", "values")


class LentProducts(Products):
    """Products with a separate copy of the matrix for custom kernels, so that they cannot change the original.

    lent       the copy, after `lend`
    disturbed  whether threads of a custom kernel continue to run
    """

    lent: CsrMatrix
    disturbed = False

    def lend(self) -> None:
        """Create the copy."""
        arrays = (getattr(self.matrix, name).copy() for name in ARRAYS)
        self.lent = CsrMatrix(self.host.n_rows, self.host.n_cols, *arrays)
        self.held_bytes += self.lent.stored_bytes

    def lent_is_whole(self) -> bool:
        """Return whether the copy is unchanged; restore it if it is not."""
        pairs = [(getattr(self.lent, name), getattr(self.matrix, name)) for name in ARRAYS]
        changed = [(lent, original) for lent, original in pairs if not bool(self.bench.xp.array_equal(lent, original))]
        for lent, original in changed:
            lent[...] = original
        return not changed
