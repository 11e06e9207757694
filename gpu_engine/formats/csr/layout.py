"""The arrays of the CSR kernels, and what their launches share."""

from dataclasses import dataclass
from typing import Any

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.formats.base import POINTERS


@dataclass(frozen=True, slots=True)
class CsrLayout:
    """CSR as a format: the matrix itself, not copied."""

    matrix: CsrMatrix

    @staticmethod
    def from_csr(matrix: CsrMatrix) -> "CsrLayout":
        """Wrap the matrix; O(1)."""
        return CsrLayout(matrix)

    def to_csr(self) -> CsrMatrix:
        """Return the wrapped matrix."""
        return self.matrix

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_cols)."""
        return self.matrix.shape

    @property
    def stored_bytes(self) -> int:
        """Bytes of the three arrays."""
        return self.matrix.stored_bytes

    @property
    def pointer(self) -> str:
        """C++ type of the row pointers."""
        return POINTERS[self.matrix.indptr.dtype.itemsize == 8]

    @property
    def arrays(self) -> tuple[Any, Any, Any]:
        """(indptr, indices, values), in the order of the kernels' arguments."""
        return self.matrix.indptr, self.matrix.indices, self.matrix.values
