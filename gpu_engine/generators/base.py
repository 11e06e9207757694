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
class Generator:
    """A family: the same parameters give the same matrix.

    Params        frozen dataclass with a default and metadata for every field
    estimate_nnz  nonzeros to expect, known before anything is built
    build         the matrix
    """

    name: str
    summary: str
    Params: type[Any]
    estimate_nnz: Callable[[Any], int]
    build: Callable[[Any], CsrMatrix]


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
    indptr = np.zeros(n_rows + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=indptr[1:])
    return CsrMatrix(n_rows, n_cols, indptr.astype(pointer_type(keys.size)), indices.astype(np.int32), values)


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


def pointer_type(nnz: int) -> Any:
    """The dtype of row pointers to so many nonzeros."""
    return np.int32 if nnz <= INDEX_LIMIT else np.int64
