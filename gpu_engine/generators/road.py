"""Road-like networks: a long thin grid with a share of its edges; short rows near the diagonal."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gpu_engine.csr_matrix import INDEX_LIMIT, CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.generators.base import PART, SEED, SEED_MAX, VALUES, Generator, entry_values, from_lower_keys
from gpu_engine.generators.numbering import SHUFFLED, lower_keys, shuffled_numbers
from gpu_engine.parameters import parameter


@dataclass(frozen=True, slots=True)
class RoadParams:
    """Parameters of a grid of length × width crossings, numbered across first."""

    length: int = parameter(2_000, "Crossings along the grid.", ge=1, le=100_000_000)
    width: int = parameter(100, "Crossings across the grid: the bandwidth of the matrix.", ge=1, le=1_000_000)
    kept: float = parameter(0.65, "Share of the grid edges that the network has.", ge=0, le=1)
    linked: float = parameter(
        0.0, "Share of the crossings without an edge back or to the left that get one of the two after all.", ge=0, le=1
    )
    shuffled: float = parameter(0.0, SHUFFLED, ge=0, le=1)
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
    edges = params.kept * _edges(params) + params.linked * (1.0 - params.kept) ** 2 * params.length * params.width
    return math.ceil((2 if params.part == "full" else 1) * edges)


def build(params: RoadParams) -> CsrMatrix:
    """Return the adjacency matrix, or its strict lower triangle."""
    rng = np.random.default_rng(params.seed)
    n, width = params.length * params.width, params.width
    point = np.arange(n, dtype=np.int64)
    along = point[width:][rng.random(n - width) < params.kept]
    across = point[point % width > 0]
    across = across[rng.random(across.size) < params.kept]
    if params.linked > 0.0:
        back, left = _first_edges(rng, params, along, across)
        along, across = np.concatenate([along, back]), np.concatenate([across, left])
    if params.shuffled > 0.0:
        numbers = shuffled_numbers(rng, point, params.shuffled)
        one, other = np.concatenate([along, across]), np.concatenate([along - width, across - 1])
        keys = lower_keys(n, numbers[one], numbers[other])
    else:
        keys = np.sort(np.concatenate([along * n + along - width, across * n + across - 1]))
    return from_lower_keys(n, keys, entry_values(rng, keys.size, params.values), params.part)


def _first_edges(rng: np.random.Generator, params: RoadParams, along: Any, across: Any) -> tuple[Any, Any]:
    """Return the crossings that get an edge back, and those that get one to the left, because they have neither."""
    lonely = np.ones(params.length * params.width, bool)
    lonely[0] = lonely[along] = lonely[across] = False
    chosen = np.flatnonzero(lonely)
    chosen = chosen[rng.random(chosen.size) < params.linked]
    is_back = (chosen % params.width == 0) | ((chosen >= params.width) & (rng.random(chosen.size) < 0.5))
    return chosen[is_back], chosen[~is_back]


GENERATOR = Generator("road", "Long thin grid with a share of its edges.", RoadParams, estimate_nnz, build)
