"""Checks that a matrix is symmetric, with two SpMVs' worth of work and no second copy of it."""

from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import array_module, entry_blocks

TOLERANCE = 1e-10
"""Most that a_ij and a_ji may differ, relative to the largest |a| of the matrix: assembly leaves rounding errors."""


def check(rows: CsrMatrix) -> None:
    """Raise ParameterError with the position of a nonzero whose mirror image differs."""
    place = difference(rows)
    if place is not None:
        row, column = place
        raise ParameterError(
            f"The matrix is not symmetric: a({row}, {column}) differs from a({column}, {row}). "
            "CG, MINRES, and the Chebyshev iteration need a symmetric one. Use bicgstab or gmres."
        )


def difference(rows: CsrMatrix) -> tuple[int, int] | None:
    """Return the first nonzero (row, column), from 0, whose mirror image differs by more than TOLERANCE; else None.

    Each nonzero finds its mirror image by a binary search in its row.
    """
    xp = array_module(rows.values)
    if not rows.nnz:
        return None
    most = TOLERANCE * float(abs(rows.values).max())
    for entries, row, _ in entry_blocks(rows.indptr):
        column = rows.indices[entries]
        at = positions(rows, column, row)
        inside = xp.minimum(at, rows.nnz - 1)
        is_there = (at < rows.indptr[column + 1]) & (rows.indices[inside] == row)
        mirror = xp.where(is_there, rows.values[inside], 0.0)
        differs = abs(rows.values[entries] - mirror) > most
        if bool(differs.any()):
            first = int(xp.argmax(differs))
            return int(row[first]), int(column[first])
    return None


def positions(rows: CsrMatrix, row: Any, column: Any) -> Any:
    """Return, per pair, the position of the first nonzero of the row whose column is not smaller."""
    xp = array_module(rows.values)
    low, high = rows.indptr[row].astype(np.int64), rows.indptr[row + 1].astype(np.int64)
    while bool((low < high).any()):
        middle = (low + high) // 2
        is_smaller = (low < high) & (rows.indices[xp.minimum(middle, rows.nnz - 1)] < column)
        low, high = xp.where(is_smaller, middle + 1, low), xp.where(is_smaller, high, middle)
        high = xp.maximum(low, high)
    return low
