"""Road-like networks: a long thin grid with a share of its edges; short rows near the diagonal."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gpu_engine.csr_matrix import INDEX_LIMIT, CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.generators.base import PART, SEED, SEED_MAX, VALUES, Generator, entry_values, from_lower_keys
from gpu_engine.parameters import parameter


@dataclass(frozen=True, slots=True)
class RoadParams:
    """Parameters of a grid of length × width crossings, numbered across first."""

    length: int = parameter(2_000, "Crossings along the grid.", ge=1, le=100_000_000)
    width: int = parameter(100, "Crossings across the grid: the bandwidth of the matrix.", ge=1, le=1_000_000)
    kept: float = parameter(0.65, "Share of the grid edges that the network has.", ge=0, le=1)
    part: Literal["full", "lower"] = parameter("full", PART)
    values: Literal["random", "ones"] = parameter("random", VALUES)
    seed: int = parameter(0, SEED, ge=0, le=SEED_MAX)

    def __post_init__(self) -> None:
        if self.length * self.width > INDEX_LIMIT:
            raise ParameterError(f"The grid has {self.length * self.width} crossings; expected at most {INDEX_LIMIT}.")


def _edges(params: RoadParams) -> int:
    """Return the number of edges of the complete grid."""
    return params.length * (params.width - 1) + (params.length - 1) * params.width


def estimate_nnz(params: RoadParams) -> int:
    """Return the expected nonzeros: one or two per edge."""
    return math.ceil((2 if params.part == "full" else 1) * params.kept * _edges(params))


def build(params: RoadParams) -> CsrMatrix:
    """Return the adjacency matrix, or its strict lower triangle."""
    rng = np.random.default_rng(params.seed)
    n, width = params.length * params.width, params.width
    point = np.arange(n, dtype=np.int64)
    along = point[width:][rng.random(n - width) < params.kept]
    across = point[point % width > 0]
    across = across[rng.random(across.size) < params.kept]
    keys = np.sort(np.concatenate([along * n + along - width, across * n + across - 1]))
    return from_lower_keys(n, keys, entry_values(rng, keys.size, params.values), params.part)


GENERATOR = Generator("road", "Long thin grid with a share of its edges.", RoadParams, estimate_nnz, build)
