"""R-MAT graphs: rows of very different lengths, as in social networks.

Chakrabarti, Zhan, Faloutsos: R-MAT, a recursive model for graph mining, SDM 2004; quadrants as in Graph500.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.generators.base import SEED, SEED_MAX, VALUES, Generator, entry_values, from_sorted_keys
from gpu_engine.parameters import parameter

A, B, C = 0.57, 0.19, 0.19
"""Probabilities of the upper left, upper right and lower left quadrant."""

EDGES_PER_BLOCK = 2**20


@dataclass(frozen=True, slots=True)
class RmatParams:
    """Parameters of a graph with 2^scale vertices."""

    scale: int = parameter(16, "The matrix has 2^scale rows and columns.", ge=1, le=28)
    edge_factor: int = parameter(16, "Edges drawn per vertex; repeated edges count once.", ge=1, le=256)
    shuffled: bool = parameter(False, "Number the vertices at random; otherwise long rows come first.")
    values: Literal["random", "ones"] = parameter("random", VALUES)
    seed: int = parameter(0, SEED, ge=0, le=SEED_MAX)


def estimate_nnz(params: RmatParams) -> int:
    """Return the expected nonzeros: the drawn edges; repeated edges count once."""
    return min(params.edge_factor << params.scale, 1 << 2 * params.scale)


def build(params: RmatParams) -> CsrMatrix:
    """Return the adjacency matrix of the directed graph."""
    rng = np.random.default_rng(params.seed)
    n, edges = 2**params.scale, params.edge_factor << params.scale
    keys = np.empty(edges, np.int64)
    for first in range(0, edges, EDGES_PER_BLOCK):
        count = min(EDGES_PER_BLOCK, edges - first)
        rows, cols = _draw(rng, params.scale, count)
        keys[first : first + count] = rows * n + cols
    if params.shuffled:
        label = rng.permutation(n)
        for first in range(0, edges, EDGES_PER_BLOCK):
            rows, cols = np.divmod(keys[first : first + EDGES_PER_BLOCK], n)
            keys[first : first + EDGES_PER_BLOCK] = label[rows] * n + label[cols]
    keys.sort()
    keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
    return from_sorted_keys(n, n, keys, entry_values(rng, keys.size, params.values))


def _draw(rng: np.random.Generator, scale: int, count: int) -> tuple[Any, Any]:
    """Return (rows, columns), int64 [count]; each level of quadrants gives one bit of row and column."""
    rows, cols = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for _ in range(scale):
        chance = rng.random(count, dtype=np.float32)
        rows = 2 * rows + (chance >= A + B)
        cols = 2 * cols + (((chance >= A) & (chance < A + B)) | (chance >= A + B + C))
    return rows, cols


GENERATOR = Generator(
    "rmat", "Recursive random graph with rows of very different lengths.", RmatParams, estimate_nnz, build
)
