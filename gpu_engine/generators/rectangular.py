"""Rectangular matrices with log-normal row lengths and uniform columns, as in least squares and incidence."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.generators.base import SEED, SEED_MAX, VALUES, Generator
from gpu_engine.generators.powerlaw import with_lengths
from gpu_engine.generators.rows import lognormal_lengths
from gpu_engine.parameters import parameter


@dataclass(frozen=True, slots=True)
class RectangularParams:
    """Parameters of a matrix with different numbers of rows and columns."""

    n_rows: int = parameter(200_000, "Rows.", ge=1, le=100_000_000)
    n_cols: int = parameter(20_000, "Columns.", ge=1, le=100_000_000)
    mean: float = parameter(12.0, "Mean row length.", ge=0.01, le=1_000_000)
    sigma: float = parameter(
        6.0, "Standard deviation of the row lengths; row lengths are limited by the columns.", ge=0, le=1e6
    )
    values: Literal["random", "ones"] = parameter("random", VALUES)
    seed: int = parameter(0, SEED, ge=0, le=SEED_MAX)

    def __post_init__(self) -> None:
        if self.mean > self.n_cols:
            raise ParameterError(f"mean is {self.mean}; expected at most n_cols = {self.n_cols}.")


def estimate_nnz(params: RectangularParams) -> int:
    """Return the expected nonzeros, n_rows · mean; random lengths scatter around it."""
    return math.ceil(params.n_rows * params.mean)


def build(params: RectangularParams) -> CsrMatrix:
    """Build the matrix; every row has exactly its random length."""
    rng = np.random.default_rng(params.seed)
    exact = lognormal_lengths(rng, params.n_rows, params.mean, params.sigma)
    lengths = np.minimum(np.floor(exact + rng.random(params.n_rows)), params.n_cols).astype(np.int64)
    return with_lengths(rng, lengths, params.values, params.n_cols)


GENERATOR = Generator(
    "rectangular", "More rows than columns or fewer, columns uniform.", RectangularParams, estimate_nnz, build
)
