"""Jacobi: the inverse of the diagonal."""

from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import array_module, entry_blocks
from gpu_engine.solvers.base import System


class Diagonal:
    """A diagonal matrix, which methods apply in their own kernels.

    diagonal  float64 [n], on the device of the system
    """

    in_graph = True

    def __init__(self, diagonal: Any) -> None:
        self.diagonal = diagonal

    def __call__(self, v: Any, out: Any) -> None:
        """Compute out := M·v."""
        array_module(v).multiply(v, self.diagonal, out=out)


def diagonal_of(rows: CsrMatrix) -> Any:
    """Return the diagonal of a square matrix: float64 [n] on its device; 0 where it has no nonzero."""
    diagonal = array_module(rows.values).zeros(rows.n_rows, np.float64)
    for entries, row, _ in entry_blocks(rows.indptr):
        is_diagonal = rows.indices[entries] == row
        diagonal[row[is_diagonal]] = rows.values[entries][is_diagonal]
    return diagonal


def inverse_diagonal(rows: CsrMatrix) -> Any:
    """Return the inverse of the diagonal: float64 [n]; raises ParameterError with the first row whose diagonal is 0."""
    xp, diagonal = array_module(rows.values), diagonal_of(rows)
    is_zero = diagonal == 0.0
    if bool(is_zero.any()):
        raise ParameterError(
            f"The diagonal of row {int(xp.argmax(is_zero))} is 0, so Jacobi has no inverse. Use another preconditioner."
        )
    return 1.0 / diagonal


def jacobi(system: System) -> Diagonal:
    """Return the inverse of the diagonal; raises ParameterError as `inverse_diagonal` does."""
    return Diagonal(inverse_diagonal(system.rows))
