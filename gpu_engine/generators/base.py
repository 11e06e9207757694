"""Generator: the interface of functions that create matrices from parameters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gpu_engine.csr_matrix import INDEX_LIMIT, CsrMatrix
from gpu_engine.errors import ParameterError

Part = Literal["full", "lower"]
PART = "The symmetric matrix, or its strict lower triangle."
Values = Literal["random", "ones"]
VALUES = "Values: random between 0 and 1, or all ones."
SEED = "Seed of the random numbers; equal seeds give equal matrices."
SEED_MAX = 2**32 - 1


@dataclass(frozen=True, slots=True)
class ByRows:
    """A generator of square matrices whose rows can be created separately, bit for bit, on the host or on a GPU.

    size     params → number of rows and columns
    lengths  (params, first, stop, xp) → lengths of rows first … stop − 1: int64 [rows], an array of xp (NumPy or CuPy)
    rows     (params, first, stop, xp) → these rows as a matrix with all columns, with arrays of xp
    """

    size: Callable[[Any], int]
    lengths: Callable[[Any, int, int, Any], Any]
    rows: Callable[[Any, int, int, Any], CsrMatrix]

    def build(self, params: Any) -> CsrMatrix:
        """Return all rows, on the host."""
        return self.rows(params, 0, self.size(params), np)


@dataclass(frozen=True, slots=True)
class Generator:
    """A generator of matrices; equal parameters give equal matrices.

    Params        frozen dataclass with a default and metadata for every field
    estimate_nnz  expected nonzeros, before anything is built
    build         params → matrix
    by_rows       functions for separate rows, if the generator has them
    """

    name: str
    summary: str
    Params: type[Any]
    estimate_nnz: Callable[[Any], int]
    build: Callable[[Any], CsrMatrix]
    by_rows: ByRows | None = None


def check_lengths(n: int, mean: float, max_length: int) -> None:
    """Raise ParameterError unless mean ≤ max_length ≤ n."""
    if max_length > n:
        raise ParameterError(f"max_length is {max_length}; expected at most n = {n}.")
    if mean > max_length:
        raise ParameterError(f"mean is {mean}; expected at most max_length = {max_length}.")


def entry_values(rng: np.random.Generator, nnz: int, values: Values) -> Any:
    """Return float64 [nnz]: ones, or uniform in (0, 1]; never 0, which would be an explicit zero."""
    return np.ones(nnz) if values == "ones" else 1.0 - rng.random(nnz)


def from_sorted_keys(n_rows: int, n_cols: int, keys: Any, values: Any) -> CsrMatrix:
    """Return the matrix with entries at row · n_cols + column for ascending distinct int64 keys."""
    rows, indices = np.divmod(keys, n_cols)
    indptr = row_pointers(np.bincount(rows, minlength=n_rows))
    return CsrMatrix(n_rows, n_cols, indptr, indices.astype(np.int32), values)


def from_lower_keys(n: int, keys: Any, values: Any, part: Part = "full") -> CsrMatrix:
    """Return the matrix with the entries below its diagonal at row · n + column for ascending distinct int64 keys.

    part  "full": symmetric, with equal values of both entries of an edge; "lower": only these entries
    """
    below = from_sorted_keys(n, n, keys, values)
    if part == "lower":
        return below
    # The columns of the lower triangle are the rows of the upper one, whose entries follow those of the lower one.
    lower = below.to_scipy()
    upper = lower.tocsc()
    indptr = row_pointers(np.diff(lower.indptr) + np.diff(upper.indptr))
    indices, doubled = np.empty(2 * keys.size, np.int32), np.empty(2 * keys.size)
    for triangle, others in ((lower, upper.indptr[:-1]), (upper, lower.indptr[1:])):
        places = np.arange(keys.size) + np.repeat(others, np.diff(triangle.indptr))
        indices[places], doubled[places] = triangle.indices, triangle.data
    return CsrMatrix(n, n, indptr, indices, doubled)


def distinct(keys: Any) -> Any:
    """Return the distinct keys in ascending order."""
    keys = np.sort(keys)
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if keys.size else keys


def row_pointers(lengths: Any, xp: Any = np) -> Any:
    """Return the row pointers of rows with these lengths, int64 [rows]: int32 or int64 [rows + 1]."""
    begins = xp.zeros(lengths.size + 1, np.int64)
    xp.cumsum(lengths, out=begins[1:])
    return begins.astype(pointer_type(int(begins[-1])))


def pointer_type(nnz: int) -> Any:
    """Return the dtype of the row pointers of a matrix with `nnz` nonzeros."""
    return np.int32 if nnz <= INDEX_LIMIT else np.int64
