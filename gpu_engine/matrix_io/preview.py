"""Preview of a file: format, shape, first entries, and missing information."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import Hint, MatrixFileError
from gpu_engine.matrix_io import find_reader
from gpu_engine.matrix_io.base import ReadLimits, ReadResult
from gpu_engine.matrix_io.options import QUESTIONS, ReadOptions

ENTRIES_SHOWN = 20


def preview(path: Path, limits: ReadLimits, options: ReadOptions) -> dict[str, Any]:
    """Return format, shape, symmetry, first entries (row and column from 0), and notes of a file, as JSON values.

    `asks` lists the required options, which the preview guesses. Raises the errors of `read_matrix`.
    """
    reader = find_reader(path, limits, options)
    result, asks, guessed = _guessed(path, limits, options, ())
    matrix = result.matrix
    symmetric, reciprocal = _symmetry(matrix)
    return {
        "format": reader.name,
        "needs_direction": "directed" in asks,
        "asks": list(dict.fromkeys(asks)),
        "n_rows": matrix.n_rows,
        "n_cols": matrix.n_cols,
        "nnz": matrix.nnz,
        "symmetric": symmetric,
        "reciprocal": reciprocal,
        "duplicates": result.duplicates,
        "first_entries": _first(matrix),
        "notes": [*result.notes, *guessed],
    }


def _guessed(
    path: Path, limits: ReadLimits, options: ReadOptions, answered: tuple[Hint, ...]
) -> tuple[ReadResult, tuple[str, ...], tuple[str, ...]]:
    """Return the matrix by the first guesses that fit, the required options, and the sentences of the guesses.

    answered  hints that a guess has answered
    Raises the error of the first guess if no guess fits.
    """
    try:
        return find_reader(path, limits, options).read(path, limits), (), ()
    except MatrixFileError as error:
        question = QUESTIONS.get(error.hint) if error.hint else None
        if error.hint is None or question is None or not question.guesses or error.hint in answered:
            raise
        hint = error.hint
    wrong: MatrixFileError | None = None
    for guess, sentence in question.guesses:
        try:
            result, asks, sentences = _guessed(path, limits, replace(options, **guess), (*answered, hint))
        except MatrixFileError as error:
            wrong = wrong or error
        else:
            return result, (*question.options, *asks), (sentence, *sentences)
    assert wrong
    raise wrong


def _first(matrix: CsrMatrix) -> list[list[int | float]]:
    """Return [row, column, value] of the first entries by rows."""
    count = min(ENTRIES_SHOWN, matrix.nnz)
    rows = np.searchsorted(matrix.indptr, np.arange(count), side="right") - 1
    entries = zip(rows.tolist(), matrix.indices[:count].tolist(), matrix.values[:count].tolist(), strict=True)
    return [list(entry) for entry in entries]


def _symmetry(matrix: CsrMatrix) -> tuple[bool, float]:
    """Return whether the matrix is symmetric, and the share of entries with a mirrored entry."""
    if matrix.n_rows != matrix.n_cols or matrix.nnz == 0:
        return matrix.n_rows == matrix.n_cols, 0.0
    csr = matrix.to_scipy()
    mirrored = csr.T.tocsr()
    pattern, across = (part.astype(bool) for part in (csr, mirrored))
    pattern.data[:] = across.data[:] = True
    shared = int(pattern.multiply(across).nnz)
    return shared == matrix.nnz and np.array_equal(csr.data, mirrored.data), shared / matrix.nnz
