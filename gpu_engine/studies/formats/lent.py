"""LentProducts: the products of one matrix of which code of others gets a copy."""

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.studies.formats.experiment import Products

ARRAYS = ("indptr", "indices", "values")


class LentProducts(Products):
    """As Products, with a copy of the matrix for custom kernels: not the one that the other kernels were made from.

    lent       that copy, once it is lent
    disturbed  whether threads of a custom kernel go on computing
    """

    lent: CsrMatrix
    disturbed = False

    def lend(self) -> None:
        """Makes the copy."""
        arrays = (getattr(self.matrix, name).copy() for name in ARRAYS)
        self.lent = CsrMatrix(self.host.n_rows, self.host.n_cols, *arrays)
        self.held_bytes += self.lent.stored_bytes

    def lent_is_whole(self) -> bool:
        """Whether nothing has changed in the matrix that was lent; what has is put back."""
        pairs = [(getattr(self.lent, name), getattr(self.matrix, name)) for name in ARRAYS]
        changed = [(lent, own) for lent, own in pairs if not bool(self.bench.xp.array_equal(lent, own))]
        for lent, own in changed:
            lent[...] = own
        return not changed
