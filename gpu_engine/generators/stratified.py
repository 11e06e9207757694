"""Power-law rows that can be created separately: a row has one column from each of its equal strata.

Every number is a function of the seed, the row, and a counter, so that a GPU creates its part of a matrix that
is nowhere complete. As strata do not overlap, columns ascend and are distinct.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.generators.base import SEED, SEED_MAX, VALUES, ByRows, Generator, check_lengths, row_pointers
from gpu_engine.generators.counters import draw, row_states
from gpu_engine.generators.powerlaw import length_chances
from gpu_engine.parameters import parameter


@dataclass(frozen=True, slots=True)
class StratifiedParams:
    """Parameters of a square matrix whose row lengths follow k^−exponent up to max_length."""

    n: int = parameter(100_000, "Rows and columns.", ge=1, le=100_000_000)
    mean: float = parameter(16.0, "Mean row length.", ge=0.01, le=100_000)
    exponent: float = parameter(
        2.1, "Exponent R of the row lengths; smaller values give more long rows.", ge=1.01, le=6
    )
    max_length: int = parameter(5_000, "Longest row, at most n.", ge=1, le=1_000_000)
    values: Literal["random", "ones"] = parameter("random", VALUES)
    seed: int = parameter(0, SEED, ge=0, le=SEED_MAX)

    def __post_init__(self) -> None:
        check_lengths(self.n, self.mean, self.max_length)


def estimate_nnz(params: StratifiedParams) -> int:
    """Return the expected nonzeros, n · mean; random lengths scatter around it."""
    return math.ceil(params.n * params.mean)


def size(params: StratifiedParams) -> int:
    """Return the number of rows and columns."""
    return params.n


def lengths(params: StratifiedParams, first: int, stop: int, xp: Any) -> Any:
    """Return the lengths of rows first … stop − 1: int64 [rows]."""
    return _lengths(params, row_states(params.seed, xp.arange(first, stop), xp), xp)


def rows(params: StratifiedParams, first: int, stop: int, xp: Any) -> CsrMatrix:
    """Return rows first … stop − 1 as a matrix with all columns."""
    states = row_states(params.seed, xp.arange(first, stop), xp)
    of_rows = _lengths(params, states, xp)
    indptr = row_pointers(of_rows, xp)
    entries = xp.arange(int(indptr[-1]), dtype=np.int64)
    row = xp.searchsorted(indptr, entries.astype(indptr.dtype), side="right") - 1
    slot, strata, state = entries - indptr[row], of_rows[row], states[row]
    # Number 0 of a row is its length.
    counters = np.uint64(2) * slot.astype(np.uint64) + np.uint64(1)
    begin, end = slot * params.n // strata, (slot + 1) * params.n // strata
    indices = begin + (draw(counters, state) >> np.uint64(1)).astype(np.int64) % (end - begin)
    if params.values == "ones":
        values = xp.ones(entries.size)
    else:
        # 53 random bits give values above 0 and at most 1.
        values = 1.0 - (draw(counters + np.uint64(1), state) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return CsrMatrix(stop - first, params.n, indptr, indices.astype(np.int32), values)


def _lengths(params: StratifiedParams, states: Any, xp: Any) -> Any:
    chances = (draw(xp.zeros(1, np.uint64), states) >> np.uint64(1)).astype(np.int64)
    return xp.searchsorted(xp.asarray(_thresholds(params)), chances, side="right")


@lru_cache(maxsize=4)
def _thresholds(params: StratifiedParams) -> Any:
    """Return int64 [max_length]: a row has at least k + 1 entries if 63 random bits are ≥ the k-th threshold."""
    shares = length_chances(params.mean, params.exponent, params.max_length)
    return np.minimum(shares * 2.0**63, np.nextafter(2.0**63, 0.0)).astype(np.int64)


BY_ROWS = ByRows(size, lengths, rows)
build = BY_ROWS.build

SUMMARY = "Rows with power-law lengths and evenly spread columns; each GPU can create its part."

GENERATOR = Generator("stratified", SUMMARY, StratifiedParams, estimate_nnz, build, BY_ROWS)
