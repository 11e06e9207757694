"""Delaunay triangulations of random points: short, even rows and no locality in memory."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.spatial import Delaunay

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.generators.base import (
    PART,
    SEED,
    SEED_MAX,
    VALUES,
    Generator,
    entry_values,
    from_lower_keys,
)
from gpu_engine.parameters import parameter


@dataclass(frozen=True, slots=True)
class DelaunayParams:
    """Parameters of a triangulation of `n` points in the unit square, numbered at random."""

    n: int = parameter(100_000, "Points: rows and columns of the matrix.", ge=4, le=8_000_000)
    part: Literal["full", "lower"] = parameter("full", PART)
    values: Literal["random", "ones"] = parameter("random", VALUES)
    seed: int = parameter(0, SEED, ge=0, le=SEED_MAX)


def estimate_nnz(params: DelaunayParams) -> int:
    """Return the expected nonzeros; a triangulation of n points has about 3·n edges."""
    return (6 if params.part == "full" else 3) * params.n


def build(params: DelaunayParams) -> CsrMatrix:
    """Return the adjacency matrix, or its strict lower triangle."""
    rng = np.random.default_rng(params.seed)
    pointers, neighbours = Delaunay(rng.random((params.n, 2))).vertex_neighbor_vertices
    rows = np.repeat(np.arange(params.n, dtype=np.int64), np.diff(pointers))
    lower = neighbours < rows
    keys = np.sort(rows[lower] * params.n + neighbours[lower])
    values = entry_values(rng, keys.size, params.values)
    return from_lower_keys(params.n, keys, values, params.part)


GENERATOR = Generator(
    "delaunay", "Delaunay triangulation of random points in the unit square.", DelaunayParams, estimate_nnz, build
)
