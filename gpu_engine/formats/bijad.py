"""BiJAD: BiELL after a sort of all rows by length, so that the rows of a strip are of similar length.

Best if lengths vary much and neighbors share few columns, as the sort pulls them apart. Layout and kernel are those
of BiELL. Source: Zheng et al., JPDC 74 (2014); PELLR paper, §2.3.5.
"""

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.formats.base import Format, longest_first, row_lengths
from gpu_engine.formats.biell import KERNEL, BiellLayout, bytes_needed


def _from_csr(matrix: CsrMatrix) -> BiellLayout:
    return BiellLayout.from_csr(matrix, longest_first(row_lengths(matrix)))


FORMAT = Format(
    name="bijad",
    title="Bisection jagged diagonals",
    summary="All rows sorted by length, then strips of 32 cut into groups as in bisection ELLPACK.",
    bytes_needed=lambda matrix: bytes_needed(matrix, longest_first(row_lengths(matrix))),
    from_csr=_from_csr,
    kernels=(KERNEL,),
)
