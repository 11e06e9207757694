"""What a family of generated matrices is."""

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
SEED = "Start of the random numbers; the same seed gives the same matrix."
SEED_MAX = 2**32 - 1


@dataclass(frozen=True, slots=True)
class ByRows:
    """A family of square matrices any rows of which can be made by themselves, on the host or on a GPU, bit for bit.

    size     params → rows and columns
    lengths  (params, first, stop, xp) → the lengths of rows first … stop − 1: int64 [rows], NumPy or CuPy as xp says
    rows     the same → these rows, a matrix of their own with all columns, where xp has its arrays
    """

    size: Callable[[Any], int]
    lengths: Callable[[Any, int, int, Any], Any]
    rows: Callable[[Any, int, int, Any], CsrMatrix]

    def build(self, params: Any) -> CsrMatrix:
        """All rows, on the host."""
        return self.rows(params, 0, self.size(params), np)


@dataclass(frozen=True, slots=True)
class Generator:
    """A family: the same parameters give the same matrix.

    Params        frozen dataclass with a default and metadata for every field
    estimate_nnz  nonzeros to expect, known before anything is built
    build         the matrix
    by_rows       where rows can be made by themselves
    """

    name: str
    summary: str
    Params: type[Any]
    estimate_nnz: Callable[[Any], int]
    build: Callable[[Any], CsrMatrix]
    by_rows: ByRows | None = None


def check_lengths(n: int, mean: float, max_length: int) -> None:
    """Raises ParameterError unless mean ≤ max_length ≤ n."""
    if max_length > n:
        raise ParameterError(f"max_length is {max_length}; expected at most n = {n}.")
    if mean > max_length:
        raise ParameterError(f"mean is {mean}; expected at most max_length = {max_length}.")


def entry_values(rng: np.random.Generator, nnz: int, values: Values) -> Any:
    """float64 [nnz]: ones, or uniform in (0, 1]; never zero, which would look like an explicit zero."""
    return np.ones(nnz) if values == "ones" else 1.0 - rng.random(nnz)


def from_sorted_keys(n_rows: int, n_cols: int, keys: Any, values: Any) -> CsrMatrix:
    """The matrix with entries at row · n_cols + column for ascending distinct int64 keys."""
    rows, indices = np.divmod(keys, n_cols)
    indptr = row_pointers(np.bincount(rows, minlength=n_rows))
    return CsrMatrix(n_rows, n_cols, indptr, indices.astype(np.int32), values)


def from_lower_keys(n: int, keys: Any, values: Any, part: Part = "full") -> CsrMatrix:
    """The matrix with the entries below its diagonal at row · n + column for ascending distinct int64 keys.

    part  "full": symmetric, the two entries of an edge have the same value; "lower": these entries alone
    """
    if part == "lower":
        return from_sorted_keys(n, n, keys, values)
    rows, cols = np.divmod(keys, n)
    keys = np.concatenate([keys, cols * n + rows])
    order = np.argsort(keys, kind="stable")
    return from_sorted_keys(n, n, keys[order], np.concatenate([values, values])[order])


def distinct(keys: Any) -> Any:
    """Ascending keys, each once."""
    keys = np.sort(keys)
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if keys.size else keys


def row_pointers(lengths: Any, xp: Any = np) -> Any:
    """Where rows of these lengths, int64 [rows], begin, and where the last one ends: int32 or int64 [rows + 1]."""
    begins = xp.zeros(lengths.size + 1, np.int64)
    xp.cumsum(lengths, out=begins[1:])
    return begins.astype(pointer_type(int(begins[-1])))


def pointer_type(nnz: int) -> Any:
    """The dtype of row pointers to so many nonzeros."""
    return np.int32 if nnz <= INDEX_LIMIT else np.int64
