"""Power-law rows: P(length = k) ~ k^−R as in papers on skewed matrices, columns uniform."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.generators.base import (
    SEED,
    SEED_MAX,
    VALUES,
    Generator,
    Values,
    check_lengths,
    distinct,
    entry_values,
    from_sorted_keys,
)
from gpu_engine.parameters import parameter

DENSE_SHARE = 4
"""Rows longer than 1/DENSE_SHARE of the columns are parts of a permutation, instead of draws until distinct."""


@dataclass(frozen=True, slots=True)
class PowerlawParams:
    """Parameters of a square matrix whose row lengths follow k^−exponent up to max_length."""

    n: int = parameter(100_000, "Rows and columns.", ge=1, le=100_000_000)
    mean: float = parameter(16.0, "Mean row length.", ge=0.01, le=1_000_000)
    exponent: float = parameter(
        2.1, "Exponent R of the row lengths; smaller values give more long rows.", ge=1.01, le=6
    )
    max_length: int = parameter(5_000, "Longest row, at most n.", ge=1, le=100_000_000)
    columns: Literal["uniform", "powerlaw"] = parameter(
        "uniform", "Columns: uniform, or with power-law lengths as the rows; then repeated columns count once."
    )
    values: Literal["random", "ones"] = parameter("random", VALUES)
    seed: int = parameter(0, SEED, ge=0, le=SEED_MAX)

    def __post_init__(self) -> None:
        check_lengths(self.n, self.mean, self.max_length)


def estimate_nnz(params: PowerlawParams) -> int:
    """Return the expected nonzeros, n · mean; random lengths scatter, and repeated columns count once."""
    return math.ceil(params.n * params.mean)


def build(params: PowerlawParams) -> CsrMatrix:
    """Return the matrix; with uniform columns every row has exactly its random length."""
    rng = np.random.default_rng(params.seed)
    if params.columns == "powerlaw":
        return _skewed_both_ways(rng, params)
    return with_lengths(rng, draw_lengths(rng, params), params.values)


def _skewed_both_ways(rng: np.random.Generator, params: PowerlawParams) -> CsrMatrix:
    """Return the matrix whose columns are drawn with weights from the distribution of the row lengths."""
    lengths, weights = draw_lengths(rng, params), np.cumsum(draw_lengths(rng, params))
    rows = np.repeat(np.arange(params.n, dtype=np.int64), lengths)
    chosen = np.searchsorted(weights, rng.integers(0, weights[-1], rows.size), side="right")
    keys = distinct(rows * params.n + chosen)
    return from_sorted_keys(params.n, params.n, keys, entry_values(rng, keys.size, params.values))


def with_lengths(rng: np.random.Generator, lengths: Any, values: Values, n_cols: int | None = None) -> CsrMatrix:
    """Return the matrix whose rows have these lengths, int64 [n] of at most n_cols each, and uniform columns.

    n_cols  None: as many as rows
    """
    lengths, n_cols = lengths.copy(), int(lengths.size) if n_cols is None else n_cols
    dense = np.flatnonzero(lengths > n_cols // DENSE_SHARE)
    parts = [row * n_cols + rng.permutation(n_cols)[: lengths[row]].astype(np.int64) for row in dense]
    lengths[dense] = 0
    keys = np.sort(np.concatenate([distinct_keys(rng, lengths, n_cols), *parts]))
    return from_sorted_keys(lengths.size, n_cols, keys, entry_values(rng, keys.size, values))


def draw_lengths(rng: np.random.Generator, params: PowerlawParams) -> Any:
    """Return row lengths, int64 [n], of a continuous power law with the given mean, randomly rounded to keep it."""
    high, power = float(params.max_length), 1.0 - params.exponent
    low = _shortest(params.mean, params.exponent, high)
    chance = rng.random(params.n)
    exact = low * (1.0 + chance * ((high / low) ** power - 1.0)) ** (1.0 / power)
    return np.minimum(np.floor(exact + rng.random(params.n)), high).astype(np.int64)


def length_chances(mean: float, exponent: float, max_length: int) -> Any:
    """Return the probabilities, float64 [max_length], of lengths ≤ 0, 1 … max_length − 1 in `draw_lengths`.

    What is rounded to k at random lies between k − 1 and k + 1: its chance is the mean of that of the real law there.
    """
    low = _shortest(mean, exponent, float(max_length))
    spans = [max(math.log(k / low), 0.0) if k else 0.0 for k in range(max_length + 1)]
    # ∫ 1 − (t / low)^(1 − R) dt from low to each k.
    areas = low * np.array([math.expm1(span) - _integral(2.0 - exponent, span) for span in spans])
    whole = -math.expm1((1.0 - exponent) * spans[-1])
    return np.diff(areas) / whole if whole else np.zeros(max_length)


def _shortest(mean: float, exponent: float, high: float) -> float:
    """Return the lower end of the power law up to `high` that has this mean, by bisection of its logarithm."""
    left, right = -700.0, math.log(high)
    for _ in range(200):
        middle = (left + right) / 2
        if _mean(math.exp(middle), high, exponent) < mean:
            left = middle
        else:
            right = middle
    return math.exp(right)


def _mean(low: float, high: float, exponent: float) -> float:
    """Return the mean of the density k^−exponent on [low, high], computed in units of low to avoid overflow."""
    span = math.log(high / low)
    return low * _integral(2.0 - exponent, span) / _integral(1.0 - exponent, span) if span > 0 else high


def _integral(power: float, span: float) -> float:
    """Return ∫ k^(power − 1) dk from 1 to e^span."""
    return math.expm1(power * span) / power if power else span


def distinct_keys(rng: np.random.Generator, lengths: Any, n_cols: int) -> Any:
    """Return ascending int64 keys row · n_cols + column of uniform distinct columns; duplicates are redrawn."""
    keys, missing = np.empty(0, np.int64), lengths
    while missing.any():
        rows = np.repeat(np.arange(lengths.size, dtype=np.int64), missing)
        keys = np.sort(np.concatenate([keys, rows * n_cols + rng.integers(0, n_cols, rows.size)]))
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
        missing = lengths - np.bincount(keys // n_cols, minlength=lengths.size)
    return keys


GENERATOR = Generator("powerlaw", "Rows with power-law lengths, columns uniform.", PowerlawParams, estimate_nnz, build)
