"""Assembles chunks of coordinates to one canonical CsrMatrix, in file order, with bounded memory."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import INDEX_LIMIT, CsrMatrix
from gpu_engine.errors import MatrixFileError
from gpu_engine.host.jit import numba

SHORT_RUN = 32
"""Maximum length of a run for insertion sort; longer runs are merged."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk of entries: rows, cols int32 [n], 0-based; values float64 [n], or [1] if all are equal."""

    rows: Any
    cols: Any
    values: Any


def assemble(n_rows: int, n_cols: int, chunks: list[Chunk], mirror: float) -> tuple[CsrMatrix, int]:
    """Return the matrix and the number of duplicates, which are added to an earlier entry; empties `chunks`.

    mirror  factor of the mirrored entry at (column, row) of each off-diagonal entry; 0.0: no mirrored entries
    Raises MatrixFileError if a sum of duplicates overflows.
    """
    pointers = np.zeros(n_rows + 1, np.int64)
    for chunk in chunks:
        _count(chunk.rows, chunk.cols, mirror != 0.0, pointers)
    np.cumsum(pointers, out=pointers)
    indices, values = np.empty(pointers[-1], np.int32), np.empty(pointers[-1], np.float64)
    cursor = pointers[:-1].copy()
    for number, chunk in enumerate(chunks):
        _scatter(chunk.rows, chunk.cols, chunk.values, mirror, cursor, indices, values)
        chunks[number] = Chunk(None, None, None)
    chunks.clear()
    duplicates, overflow = _sort_and_sum(pointers, indices, values, mirror != 0.0)
    if overflow >= 0:
        raise MatrixFileError(f"The sum of the duplicate entries in row {overflow + 1} overflows fp64.")
    nnz = int(pointers[-1])
    if nnz < indices.size:
        indices, values = indices[:nnz].copy(), values[:nnz].copy()
    indptr = pointers.astype(np.int32 if nnz <= INDEX_LIMIT else np.int64)
    return CsrMatrix(n_rows, n_cols, indptr, indices, values), int(duplicates)


@numba.njit(cache=True, nogil=True)
def _count(rows: Any, cols: Any, mirrored: bool, pointers: Any) -> None:
    """Add the entries of each row r to pointers[r + 1]."""
    for k in range(rows.size):
        pointers[rows[k] + 1] += 1
        if mirrored and rows[k] != cols[k]:
            pointers[cols[k] + 1] += 1


@numba.njit(cache=True, nogil=True)
def _scatter(rows: Any, cols: Any, given: Any, mirror: float, cursor: Any, indices: Any, values: Any) -> None:
    """Write each entry at the cursor of its row; entries of a row keep the order of the file."""
    for k in range(rows.size):
        row, col, value = rows[k], cols[k], given[k if given.size > 1 else 0]
        indices[cursor[row]], values[cursor[row]] = col, value
        cursor[row] += 1
        if mirror != 0.0 and row != col:
            indices[cursor[col]], values[cursor[col]] = row, mirror * value
            cursor[col] += 1


@numba.njit(cache=True, nogil=True)
def _sort_and_sum(pointers: Any, indices: Any, values: Any, mirrored: bool) -> tuple[int, int]:
    """Sort rows by column and sum duplicates in file order, in place; update the pointers.

    Returns the number of duplicates (a mirrored pair counts once) and the first row that overflowed, or -1.
    """
    out, duplicates, overflow, begin = 0, 0, -1, 0
    for row in range(pointers.size - 1):
        end = pointers[row + 1]
        _sort_row(indices[begin:end], values[begin:end])
        first = out
        for k in range(begin, end):
            if out > first and indices[out - 1] == indices[k]:
                values[out - 1] += values[k]
                duplicates += 1 if not mirrored or indices[k] <= row else 0
                if not np.isfinite(values[out - 1]) and overflow < 0:
                    overflow = row
            else:
                indices[out], values[out] = indices[k], values[k]
                out += 1
        begin = end
        pointers[row + 1] = out
    return duplicates, overflow


@numba.njit(cache=True, nogil=True)
def _sort_row(indices: Any, values: Any) -> None:
    """Sort a row by column, stably; most files have sorted rows already."""
    unsorted = False
    for k in range(1, indices.size):
        unsorted |= indices[k - 1] > indices[k]
    if not unsorted:
        return
    for first in range(0, indices.size, SHORT_RUN):
        _insertion_sort(indices[first : first + SHORT_RUN], values[first : first + SHORT_RUN])
    width = SHORT_RUN
    while width < indices.size:
        _merge_runs(indices.copy(), values.copy(), width, indices, values)
        width *= 2


@numba.njit(cache=True, nogil=True)
def _insertion_sort(indices: Any, values: Any) -> None:
    for k in range(1, indices.size):
        index, value, place = indices[k], values[k], k
        while place > 0 and indices[place - 1] > index:
            indices[place], values[place] = indices[place - 1], values[place - 1]
            place -= 1
        indices[place], values[place] = index, value


@numba.njit(cache=True, nogil=True)
def _merge_runs(indices: Any, values: Any, width: int, merged_indices: Any, merged_values: Any) -> None:
    """Merge each pair of sorted runs of this width, stably."""
    for begin in range(0, indices.size, 2 * width):
        middle, end = min(begin + width, indices.size), min(begin + 2 * width, indices.size)
        left, right = begin, middle
        for place in range(begin, end):
            if right == end or (left < middle and indices[left] <= indices[right]):
                merged_indices[place], merged_values[place] = indices[left], values[left]
                left += 1
            else:
                merged_indices[place], merged_values[place] = indices[right], values[right]
                right += 1
