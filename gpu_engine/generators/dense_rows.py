"""A few full rows among empty or sparse ones: the worst case of one thread per row and of padding."""

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
class DenseRowsParams:
    """Parameters of a square matrix with full rows at random positions."""

    n: int = parameter(50_000, "Rows and columns.", ge=1, le=100_000_000)
    dense: int = parameter(8, "Full rows.", ge=0, le=100_000)
    mean: float = parameter(4.0, "Mean length of the other rows (0 = empty).", ge=0, le=1_000_000)
    values: Literal["random", "ones"] = parameter("random", VALUES)
    seed: int = parameter(0, SEED, ge=0, le=SEED_MAX)

    def __post_init__(self) -> None:
        for name, value in (("dense", self.dense), ("mean", self.mean)):
            if value > self.n:
                raise ParameterError(f"{name} is {value}; expected at most n = {self.n}.")


def estimate_nnz(params: DenseRowsParams) -> int:
    """Return the expected nonzeros: full rows exactly, other rows on average."""
    return params.dense * params.n + math.ceil((params.n - params.dense) * params.mean)


def build(params: DenseRowsParams) -> CsrMatrix:
    """Return the matrix; lengths of the other rows differ by at most one."""
    rng = np.random.default_rng(params.seed)
    lengths = np.floor(params.mean + rng.random(params.n)).astype(np.int64)
    lengths[rng.permutation(params.n)[: params.dense]] = params.n
    return with_lengths(rng, np.minimum(lengths, params.n), params.values)


GENERATOR = Generator("dense_rows", "A few full rows among sparse ones.", DenseRowsParams, estimate_nnz, build)
