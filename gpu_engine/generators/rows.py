"""Controlled row lengths: a chosen distribution with mean and spread, columns uniform.

For experiments on padding, because the storage of ELL-like layouts depends only on the row lengths.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.generators.base import SEED, SEED_MAX, VALUES, Generator, check_lengths
from gpu_engine.generators.powerlaw import PowerlawParams, draw_lengths, with_lengths
from gpu_engine.parameters import parameter


@dataclass(frozen=True, slots=True)
class RowsParams:
    """Parameters of a square matrix whose row lengths follow a distribution, randomly rounded to keep the mean."""

    n: int = parameter(100_000, "Rows and columns.", ge=1, le=100_000_000)
    lengths: Literal["constant", "lognormal", "exponential", "powerlaw"] = parameter(
        "lognormal", "Distribution of the row lengths."
    )
    mean: float = parameter(16.0, "Mean row length.", ge=0.01, le=1_000_000)
    sigma: float = parameter(16.0, "Standard deviation of lognormal row lengths.", ge=0, le=1_000_000)
    exponent: float = parameter(2.1, "Exponent of powerlaw row lengths.", ge=1.05, le=6)
    max_length: int = parameter(5_000, "Longest row, at most n; longer rows are cut.", ge=1, le=100_000_000)
    values: Literal["random", "ones"] = parameter("random", VALUES)
    seed: int = parameter(0, SEED, ge=0, le=SEED_MAX)

    def __post_init__(self) -> None:
        check_lengths(self.n, self.mean, self.max_length)


def estimate_nnz(params: RowsParams) -> int:
    """Return the expected nonzeros, n · mean; random lengths scatter around it."""
    return math.ceil(params.n * params.mean)


def build(params: RowsParams) -> CsrMatrix:
    """Return the matrix; every row has exactly its random length."""
    rng = np.random.default_rng(params.seed)
    return with_lengths(rng, _draw(rng, params), params.values)


def _draw(rng: np.random.Generator, params: RowsParams) -> Any:
    """Return the row lengths: int64 [n]."""
    n, mean = params.n, params.mean
    if params.lengths == "powerlaw":
        return draw_lengths(rng, PowerlawParams(n, mean, params.exponent, params.max_length))
    if params.lengths == "constant":
        exact = np.full(n, mean)
    elif params.lengths == "exponential":
        exact = rng.exponential(mean, n)
    else:
        exact = lognormal_lengths(rng, n, mean, params.sigma)
    return np.minimum(np.floor(exact + rng.random(n)), params.max_length).astype(np.int64)


def lognormal_lengths(rng: np.random.Generator, n: int, mean: float, sigma: float) -> Any:
    """Return n log-normal lengths with this mean and standard deviation, float64 [n]."""
    # `spread` is the variance of the logarithm.
    spread = math.log1p((sigma / mean) ** 2)
    return rng.lognormal(math.log(mean) - spread / 2, math.sqrt(spread), n)


GENERATOR = Generator(
    "rows", "Rows of constant, lognormal, exponential, or power-law length.", RowsParams, estimate_nnz, build
)
