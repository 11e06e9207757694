"""Rows of two lengths in two blocks, for the cost of equal rows per device if nonzeros differ by a ratio.

Source: MSREP paper, §2.3 and Figure 6.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.generators.base import SEED, SEED_MAX, VALUES, Generator
from gpu_engine.generators.powerlaw import with_lengths
from gpu_engine.parameters import parameter


@dataclass(frozen=True, slots=True)
class TwoLevelParams:
    """Parameters of a square matrix whose first rows are `ratio` times as long as the others."""

    n: int = parameter(100_000, "Rows and columns.", ge=1, le=100_000_000)
    mean: float = parameter(24.0, "Mean length of all rows.", ge=0.01, le=1_000_000)
    ratio: float = parameter(10.0, "Length of the first rows divided by the length of the others.", ge=1, le=1_000)
    share: float = parameter(0.5, "Share of the rows that are long.", ge=0, le=1)
    values: Literal["random", "ones"] = parameter("random", VALUES)
    seed: int = parameter(0, SEED, ge=0, le=SEED_MAX)

    def __post_init__(self) -> None:
        if self.longest > self.n:
            raise ParameterError(
                f"Long rows would have {self.longest:.6g} entries; expected at most n = {self.n}. "
                f"Choose a smaller mean or ratio, or a larger share."
            )

    @property
    def longest(self) -> float:
        """Mean length of the long rows."""
        return self.mean / (self.share + (1.0 - self.share) / self.ratio)


def estimate_nnz(params: TwoLevelParams) -> int:
    """Return the expected nonzeros, n · mean; fractional lengths are rounded at random."""
    return math.ceil(params.n * params.mean)


def build(params: TwoLevelParams) -> CsrMatrix:
    """Return the matrix; columns are uniform, lengths within a block differ by at most one."""
    rng = np.random.default_rng(params.seed)
    lengths = np.full(params.n, params.longest / params.ratio)
    lengths[: round(params.share * params.n)] = params.longest
    rounded = np.floor(lengths + rng.random(params.n)).astype(np.int64)
    return with_lengths(rng, np.minimum(rounded, params.n), params.values)


GENERATOR = Generator(
    "two_level", "Long rows, then rows shorter by a ratio; columns uniform.", TwoLevelParams, estimate_nnz, build
)
