"""Triangles of a square matrix, and the check that they mirror each other, by one sort of the upper one by columns."""

from typing import Any

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import array_module, pointers, row_of_entries


def split(matrix: CsrMatrix) -> tuple[CsrMatrix, CsrMatrix, Any]:
    """Return (lower triangle with the diagonal, strictly upper triangle, order of the latter by columns).

    Raises ParameterError if the matrix is not square.
    """
    if matrix.n_rows != matrix.n_cols:
        raise ParameterError(
            f"Not applicable: the matrix is {matrix.n_rows} × {matrix.n_cols}; half storage needs a square one."
        )
    xp = array_module(matrix.indices)
    row = row_of_entries(matrix)
    is_lower = matrix.indices <= row
    parts = []
    for mask in (is_lower, ~is_lower):
        indptr = pointers(xp.bincount(row[mask], minlength=matrix.n_rows), matrix.indptr.dtype)
        parts.append(CsrMatrix(matrix.n_rows, matrix.n_cols, indptr, matrix.indices[mask], matrix.values[mask]))
    lower, upper = parts
    return lower, upper, xp.argsort(upper.indices, kind="stable")


def sign(lower: CsrMatrix, row: Any, below: Any, upper: CsrMatrix, order: Any) -> int:
    """Return 1 or −1; raises ParameterError unless the upper triangle in this order mirrors the lower one, bit for bit.

    row    of each nonzero of the lower triangle; below: positions of those below the diagonal
    """
    xp = array_module(row)
    if below.size == order.size and bool(
        (upper.indices[order] == row[below]).all() and (row_of_entries(upper)[order] == lower.indices[below]).all()
    ):
        values, mirrored = lower.values[below], upper.values[order]
        if bool((values.view(xp.int64) == mirrored.view(xp.int64)).all()):
            return 1
        diagonal = lower.values[lower.indices == row]
        if bool(((-values).view(xp.int64) == mirrored.view(xp.int64)).all() and (diagonal == 0.0).all()):
            return -1
        what = "values differ"
    else:
        what = "patterns differ"
    raise ParameterError(
        f"Not applicable: the matrix is neither symmetric nor skew-symmetric (the {what}). Choose another format."
    )
